"""A pod that was to have a GPU and has none; an evaluator beside a training that has some."""

import json

import pytest
import tensorflow as tf
from training import make_job, rows

from yt8m.components.artifacts.training_curve import EVALUATION
from yt8m.components.trainer.backends.in_process import run_job
from yt8m.schemas.errors import UserError

TASK = {"type": "evaluator", "index": 0}


def test_a_training_that_asked_for_gpus_and_sees_none_stops_before_it_begins(tmp_path):
    job = make_job(tmp_path)
    with pytest.raises(UserError, match=r"64 GPUs were asked for and TensorFlow sees \d"):
        run_job(job, {"YT8M_GPUS": "64"})
    assert not list(tmp_path.rglob("checkpoint"))


@pytest.mark.parametrize(("uses_gpu", "hidden"), [(False, [("GPU", [])]), (True, [])])
def test_the_evaluator_leaves_the_gpus_to_the_training_unless_told_otherwise(
    tmp_path, monkeypatch, uses_gpu, hidden
):
    evaluation = {"enabled": True, "start_delay_s": 0, "throttle_s": 0, "uses_gpu": uses_gpu}
    job = make_job(tmp_path, max_steps=1, evaluation=evaluation)
    cluster = {"chief": ["127.0.0.1:1"]}
    run_job(job, {"TF_CONFIG": json.dumps({"cluster": cluster, "task": TASK | {"type": "chief"}})})
    shown = []
    monkeypatch.setattr(
        tf.config, "set_visible_devices", lambda devices, kind: shown.append((kind, devices))
    )
    run_job(job, {"TF_CONFIG": json.dumps({"cluster": cluster, "task": TASK})})
    assert shown == hidden
    assert [row["step"] for row in rows(job, "evaluation", EVALUATION)] == [1]
