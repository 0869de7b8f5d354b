"""Clusters that are killed again and again, at moments that nobody chose."""

import random
import signal
import time

import pytest
from checkpoint_values import assert_bitwise_equal
from cluster import Group, run
from training import make_job

from yt8m.components.artifacts.training_curve import TRAINING, read_curve

pytestmark = [pytest.mark.distributed, pytest.mark.slow]

# Dropout, batch normalisation, Adam, and a validation that goes back: all that has a state.
LONG = {
    "model": {"name": "mlp", "width": 8, "dropout": 0.3, "batch_norm": True},
    "max_steps": 320,
    "checkpoint": {"every_steps": 10},
    "validation": {"every_steps": 80, "go_back": True},
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    from records import make_dataset

    return make_dataset(tmp_path_factory.mktemp("data"), classes=20)


@pytest.fixture
def chance():
    """Random numbers, others each time; the seed is told where a test fails."""
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    return random.Random(seed)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory, data):
    """The checkpoints of a cluster that nobody disturbs."""
    root = tmp_path_factory.mktemp("uninterrupted")
    job = make_job(root, data=data, **LONG)
    run(job, "chief=1,worker=2", root / "p")
    return job.checkpoint_dir


def let_it_run(group, chance, *, at_most):
    """To a random step, and then a random moment between two checkpoints, or within one."""
    wanted = group.step() + chance.randrange(10, at_most)
    group.wait_until(lambda: group.step() >= wanted)
    time.sleep(chance.uniform(0, 0.1))


def test_workers_in_step_are_killed_three_times_and_end_with_the_same_bits(
    tmp_path, data, uninterrupted, chance
):
    job = make_job(tmp_path, data=data, **LONG)
    victims = ["chief 0", "worker 0", "worker 1"]
    chance.shuffle(victims)
    for number, victim in enumerate(victims):
        with Group(job, "chief=1,worker=2", tmp_path / f"p{number}") as group:
            let_it_run(group, chance, at_most=70)
            group.kill(victim)
            codes = group.join()
            assert codes.pop(victim) == -signal.SIGKILL
            assert set(codes.values()) == {1}, codes  # the others do not wait for it
        assert group.step() < 320
    run(job, "chief=1,worker=2", tmp_path / "p")
    assert_bitwise_equal(job.checkpoint_dir, uninterrupted)


def test_sigterm_to_all_workers_at_once_resumes_with_the_same_bits(
    tmp_path, data, uninterrupted, chance
):
    job = make_job(tmp_path, data=data, **LONG)
    with Group(job, "chief=1,worker=2", tmp_path / "p0") as group:
        let_it_run(group, chance, at_most=150)
        for name in group.configs:
            group.kill(name, signal.SIGTERM)
        assert set(group.join().values()) == {143}
        assert group.step() < 320
    run(job, "chief=1,worker=2", tmp_path / "p")
    assert_bitwise_equal(job.checkpoint_dir, uninterrupted)


SERVED = {"max_steps": 400, "checkpoint": {"every_steps": 20}, "log": {"every_steps": 20}}


def trained_steps(job):
    rows = read_curve(f"{job.checkpoint_dir}/{TRAINING}")
    return [row["step"] for row in rows if row["kind"] == "train"]


def test_a_worker_under_parameter_servers_is_killed_twice_and_training_goes_on(tmp_path, chance):
    job = make_job(tmp_path, **{**SERVED, "max_steps": 1200})
    with Group(job, "chief=1,worker=2,ps=1", tmp_path / "p") as group:
        let_it_run(group, chance, at_most=60)
        group.kill("worker 1")
        assert group.join("worker 1") == {"worker 1": -signal.SIGKILL}
        group.start("worker 1")  # as its operator would
        group.wait_until(lambda: group.log("worker 1").count("worker 1 serves") == 2)
        let_it_run(group, chance, at_most=60)
        group.kill("worker 1")
        codes = group.join()
        assert codes.pop("worker 1") == -signal.SIGKILL
        assert set(codes.values()) == {0}
        assert group.step() == 1200
    assert trained_steps(job) == list(range(20, 1201, 20))
    assert (tmp_path / "export/saved_model.pb").exists()


def test_servers_are_killed_one_after_the_other_and_training_resumes_each_time(tmp_path, chance):
    job = make_job(tmp_path, **SERVED)
    processes = "chief=1,worker=1,ps=2"
    for victim in ("ps 0", "ps 1"):
        with Group(job, processes, tmp_path / victim) as group:
            let_it_run(group, chance, at_most=100)
            group.kill(victim)
            assert group.join("chief 0") == {"chief 0": 1}
        reached = group.step()
        assert 0 < reached < 400
    with Group(job, processes, tmp_path / "p") as group:
        assert set(group.join().values()) == {0}
        assert f"step {reached} of 400" in group.log("chief 0")
    assert trained_steps(job) == list(range(20, 401, 20))


def test_sigterm_to_all_under_parameter_servers_saves_and_resumes_exactly(tmp_path, data, chance):
    """With one worker nothing overtakes anything, so that the bits can be compared."""
    processes = "chief=1,worker=1,ps=1"
    whole = make_job(tmp_path / "whole", data=data, **SERVED)
    run(whole, processes, tmp_path / "p0")
    job = make_job(tmp_path / "parts", data=data, **SERVED)
    with Group(job, processes, tmp_path / "p1") as group:
        let_it_run(group, chance, at_most=200)
        for name in group.configs:
            group.kill(name, signal.SIGTERM)
        assert set(group.join().values()) == {143}
        reached = group.step()
        assert reached < 400
    with Group(job, processes, tmp_path / "p2") as group:
        assert set(group.join().values()) == {0}
        assert f"step {reached} of 400" in group.log("chief 0")
    assert_bitwise_equal(job.checkpoint_dir, whole.checkpoint_dir)
