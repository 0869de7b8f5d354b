"""A pod that was to have a GPU and has none."""

import pytest
from training import make_job

from yt8m.components.trainer.backends.in_process import run_job
from yt8m.schemas.errors import UserError


def test_a_training_that_asked_for_gpus_and_sees_none_stops_before_it_begins(tmp_path):
    job = make_job(tmp_path)
    with pytest.raises(UserError, match=r"64 GPUs were asked for and TensorFlow sees \d"):
        run_job(job, {"YT8M_GPUS": "64"})
    assert not list(tmp_path.rglob("checkpoint"))
