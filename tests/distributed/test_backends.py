"""The backend that the configuration names starts the cluster by itself, as in a pipeline."""

import os

import pytest
from cluster import newest_step
from training import make_job

from yt8m.components.artifacts.training_curve import EVALUATION, read_curve
from yt8m.components.export.load import load_export
from yt8m.components.trainer.backends.backend import create_backend

pytestmark = pytest.mark.distributed


@pytest.mark.slow
def test_the_local_backend_trains_with_a_cluster_of_processes(tmp_path):
    job = make_job(
        tmp_path,
        backend={"name": "local", "processes": "master=1,worker=1"},
        evaluation={"enabled": True, "start_delay_s": 0, "throttle_s": 0},
    )
    create_backend(job.trainer.backend).run(job, os.environ)
    assert newest_step(tmp_path / "checkpoints") == job.trainer.max_steps
    assert load_export(job.export_dir).info.features == job.features
    # The master scores its own last checkpoint.
    assert read_curve(f"{job.log_dir}/{EVALUATION}")[-1]["step"] == job.trainer.max_steps
    logs = {path.name: path.read_text() for path in (tmp_path / "logs/processes").glob("*.log")}
    assert set(logs) == {"master-0.log", "worker-0.log"}
    assert all("MultiWorkerMirroredStrategy, 2 replicas" in log for log in logs.values())
