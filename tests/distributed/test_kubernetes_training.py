"""The pods' very commands and environment, run as local processes: manifest and training agree."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cluster import newest_step
from k8s_processes import Operator
from k8s_server import K8sServer, serve
from training import make_job

from yt8m.components.trainer.backends.kubernetes import Kubernetes
from yt8m.components.trainer.backends.kubernetes_api import KubernetesApi
from yt8m.components.trainer.backends.kubernetes_manifest import kind_of
from yt8m.components.trainer.kubernetes_config import (
    JobSetBackend,
    RoleConfig,
    TFJobBackend,
)
from yt8m.schemas.config_tree import to_dict
from yt8m.schemas.errors import EXIT_ABANDONED, Yt8mError

pytestmark = pytest.mark.distributed


def _train(job, backend, tmp_path, server):
    pods = tmp_path / "pods"
    pods.mkdir()
    with serve(server) as client, Operator(server, pods) as operator:
        api = KubernetesApi(kind_of(backend), "team", client)
        Kubernetes(backend, api=lambda: api).run(job, {"YT8M_IMAGE": "registry/yt8m:1"})
    return operator


@pytest.mark.parametrize("kind", [TFJobBackend, JobSetBackend], ids=["tfjob", "jobset"])
def test_a_chief_and_a_worker_train_and_the_model_comes_home(kind, tmp_path, caplog):
    caplog.set_level("INFO")
    backend = kind(work_dir=str(tmp_path / "shared"), poll_s=0.5)
    job = make_job(tmp_path / "job")
    server = K8sServer()
    operator = _train(job, backend, tmp_path, server)
    assert (Path(job.export_dir) / "saved_model.pb").exists()
    assert len(operator.environments) == 2
    assert any("chief:" in message for message in caplog.messages)


def test_a_model_begun_anew_is_wiped_once_and_not_by_each_pod_that_starts(tmp_path):
    backend = TFJobBackend(work_dir=str(tmp_path / "shared"), poll_s=0.5)
    job = make_job(tmp_path / "job", start_new_model=True)
    old = tmp_path / "shared/jobs/checkpoints/checkpoints"
    old.mkdir(parents=True)
    (old / "model.json").write_text('{"model": "another"}')
    _train(job, backend, tmp_path, K8sServer())
    assert newest_step(old) == job.trainer.max_steps
    assert '"start_new_model": false' in (old.parent / "job.json").read_text()


def test_a_training_that_breaks_names_the_pod_and_its_last_words(tmp_path):
    backend = TFJobBackend(work_dir=str(tmp_path / "shared"), poll_s=0.5)
    job = make_job(tmp_path / "job")
    for shard in (tmp_path / "job").rglob("train*.tfrecord"):
        shard.unlink()
    with pytest.raises(Yt8mError, match=r"failed: .*\(pod yt8m-.*\): exit code \d"):
        _train(job, backend, tmp_path, K8sServer())
    assert not (Path(job.export_dir) / "saved_model.pb").exists()


@pytest.mark.slow
def test_a_job_whose_trainer_was_killed_saves_a_checkpoint_and_ends(tmp_path):
    """SIGKILL is all that Kubeflow's launcher leaves to a Trainer."""
    backend = JobSetBackend(
        work_dir=str(tmp_path / "shared"), roles={"chief": RoleConfig()}, poll_s=0.5,
        abandoned_after_s=5.0,
    )  # fmt: skip
    job = make_job(tmp_path / "job", max_steps=100_000, checkpoint={"every_s": 1e6})
    server, pods = K8sServer(), tmp_path / "pods"
    pods.mkdir()
    (tmp_path / "job.json").write_text(job.to_json())
    (tmp_path / "backend.json").write_text(json.dumps(to_dict(backend)))
    with serve(server) as client, Operator(server, pods):
        command = [sys.executable, "-c", _TRAINER, client.configuration.host, str(tmp_path)]
        trainer = subprocess.Popen(command, env={**os.environ, "YT8M_IMAGE": "registry/yt8m:1"})
        _until(lambda: any("step" in line for log in server.logs.values() for line in log))
        trainer.kill()
        trainer.wait()
        (name,) = server.jobs
        _until(lambda: server.jobs[name]["status"])
        (ended,) = server.pods[server.pod_name(name, "chief")]["status"]["containerStatuses"]
        assert ended["state"]["terminated"]["exitCode"] == EXIT_ABANDONED
        assert "nobody has followed" in ended["state"]["terminated"]["message"]
    assert newest_step(tmp_path / "shared/jobs/checkpoints/checkpoints") > 0


_TRAINER = """
import json, os, sys
from pathlib import Path
from kubernetes import client
from yt8m.components.trainer.backends.kubernetes import Kubernetes
from yt8m.components.trainer.backends.kubernetes_api import KubernetesApi
from yt8m.components.trainer.kubernetes_config import JobSetBackend
from yt8m.components.trainer.backends.kubernetes_manifest import JOBSET
from yt8m.components.trainer.job import parse_job
from yt8m.schemas.config_tree import from_dict
host, directory = sys.argv[1], Path(sys.argv[2])
backend = from_dict(JobSetBackend, json.loads((directory / "backend.json").read_text()))
api = KubernetesApi(JOBSET, "team", client.ApiClient(client.Configuration(host=host)))
job = parse_job((directory / "job.json").read_text())
Kubernetes(backend, api=lambda: api).run(job, os.environ)
"""


def _until(condition, timeout_s=180):
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)
