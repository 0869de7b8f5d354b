"""What TensorFlow is asked for as a strategy is created; no process meets another here."""

import json
import os

import pytest
import tensorflow as tf
from tensorflow.python.eager import context

from yt8m.components.trainer.cluster.strategy import create_strategy
from yt8m.components.trainer.config import DistributionConfig
from yt8m.components.trainer.tf_config import Cluster


@pytest.mark.parametrize(
    ("cluster", "leader", "jobs"),
    [
        ({"chief": ["h:1"], "worker": ["h:2", "h:3"]}, "chief", {"chief": 1, "worker": 2}),
        ({"worker": ["h:1", "h:2"]}, "worker", {"worker": 2}),
    ],
)
def test_processes_in_step_wait_and_are_silent_for_as_long_as_configured(
    monkeypatch, cluster, leader, jobs
):
    fresh = context.Context()  # as a process has it that has not begun yet
    monkeypatch.setattr(context, "context", lambda: fresh)
    monkeypatch.setattr(tf.distribute, "MultiWorkerMirroredStrategy", lambda **_: None)
    task = {"type": leader, "index": 0}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": task}))
    config = DistributionConfig(peer_timeout_s=20, heartbeat_timeout_s=7.5)
    create_strategy(Cluster.from_env(os.environ), config)
    service = fresh.coordination_service
    assert service.cluster_register_timeout_in_ms == 20_000
    assert service.heartbeat_timeout_in_ms == 7_500
    assert service.service_leader.startswith(f"/job:{leader}/")
    assert {job.name: job.num_tasks for job in service.coordinated_job_list} == jobs
