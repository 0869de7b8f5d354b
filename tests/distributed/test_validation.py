"""Validation within training steers every strategy alike: all processes halve, go back, and stop.

What should follow from the losses that were found is computed here again, from Nabu's words.
"""

import dataclasses
import re

import numpy as np
import pytest
import tensorflow as tf
from checkpoint_values import read_values
from cluster import Group, run
from training import make_job
from two_devices import run_mirrored

from yt8m.components.artifacts.training_curve import TRAINING, read_curve
from yt8m.components.trainer.state.warm_start import read_weights

pytestmark = pytest.mark.distributed

TRIES = 3
RATE = 1.0  # so high that some validations are worse, until halvings have made it small
TASKS = {
    "heads": [{"name": "entities"}, {"name": "verticals", "weight": 0.5}],
    "max_steps": 60,
    "optimizer": {"name": "adam", "learning_rate": RATE},
    "clip_gradient_norm": 0,
}
VALIDATION = {
    "every_steps": 2,
    "go_back": True,
    "num_tries": TRIES,
    "excluded_heads": ["verticals"],
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    from records import make_dataset

    return make_dataset(tmp_path_factory.mktemp("data"), classes=20)


@pytest.fixture(scope="module")
def alone(tmp_path_factory, data):
    """The job of one process that takes whole global batches, done."""
    root = tmp_path_factory.mktemp("alone")
    job = job_of(root, data, batch_size=16)
    run(job, "", root / "processes")
    return job


def job_of(root, data, **trainer):
    job = make_job(root, data=data, **{**TASKS, "validation": VALIDATION, **trainer})
    return dataclasses.replace(job, vocabulary=str(data / "vocabulary.csv"))


def rows(job, kind="validation"):
    return [r for r in read_curve(f"{job.log_dir}/{TRAINING}") if r["kind"] == kind]


def assert_follows_from_its_losses(job):
    """Factors, learning rates, the end, and which model is kept."""
    validation = job.trainer.validation
    found = rows(job)
    assert [row["step"] for row in found] == [validation.every_steps * n for n in range(len(found))]
    best, factor, tries = found[0], 1.0, 0
    for number, row in enumerate(found):
        assert row["factor"] == factor
        assert "loss_verticals" not in row
        if number and row["loss"] >= best["loss"]:
            factor, tries = factor / 2, tries + 1
        elif number:
            best, tries = row, 0 if validation.reset_tries else tries
        assert (tries == validation.num_tries) is (row is found[-1])
    factor_of = {row["step"]: row["factor"] for row in found[1:]}
    rates = [r["learning_rate"] / factor_of[r["step"]] for r in rows(job, "train")]
    assert rates == pytest.approx([job.trainer.optimizer.learning_rate] * len(rates))
    assert_best_remains(job, best["step"])


def assert_best_remains(job, step):
    """In the export, and, training having ended with a way back, in the newest checkpoint."""
    reader = tf.train.load_checkpoint(f"{job.checkpoint_dir}/best/ckpt-{step}")
    newest, exported = read_values(job.checkpoint_dir), read_weights(job.export_dir)
    names = [k for k in newest if k.startswith("network") and k.endswith("VARIABLE_VALUE")]
    assert len(names) == 4  # kernel and bias of both heads
    for name in names:
        best = reader.get_tensor(name)
        np.testing.assert_array_equal(newest[name], best)
        assert any(np.array_equal(best, value) for value in exported.values())


def test_alone_it_is_worse_better_and_worse_until_the_tries_are_used_up(alone):
    assert_follows_from_its_losses(alone)
    losses = [row["loss"] for row in rows(alone)]
    assert losses[1] > losses[0] > min(losses)  # a try that a better validation takes back


@pytest.mark.parametrize("kind", ["two workers", "two devices"])
def test_in_step_it_is_what_one_process_does(tmp_path, data, alone, kind):
    job = job_of(tmp_path, data, batch_size=8)
    if kind == "two workers":
        logs = run(job, "chief=1,worker=1", tmp_path / "processes")
        assert len({re.findall(r"weights (\w{16})", log)[-1] for log in logs.values()}) == 1
    else:
        run_mirrored(job, tmp_path)
    assert_follows_from_its_losses(job)
    for mine, theirs in zip(rows(job), rows(alone), strict=True):
        assert mine["step"] == theirs["step"]
        assert mine["loss"] == pytest.approx(theirs["loss"], rel=1e-2)


# The chief takes its time to keep the best weights.
SLOW_CHIEF = """
import json, os, time
from yt8m.components.trainer.state.checkpoints import Checkpoints
save_best = Checkpoints.save_best
def slowly(self, step):
    if json.loads(os.environ["TF_CONFIG"])["task"]["type"] == "chief":
        time.sleep(2)
    save_best(self, step)
Checkpoints.save_best = slowly
"""


def test_nobody_reads_the_best_weights_before_the_chief_has_written_them(tmp_path, data):
    job = job_of(
        tmp_path,
        data,
        max_steps=4,
        optimizer={"name": "adam", "learning_rate": 0.01},
        validation={"every_steps": 2},
    )
    with Group(job, "chief=1,worker=1", tmp_path / "processes", first=SLOW_CHIEF) as group:
        assert set(group.join().values()) == {0}
    found = rows(job)
    assert found[-1]["step"] == 4
    assert found[-1]["loss"] == min(row["loss"] for row in found)  # the last one is the best
    assert_best_remains(job, 4)


@pytest.mark.slow
def test_under_parameter_servers_it_is_the_same_for_the_weights_that_they_hold(tmp_path, data):
    # A rate at which nothing gets better, in whatever order the workers come.
    job = job_of(
        tmp_path,
        data,
        optimizer={"name": "sgd", "learning_rate": 5e3},
        validation={**VALIDATION, "every_steps": 8, "reset_tries": False},
        distribution={"worker_stagger_s": 0.1},
    )
    run(job, "chief=1,worker=2,ps=1", tmp_path / "processes")
    assert_follows_from_its_losses(job)
    assert len(rows(job)) == 1 + TRIES
