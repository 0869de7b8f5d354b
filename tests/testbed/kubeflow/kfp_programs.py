"""Walks a compiled pipeline with Kubeflow's own driver and launcher, as Argo would.

Both are given as programs. They run as pods of a real control plane (`kube_control_plane`); the
metadata store is ML Metadata itself, the object store moto.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kfp_launcher import order, read_spec, run_parameters
from kube_control_plane import NAMESPACE, Cluster
from mlmd_server import EmptyCache, Metadata, serving
from pod_network import GATEWAY
from s3_server import s3_server

from yt8m.cli.main import run

ACCOUNT, CLAIM, SHARED = "pipeline-runner", "yt8m", Path("/mnt/yt8m")
BUCKET, ROOT = "bucket", "s3://bucket/yt8m"
# Where Kubeflow's programs look for its services, by what its own manifests call them.
NAMES = {
    f"{name}.kubeflow.svc.cluster.local": GATEWAY
    for name in ("metadata-grpc-service", "ml-pipeline", "minio-service")
}
METADATA_PORT, _CACHE, STORE_PORT = 8080, 8887, 9000
_PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
_LIMIT_S = 600.0
_SCRATCH = ("gcs", "s3", "minio")
CLASSES = 20
_SMOKE = (
    "data.splits={train: ['train*'], eval: ['validate*']}",
    f"data.root={SHARED}/data",
    f"pusher.push_dir={SHARED}/models",
    f"features.num_classes={CLASSES}",
    "trainer.max_steps=60",
    "trainer.batch_size=64",
    "gate.gap_threshold=0.05",
)
_PROVIDERS = f"""
s3:
  default:
    endpoint: minio-service.kubeflow:{STORE_PORT}
    region: us-east-1
    disableSSL: true
    forcePathStyle: true
    credentials:
      fromEnv: false
      secretRef: {{secretName: s3, accessKeyKey: access-key, secretKeyKey: secret-key}}
"""


def compile_smoke(volume: Path) -> Path:
    """The smoke pipeline for a cluster whose pods all mount `volume`, with the records in it."""
    platform = volume / "cluster.yaml"
    claims = f"[{{claim: {CLAIM}, path: {SHARED}}}]"
    platform.write_text(f"kubeflow: {{work_dir: {SHARED}/work, volumes: {claims}}}\n")
    out = volume / "pipeline.yaml"
    words = ["kubeflow", "compile", "smoke", "--image", "registry/yt8m:1", "--quiet"]
    words += ["--root", ROOT, "--out", str(out), "--platform", str(platform)]
    for setting in _SMOKE:
        words += ["--set", setting]
    assert run(words) == 0
    return out


@dataclass
class Walk:
    """One run of a pipeline; `volume` is what lies behind the claim that all its pods mount."""

    cluster: Cluster
    driver: Path
    launcher: Path
    volume: Path
    run_id: str
    logs: dict[str, str] = field(default_factory=dict)  # of each task

    def run(self, file: Path, parameters: Mapping[str, Any]) -> None:
        """Every task in its turn, to the first that fails."""
        spec, platform = read_spec(file)
        root = self._drive(
            "root",
            type="ROOT_DAG",
            pipeline=spec["pipelineInfo"]["name"],
            dag_execution_id="0",
            component=spec["root"],
            task="",
            task_name="",
            # The API server puts the defaults in.
            runtime_config={"parameterValues": run_parameters(spec, parameters)},
        )
        executors = platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"]
        for name in order(spec["root"]["dag"]["tasks"]):
            task = spec["root"]["dag"]["tasks"][name]
            component = spec["components"][task["componentRef"]["name"]]
            label = component["executorLabel"]
            driven = self._drive(
                name,
                type="CONTAINER",
                pipeline=spec["pipelineInfo"]["name"],
                dag_execution_id=root["execution_id"],
                component=component,
                task=task,
                task_name=name,
                container=spec["deploymentSpec"]["executors"][label]["container"],
                kubernetes_config=executors.get(label, {}),
            )
            if driven["cached_decision"] != "true":
                self._launch(name, json.loads(driven["pod_spec_patch"]))

    def _drive(self, name: str, *, pipeline: str, **given: Any) -> dict[str, str]:
        """What the driver has decided, by the names of its output files."""
        pod = f"{name.lower()}-driver-{self.run_id}"
        outputs = ("execution_id", "iteration_count", "condition")
        if given["type"] == "CONTAINER":
            outputs = ("cached_decision", "pod_spec_patch", "condition")
        place = SHARED / "drivers" / pod
        (self.volume / "drivers" / pod).mkdir(parents=True)
        flags = {
            "pipeline_name": pipeline,
            "run_id": self.run_id,
            "run_name": f"{pipeline}-{self.run_id}",
            "run_display_name": f"{pipeline} {self.run_id}",
            "pipeline_job_create_time_utc": "2026-01-01T00:00:00Z",
            "iteration_index": "-1",
            "ml_pipeline_server_address": "ml-pipeline.kubeflow",
            "ml_pipeline_server_port": str(_CACHE),
            "mlmd_server_address": "metadata-grpc-service.kubeflow",
            "mlmd_server_port": str(METADATA_PORT),
            "log_level": "1",
            "publish_logs": "true",
            **{f"{key}_path": str(place / key) for key in outputs},
            **given,
        }
        for proxy in ("http_proxy", "https_proxy", "no_proxy"):
            flags[proxy] = ""
        known = _flags(self.driver)
        command = [str(self.driver)]
        for key, value in flags.items():
            if key in known:
                command += [f"--{key}", value if isinstance(value, str) else json.dumps(value)]
        self._run_pod(pod, {"command": command})
        files = (self.volume / "drivers" / pod).iterdir()
        return {file.name: file.read_text() for file in files}

    def _launch(self, name: str, patch: dict[str, Any]) -> None:
        """The pod that Argo makes of its template and the driver's patch."""
        (container,) = patch["containers"]
        assert container["command"][0] == "/kfp-launcher/launch", container["command"]
        pod = f"{name.lower()}-{self.run_id}"
        metadata = {"METADATA_GRPC_SERVICE_HOST": "metadata-grpc-service.kubeflow"}
        metadata["METADATA_GRPC_SERVICE_PORT"] = str(METADATA_PORT)
        of_pod = {"KFP_POD_NAME": "metadata.name", "KFP_POD_UID": "metadata.uid"}
        changed = {
            "command": [str(self.launcher), *container["command"][1:]],
            "args": container["args"],
            "env": [
                *(
                    {"name": k, "valueFrom": {"fieldRef": {"fieldPath": v}}}
                    for k, v in of_pod.items()
                ),
                *({"name": k, "value": v} for k, v in metadata.items()),
                *container.get("env", []),
            ],
        }
        try:
            self._run_pod(pod, changed)
        finally:
            self.logs[name] = self.cluster.log(pod)

    def _run_pod(self, name: str, given: dict[str, Any]) -> None:
        mounts = {"shared": str(SHARED), **{scheme: f"/{scheme}" for scheme in _SCRATCH}}
        container = {
            "name": "main",
            "image": "here",
            "volumeMounts": [{"name": n, "mountPath": path} for n, path in mounts.items()],
            **given,
        }
        volumes: list[dict[str, Any]] = [{"name": scheme, "emptyDir": {}} for scheme in _SCRATCH]
        volumes += [{"name": "shared", "persistentVolumeClaim": {"claimName": CLAIM}}]
        spec = {"serviceAccountName": ACCOUNT, "restartPolicy": "Never", "volumes": volumes}
        spec["containers"] = [container]
        self.cluster.api.post(_PODS, {"metadata": {"name": name}, "spec": spec})
        deadline = time.monotonic() + _LIMIT_S
        while (phase := self._phase(name)) not in ("Succeeded", "Failed"):
            assert time.monotonic() < deadline, f"{name} is {phase} after {_LIMIT_S:.0f} s"
            time.sleep(0.3)
        assert phase == "Succeeded", f"{name}:\n{self.cluster.log(name)[-6000:]}"

    def _phase(self, name: str) -> str:
        return str(self.cluster.api.get(f"{_PODS}/{name}")["status"]["phase"])


def _flags(program: Path) -> set[str]:
    """What a Go program understands, by its own help: versions differ."""
    told = subprocess.run([program, "--help"], capture_output=True, text=True)
    return set(re.findall(r"^  -(\w+)", told.stdout + told.stderr, flags=re.MULTILINE))


@contextmanager
def kubeflow_services(cluster: Cluster, directory: Path) -> Iterator[None]:
    """What driver and launcher need of a Kubeflow: its configuration, metadata and objects."""
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    subject = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}
    cluster.apply(
        _object("ServiceAccount", ACCOUNT),
        _object("RoleBinding", "kubeflow", "rbac.authorization.k8s.io/v1")
        | {"roleRef": role, "subjects": [subject]},
    )
    with kubeflow_stores(cluster, directory), serving(f"{GATEWAY}:{_CACHE}", EmptyCache()):
        yield


@contextmanager
def kubeflow_stores(cluster: Cluster, directory: Path) -> Iterator[None]:
    """Metadata and objects, where the launcher finds the objects, and the claim of all tasks."""
    claim = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
    settings = {"defaultPipelineRoot": ROOT, "providers": _PROVIDERS}
    keys = {"access-key": "key", "secret-key": "secret"}
    cluster.apply(
        _object("ConfigMap", "kfp-launcher") | {"data": settings},
        _object("Secret", "s3") | {"stringData": keys},
        _object("PersistentVolumeClaim", CLAIM) | {"spec": claim},
    )
    with (
        serving(f"{GATEWAY}:{METADATA_PORT}", Metadata(str(directory / "mlmd.db"))),
        s3_server(GATEWAY, STORE_PORT),
    ):
        yield


def _object(kind: str, name: str, group: str = "v1") -> dict[str, Any]:
    return {"apiVersion": group, "kind": kind, "metadata": {"name": name}}
