"""The pods' very commands and environment, run as local processes: manifest and training agree."""

from __future__ import annotations

from pathlib import Path

import pytest
from cluster import newest_step
from k8s_processes import Operator
from k8s_server import K8sServer, serve
from training import make_job

from yt8m.components.trainer.backends.kubernetes import Kubernetes
from yt8m.components.trainer.backends.kubernetes_api import KubernetesApi
from yt8m.components.trainer.backends.kubernetes_config import JobSetBackend, TFJobBackend
from yt8m.components.trainer.backends.kubernetes_manifest import kind_of
from yt8m.schemas.errors import Yt8mError

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
