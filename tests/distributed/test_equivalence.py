"""The number of processes, devices and micro-batches changes nothing but the order of sums."""

import re
import tempfile
from pathlib import Path

import pytest
from checkpoint_values import largest_difference
from cluster import run
from training import make_job
from two_devices import run_mirrored, start_mirrored

from yt8m.components.trainer.backends.in_process import run_job

pytestmark = pytest.mark.distributed

# Rates fall within the run, so that a wrong count of examples would show.
STEPWISE = {
    "max_steps": 20,
    "schedule": {"name": "staircase", "decay": 0.8, "decay_examples": 64},
}
SGD = {"name": "sgd", "learning_rate": 0.5}
ADAM = {"name": "adam", "learning_rate": 0.01}
CASES = [("sgd", SGD, 1e-6), ("adam", ADAM, 5e-5)]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    from records import make_dataset

    return make_dataset(tmp_path_factory.mktemp("data"), classes=20)


@pytest.fixture(scope="module")
def alone(tmp_path_factory, data):
    """Checkpoints of one process that takes whole global batches, by optimiser."""
    found = {}
    for name, optimizer, _ in CASES:
        root = tmp_path_factory.mktemp(f"alone-{name}")
        job = make_job(root, data=data, **STEPWISE, batch_size=16, optimizer=optimizer)
        run(job, "", root / "logs")
        found[name] = job.checkpoint_dir
    return found


@pytest.mark.parametrize(("name", "optimizer", "limit"), CASES)
def test_two_workers_equal_one_process_on_the_same_global_batches(
    tmp_path, data, alone, name, optimizer, limit
):
    job = make_job(tmp_path, data=data, **STEPWISE, batch_size=8, optimizer=optimizer)
    logs = run(job, "worker=2", tmp_path / "logs")
    assert largest_difference(job.checkpoint_dir, alone[name]) < limit
    digests = {re.findall(r"weights (\w{16})", log)[-1] for log in logs.values()}
    assert len(digests) == 1, "the workers' weights differ from one another"


def test_micro_batches_equal_one_batch(tmp_path, data, alone):
    job = make_job(tmp_path, data=data, **STEPWISE, batch_size=4, accumulate=4, optimizer=SGD)
    run(job, "", tmp_path / "logs")
    assert largest_difference(job.checkpoint_dir, alone["sgd"]) < 1e-6


def test_micro_batches_of_two_workers_equal_one_batch(tmp_path, data, alone):
    job = make_job(tmp_path, data=data, **STEPWISE, batch_size=4, accumulate=2, optimizer=SGD)
    run(job, "chief=1,worker=1", tmp_path / "logs")
    assert largest_difference(job.checkpoint_dir, alone["sgd"]) < 1e-6


def test_two_mirrored_devices_equal_one_process(tmp_path, data, alone):
    job = make_job(tmp_path, data=data, **STEPWISE, batch_size=4, accumulate=2, optimizer=SGD)
    run_mirrored(job, tmp_path)
    assert largest_difference(job.checkpoint_dir, alone["sgd"]) < 1e-6


def test_one_worker_of_a_parameter_server_equals_one_process(tmp_path, data, alone):
    """With one worker nothing overtakes anything, so asynchronous training can be compared."""
    job = make_job(tmp_path, data=data, **STEPWISE, batch_size=4, accumulate=4, optimizer=SGD)
    run(job, "chief=1,worker=1,ps=1", tmp_path / "logs")
    assert largest_difference(job.checkpoint_dir, alone["sgd"]) < 1e-6


@pytest.mark.slow
def test_members_averages_and_the_index_are_the_same_under_every_strategy(tmp_path, data):
    from yt8m.components.trainer.state.warm_start import read_weights

    model = {"name": "mlp", "members": 2, "width": 8, "blocks": 0, "dropout": 0.0}
    shape = {**STEPWISE, "model": model, "optimizer": {"name": "sgd", "learning_rate": 0.05}}
    shape |= {"ema_momentum": 0.9, "retrieval": {"count": 5}}
    found = {}
    for name, processes, size in (
        ("alone", "", 16),
        ("workers", "worker=2", 8),
        ("servers", "chief=1,worker=1,ps=1", 16),
        ("devices", "", 8),
    ):
        job = make_job(tmp_path / name, data=data, **shape, batch_size=size)
        if name == "devices":
            run_mirrored(job, tmp_path / name)
        else:
            run(job, processes, tmp_path / name / "logs")
        found[name] = read_weights(job.export_dir)
        whole = tmp_path / "alone/checkpoints"
        assert largest_difference(job.checkpoint_dir, whole, network_only=False) < 1e-6
    alone = found.pop("alone")
    for name, weights in found.items():
        for key, value in alone.items():
            there = weights[key]
            if key in ("keys", "scales", "labels"):
                assert value.tobytes() == there.tobytes(), (name, key)
            else:
                assert abs(value - there).max() <= 1e-6 * max(abs(value).max(), 1), (name, key)


BUCKETS = {
    "model": {"name": "frame_logistic"},
    "max_steps": 10,
    "optimizer": SGD,
    "inputs": {"bucket_batches": 3, "bucket_multiple": 4},
}


@pytest.fixture(scope="module")
def frames(tmp_path_factory):
    from records import make_dataset

    root = tmp_path_factory.mktemp("frames")
    return make_dataset(root, level="frame", classes=20, train=60, min_frames=9, max_frames=60)


@pytest.fixture(scope="module")
def bucketed(tmp_path_factory, frames):
    """Checkpoints of one process that takes whole buckets of rows of like length."""
    root = tmp_path_factory.mktemp("bucketed")
    job = make_job(root, level="frame", data=frames, **BUCKETS, batch_size=16)
    run(job, "", root / "logs")
    return job.checkpoint_dir


@pytest.mark.slow
def test_buckets_are_shared_out_among_micro_batches_and_workers(tmp_path, frames, bucketed):
    job = make_job(tmp_path, level="frame", data=frames, **BUCKETS, batch_size=4, accumulate=2)
    run(job, "worker=2", tmp_path / "logs")
    assert largest_difference(job.checkpoint_dir, bucketed) < 1e-6


@pytest.mark.slow
def test_buckets_are_shared_out_among_devices_where_these_divide_them(tmp_path, frames, bucketed):
    job = make_job(tmp_path, level="frame", data=frames, **BUCKETS, batch_size=8)
    run_mirrored(job, tmp_path)
    assert largest_difference(job.checkpoint_dir, bucketed) < 1e-6
    odd = {**BUCKETS, "inputs": {"bucket_batches": 3, "bucket_multiple": 1}}
    job = make_job(tmp_path / "odd", level="frame", data=frames, **odd, batch_size=8)
    done = start_mirrored(job, tmp_path / "odd")
    assert done.returncode == 2
    assert (
        "trainer.inputs.bucket_multiple = 1: must be a multiple of the number of replicas (2)"
        in (done.stderr)
    )


@pytest.mark.slow
def test_a_teacher_says_the_same_to_every_process(tmp_path, data, alone):
    settings = {"max_steps": 8, "optimizer": SGD}
    taught = {"teacher": {"saved_model": str(_export_beside(alone)), "weight": 0.7}}
    one = make_job(tmp_path / "one", data=data, batch_size=16, **settings, **taught)
    run(one, "", tmp_path / "logs")
    two = make_job(tmp_path / "two", data=data, batch_size=8, **settings, **taught)
    run(two, "worker=2", tmp_path / "logs2")
    assert largest_difference(two.checkpoint_dir, one.checkpoint_dir) < 1e-6
    servers = make_job(tmp_path / "ps", data=data, batch_size=16, **settings, **taught)
    run(servers, "chief=1,worker=1,ps=1", tmp_path / "logs3")
    assert (tmp_path / "ps" / "export" / "saved_model.pb").exists()


def _export_beside(alone):
    return Path(alone["adam"]).parent / "export"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("processes", "batch_size", "accumulate"),
    [("worker=2", 8, 1), ("chief=1,worker=1,ps=1", 4, 4)],
)
def test_processes_share_one_frame_cache(
    tmp_path, monkeypatch, frames, processes, batch_size, accumulate
):
    """They pack it together in the first epoch, of four steps, and read it in the next ones."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    shape = {"model": {"name": "frame_logistic"}, "max_steps": 12, "optimizer": SGD}
    alone = make_job(tmp_path / "alone", level="frame", data=frames, **shape, batch_size=16)
    run_job(alone, {})
    shape |= {"batch_size": batch_size, "accumulate": accumulate, "cache": "frames"}
    job = make_job(tmp_path / "shared", level="frame", data=frames, **shape)
    run(job, processes, tmp_path / "logs")
    assert largest_difference(job.checkpoint_dir, alone.checkpoint_dir) < 1e-6
    packed = list(place.glob("yt8m-read-cache/*.frames"))
    assert len(packed) == len(list(frames.glob("train*")))
    # The entries stand at the end; none of them is empty.
    assert all(any(path.read_bytes()[-16:]) for path in packed)
