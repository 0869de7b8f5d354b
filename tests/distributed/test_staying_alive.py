"""Killed, ended and started again: the same numbers come out."""

import signal
import time

import pytest
from checkpoint_values import assert_bitwise_equal
from cluster import Group, run
from training import make_job

pytestmark = pytest.mark.distributed

# Dropout, batch normalisation and Adam: all that could remember something outside the checkpoint.
LONG = {
    "model": {"name": "mlp", "width": 8, "dropout": 0.3, "batch_norm": True},
    "max_steps": 400,
    "checkpoint": {"every_steps": 25},
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    from records import make_dataset

    return make_dataset(tmp_path_factory.mktemp("data"), classes=20)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory, data):
    """Checkpoint directories of runs that nobody disturbed, by processes."""
    found = {}

    def of(processes):
        if processes not in found:
            root = tmp_path_factory.mktemp("uninterrupted")
            job = make_job(root, data=data, **LONG)
            run(job, processes, root / "logs")
            found[processes] = job.checkpoint_dir
        return found[processes]

    return of


def test_a_killed_local_run_ends_with_the_bits_of_the_uninterrupted_one(
    tmp_path, data, uninterrupted
):
    job = make_job(tmp_path, data=data, **LONG)
    with Group(job, "", tmp_path / "logs") as group:
        group.wait_until(lambda: group.step() >= 25)
        group.kill("alone")
        assert group.join() == {"alone": -signal.SIGKILL}
    run(job, "", tmp_path / "logs")
    assert_bitwise_equal(job.checkpoint_dir, uninterrupted(""))


def test_sigterm_saves_exits_143_and_resumes_exactly(tmp_path, data, uninterrupted):
    job = make_job(tmp_path, data=data, **{**LONG, "checkpoint": {}})
    with Group(job, "", tmp_path / "logs") as group:
        group.wait_until(lambda: "step 0 of 400" in group.log("alone"))
        group.kill("alone", signal.SIGTERM)
        assert group.join() == {"alone": 143}
        assert 0 <= group.step() < 400
        assert "the same command continues" in group.log("alone")
    run(job, "", tmp_path / "logs")
    assert_bitwise_equal(job.checkpoint_dir, uninterrupted(""))


@pytest.mark.slow
def test_a_killed_worker_of_multi_worker_mirrored_costs_nothing_but_time(
    tmp_path, data, uninterrupted
):
    job = make_job(tmp_path, data=data, **LONG)
    processes = "chief=1,worker=1"
    with Group(job, processes, tmp_path / "logs") as group:
        group.wait_until(lambda: group.step() >= 25)
        group.kill("worker 0")
        codes = group.join()
        assert codes == {"chief 0": 1, "worker 0": -signal.SIGKILL}
        assert "lost contact with another process" in group.log("chief 0")
        assert group.step() < 400
    run(job, processes, tmp_path / "logs")
    assert_bitwise_equal(job.checkpoint_dir, uninterrupted(processes))


@pytest.mark.slow
def test_sigterm_to_one_worker_saves_and_ends_all_of_them(tmp_path, data, uninterrupted):
    job = make_job(tmp_path, data=data, **LONG)
    processes = "chief=1,worker=1"
    with Group(job, processes, tmp_path / "logs") as group:
        group.wait_until(lambda: group.step() >= 25)
        group.kill("worker 0", signal.SIGTERM)
        assert set(group.join().values()) == {143}
        assert group.step() < 400
    run(job, processes, tmp_path / "logs")
    assert_bitwise_equal(job.checkpoint_dir, uninterrupted(processes))


@pytest.mark.slow
def test_a_silence_of_twelve_seconds_costs_its_time_alone(tmp_path, data, uninterrupted):
    job = make_job(tmp_path, data=data, **LONG)
    processes = "chief=1,worker=1"
    with Group(job, processes, tmp_path / "logs") as group:
        group.wait_until(lambda: group.step() >= 25)
        group.kill("worker 0", signal.SIGSTOP)
        time.sleep(12)  # TensorFlow's own limit is ten seconds
        group.kill("worker 0", signal.SIGCONT)
        assert set(group.join().values()) == {0}
    assert_bitwise_equal(job.checkpoint_dir, uninterrupted(processes))


@pytest.mark.slow
def test_a_process_that_is_silent_for_longer_than_the_limit_ends_the_training(tmp_path, data):
    job = make_job(tmp_path, data=data, **LONG, distribution={"heartbeat_timeout_s": 4})
    with Group(job, "chief=1,worker=1", tmp_path / "logs") as group:
        group.wait_until(lambda: group.step() >= 25)
        group.kill("worker 0", signal.SIGSTOP)
        began = time.monotonic()
        assert group.join("chief 0") == {"chief 0": 1}
        assert time.monotonic() - began < 40  # and not after the minute that is the default
        assert "lost contact with another process" in group.log("chief 0")
        group.kill("worker 0", signal.SIGCONT)
        assert group.join("worker 0") == {"worker 0": 1}
