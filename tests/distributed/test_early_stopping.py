"""What evaluations find ends the training of all processes, whichever of them evaluates."""

import re

import pytest
from cluster import Group
from training import make_job

from yt8m.components.artifacts.training_curve import EVALUATION, TRAINING, read_curve

pytestmark = pytest.mark.distributed

EVALUATED = {
    "log": {"every_steps": 2},
    "checkpoint": {"every_steps": 2},
    "evaluation": {"enabled": True, "start_delay_s": 0, "throttle_s": 0},
    "early_stopping": {"name": "reached", "metric": "gap", "value": 0.0},
}


@pytest.mark.slow
def test_a_master_evaluates_its_checkpoints_and_an_early_stop_ends_its_workers_too(tmp_path):
    job = make_job(tmp_path, **EVALUATED, max_steps=500)
    with Group(job, "master=1,worker=1", tmp_path / "p") as group:
        assert set(group.join().values()) == {0}
        digests = {re.findall(r"weights (\w{16})", group.log(name))[-1] for name in group.configs}
    assert len(digests) == 1  # they ended at the same step
    evaluated = [row["step"] for row in read_curve(f"{job.log_dir}/{EVALUATION}")]
    assert evaluated[0] == 2
    trained = [r["step"] for r in read_curve(f"{job.log_dir}/{TRAINING}") if r["kind"] == "train"]
    assert trained[-1] <= 4
    assert (tmp_path / "export/saved_model.pb").exists()


@pytest.mark.parametrize("processes", ["chief=1,worker=1", "chief=1,worker=1,ps=1"])
def test_what_the_evaluator_finds_ends_a_training_early(tmp_path, processes):
    """The evaluator is another process; the trainers read what it wrote down."""
    job = make_job(tmp_path, **{**EVALUATED, "max_steps": 100_000, "checkpoint": {"every_s": 1}})
    with Group(job, f"{processes},evaluator=1", tmp_path / "p") as group:
        assert set(group.join().values()) == {0}
        assert 0 < group.step() < 100_000
    evaluated = [row["step"] for row in read_curve(f"{job.log_dir}/{EVALUATION}")]
    assert evaluated[-1] == group.step()  # the last checkpoint, whatever came before
    assert (tmp_path / "export/saved_model.pb").exists()
