"""A pod that was to have a GPU and has none; an evaluator beside a training that has some."""

import json

import pytest
import tensorflow as tf
from records import make_dataset
from training import CLASSES, make_job, rows

from yt8m.components.artifacts.training_curve import EVALUATION
from yt8m.components.trainer.backends.in_process import run_job
from yt8m.schemas.errors import UserError


def test_a_training_that_asked_for_gpus_and_sees_none_stops_before_it_begins(tmp_path):
    job = make_job(tmp_path)
    with pytest.raises(UserError, match=r"64 GPUs were requested, but TensorFlow sees \d"):
        run_job(job, {"YT8M_GPUS": "64"})
    assert not list(tmp_path.rglob("checkpoint"))


def environ(role):
    task = {"type": role, "index": 0}
    return {"TF_CONFIG": json.dumps({"cluster": {"chief": ["127.0.0.1:1"]}, "task": task})}


def evaluated(root, data, **values):
    """A job that its evaluator role evaluates."""
    evaluation = {"enabled": True, "start_delay_s": 0, "throttle_s": 0, **values}
    return make_job(root, data=data, max_steps=1, evaluation=evaluation)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Where a training is done, which nobody has evaluated, and its data."""
    root = tmp_path_factory.mktemp("trained")
    data = make_dataset(root / "data", classes=CLASSES)
    run_job(evaluated(root, data), environ("chief"))
    return root, data


@pytest.mark.parametrize(("uses_gpu", "hidden"), [(False, [("GPU", [])]), (True, [])])
def test_the_evaluator_leaves_the_gpus_to_the_training_unless_told_otherwise(
    trained, monkeypatch, uses_gpu, hidden
):
    job = evaluated(*trained, uses_gpu=uses_gpu)
    shown = []
    monkeypatch.setattr(
        tf.config, "set_visible_devices", lambda devices, kind: shown.append((kind, devices))
    )
    run_job(job, environ("evaluator"))
    assert shown == hidden
    assert [row["step"] for row in rows(job, "evaluation", EVALUATION)] == [1]
