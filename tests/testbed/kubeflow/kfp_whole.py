"""The whole of Kubeflow Pipelines on a control plane: its own programs, and Argo's.

API server, persistence agent, schedule controller and Argo's controller are pods; driver, launcher
and argoexec are found by the pods that Argo makes. MariaDB is real, the object store is moto, the
metadata store ML Metadata itself. Roles and settings are Kubeflow's own, read from its source.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests
from argo_controller import (
    address_of_pod,
    apply,
    define,
    named,
    read,
    start_argo,
    start_pod,
    until,
)
from kfp_programs import METADATA_PORT, STORE_PORT, kubeflow_stores
from kube_control_plane import NAMESPACE, Cluster
from mariadb_server import mariadb
from pod_network import GATEWAY

KFP_PROGRAMS = ("apiserver", "persistence_agent", "controller", "driver", "launcher-v2")
SCHEDULES = f"/apis/kubeflow.org/v1beta1/namespaces/{NAMESPACE}/scheduledworkflows"
_METADATA = f"metadata-grpc-service.{NAMESPACE}.svc.cluster.local"
_STORE = "minio-service.kubeflow.svc.cluster.local"
NAMES = {_METADATA: GATEWAY, _STORE: GATEWAY}
_HTTP, _GRPC = 8888, 8887
_BUCKET = "mlpipeline"
_PIPELINE = "manifests/kustomize/base/pipeline"
# By the account: the program, and the file of the token by which the API server knows it.
_AGENTS = {
    "ml-pipeline-persistenceagent": ("persistence_agent", "persistenceagent-sa-token"),
    "ml-pipeline-scheduledworkflow": ("controller", "scheduledworkflow-sa-token"),
}


@dataclass(frozen=True)
class Source:
    """A checkout of Kubeflow Pipelines whose folder `bin` has its programs, and built Argo."""

    root: Path
    argo: Path

    @property
    def programs(self) -> tuple[Path, Path]:
        return self.root / "bin", self.argo

    def lacking(self) -> list[str]:
        wanted = [self.root / "bin" / name for name in KFP_PROGRAMS]
        return [str(program) for program in wanted if not program.exists()]


@contextmanager
def whole_kubeflow(cluster: Cluster, source: Source, directory: Path) -> Iterator[str]:
    """The address of the API server, when everything has started."""
    define(cluster, [source.root / _PIPELINE / "cluster-scoped/scheduled-workflow-crd.yaml"])
    _configure(cluster, source)
    start_argo(cluster, source.argo, _argo_settings(source))
    with kubeflow_stores(cluster, directory), mariadb(directory / "mariadb", GATEWAY) as port:
        config = f"--config={source.root / 'backend/src/apiserver/config'}"
        command = ["apiserver", config, "-logtostderr=true", "--logLevel=info"]
        start_pod(cluster, "ml-pipeline", command, _database(port))
        url = f"http://{address_of_pod(cluster, 'ml-pipeline')}:{_HTTP}"
        until(lambda: _answers(url), "the API server", said=lambda: cluster.log("ml-pipeline"))
        for name, (program, token) in _AGENTS.items():
            _start_agent(cluster, name, program, token)
        yield url


def _start_agent(cluster: Cluster, name: str, program: str, token: str) -> None:
    asked = {"path": token, "audience": "pipelines.kubeflow.org", "expirationSeconds": 7200}
    projected = {"sources": [{"serviceAccountToken": asked}]}
    start_pod(
        cluster,
        name,
        [program, "--logtostderr=true", f"--namespace={NAMESPACE}"],
        {"NAMESPACE": NAMESPACE},
        volumes=[{"name": "tokens", "projected": projected}],
        mounts=[{"name": "tokens", "mountPath": "/var/run/secrets/kubeflow/tokens"}],
    )
    address_of_pod(cluster, name)


def _database(port: int) -> dict[str, str]:
    """The variables of the API server, as its own manifest names them."""
    return {
        "POD_NAMESPACE": NAMESPACE,
        "PUBLISH_LOGS": "true",
        "PIPELINE_LOG_LEVEL": "1",
        "AUTO_UPDATE_PIPELINE_DEFAULT_VERSION": "true",
        "CLUSTER_DOMAIN": "cluster.local",
        "OBJECTSTORECONFIG_SECURE": "false",
        "OBJECTSTORECONFIG_BUCKETNAME": _BUCKET,
        "OBJECTSTORECONFIG_HOST": GATEWAY,
        "OBJECTSTORECONFIG_PORT": str(STORE_PORT),
        "OBJECTSTORECONFIG_ACCESSKEY": "key",
        "OBJECTSTORECONFIG_SECRETACCESSKEY": "secret",
        "DB_DRIVER_NAME": "mysql",
        "DBCONFIG_MYSQLCONFIG_USER": "root",
        "DBCONFIG_MYSQLCONFIG_PASSWORD": "",
        "DBCONFIG_MYSQLCONFIG_DBNAME": "mlpipeline",
        "DBCONFIG_MYSQLCONFIG_HOST": GATEWAY,
        "DBCONFIG_MYSQLCONFIG_PORT": str(port),
        "DBCONFIG_CONMAXLIFETIME": "120s",
        "V2_DRIVER_IMAGE": "ghcr.io/kubeflow/kfp-driver:2.17.0",
        "V2_LAUNCHER_IMAGE": "ghcr.io/kubeflow/kfp-launcher:2.17.0",
        "COMPILED_PIPELINE_SPEC_PATCH": "{}",
        # It does not start without them, although nothing draws here.
        "ML_PIPELINE_VISUALIZATIONSERVER_SERVICE_HOST": GATEWAY,
        "ML_PIPELINE_VISUALIZATIONSERVER_SERVICE_PORT": str(_HTTP),
    }


def _configure(cluster: Cluster, source: Source) -> None:
    """Kubeflow's accounts and Roles, and what its installation writes."""
    base = source.root / _PIPELINE
    patterns = ("*-sa.yaml", "*-role.yaml", "*-rolebinding.yaml")
    found = read(*(file for pattern in patterns for file in sorted(base.glob(pattern))))
    place = {"METADATA_GRPC_SERVICE_HOST": _METADATA}
    place["METADATA_GRPC_SERVICE_PORT"] = str(METADATA_PORT)
    keys = {"accesskey": "key", "secretkey": "secret"}
    service: dict[str, Any] = {"clusterIP": "None", "selector": {"app": "ml-pipeline"}}
    service["ports"] = [{"name": "http", "port": _HTTP}, {"name": "grpc", "port": _GRPC}]
    found += [
        named("ConfigMap", "metadata-grpc-configmap") | {"data": place},
        named("Secret", "mlpipeline-minio-artifact") | {"stringData": keys},
        named("Service", "ml-pipeline") | {"spec": service},
    ]
    apply(cluster, found)


def _argo_settings(source: Source) -> dict[str, str]:
    """As Kubeflow's kustomization writes them."""
    file = "manifests/kustomize/third-party/argo/base/workflow-controller-configmap-patch.yaml"
    (patch,) = read(source.root / file)
    here = {"seaweedfs.$(kfp-namespace).svc:9000": f"{_STORE}:{STORE_PORT}"}
    here["$(kfp-artifact-bucket-name)"] = _BUCKET
    settings: dict[str, str] = patch["data"]
    for text, meant in here.items():
        settings = {key: value.replace(text, meant) for key, value in settings.items()}
    return settings


def _answers(url: str) -> bool:
    return requests.get(f"{url}/apis/v2beta1/healthz", timeout=5).ok
