"""Whoever has the last answer may go first, for all of them have it.

A process that ended as soon as its own call returned was sometimes gone before it had sent all that
another was still waiting for, which then took a training that was through for one that had failed.
"""

import dataclasses
import signal

import pytest
from cluster import Group, run
from training import make_job

pytestmark = pytest.mark.distributed

PROCESSES = "chief=1,worker=1"
SMALL = {
    "model": {"name": "mlp", "width": 8, "blocks": 1},
    "distribution": {"heartbeat_timeout_s": 8},  # of a process that says nothing at all
}
VALIDATED = {"every_steps": 3, "num_tries": 1}
# The worker has the last answer, and is lost before it says that it goes.
LOST_AT_LEAVING = """
import json, os, signal, time
if json.loads(os.environ["TF_CONFIG"])["task"]["type"] == "worker":
    from yt8m.components.trainer.cluster.collectives import Collectives
    def leave(self):
        time.sleep(2)  # the chief has it as well
        os.kill(os.getpid(), signal.SIGKILL)
    Collectives.leave = leave
"""
ENDS = {"chief 0": 0, "worker 0": -signal.SIGKILL}


def test_who_is_lost_after_the_end_costs_nobody_a_finished_training(tmp_path):
    job = make_job(tmp_path, max_steps=2, **SMALL)
    with Group(job, PROCESSES, tmp_path / "p", first=LOST_AT_LEAVING) as group:
        assert group.join() == ENDS
    assert (tmp_path / "export/saved_model.pb").exists()


def test_who_is_lost_after_a_disagreement_takes_nobody_the_message(tmp_path):
    job = make_job(tmp_path, max_steps=2, **SMALL)
    run(job, "", tmp_path / "alone")
    longer = make_job(tmp_path, max_steps=4, data=tmp_path / "data", **SMALL)
    elsewhere = dataclasses.replace(longer, checkpoint_dir=str(tmp_path / "empty"))
    group = Group(
        longer, PROCESSES, tmp_path / "p", jobs={"worker 0": elsewhere}, first=LOST_AT_LEAVING
    )
    with group:
        assert group.join() == {**ENDS, "chief 0": 2}
        assert "do not begin with the same state" in group.log("chief 0")


@pytest.mark.slow
def test_who_is_lost_after_a_signal_takes_nobody_the_saved_state(tmp_path):
    job = make_job(tmp_path, max_steps=100_000, checkpoint={"every_steps": 100_000}, **SMALL)
    with Group(job, PROCESSES, tmp_path / "p", first=LOST_AT_LEAVING) as group:
        group.wait_until(lambda: "train: " in group.log("chief 0"))
        group.kill("worker 0", signal.SIGTERM)
        assert group.join() == {**ENDS, "chief 0": 143}
        assert "the same command continues" in group.log("chief 0")
        assert group.step() > 0


@pytest.mark.slow
@pytest.mark.parametrize("found", [{"checkpoint": {"every_steps": 3}}, {"validation": VALIDATED}])
def test_who_is_lost_after_a_divergence_takes_nobody_the_message(tmp_path, found):
    optimizer = {"name": "sgd", "learning_rate": 3e38}
    log = {"every_steps": 100}  # where the chief would find it alone
    job = make_job(tmp_path, max_steps=10, optimizer=optimizer, log=log, **found, **SMALL)
    with Group(job, PROCESSES, tmp_path / "p", first=LOST_AT_LEAVING) as group:
        assert group.join() == {**ENDS, "chief 0": 1}
        assert "training has diverged" in group.log("chief 0")
