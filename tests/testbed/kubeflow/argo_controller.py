"""Argo's own controller on a control plane, as a pod; its executor is in the pods that it makes.

`make argo` builds both, of the version in argo/go.mod.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import requests
import yaml
from kube_api import KubeError
from kube_control_plane import NAMESPACE, Cluster

Object = dict[str, Any]
WORKFLOWS = f"/apis/argoproj.io/v1alpha1/namespaces/{NAMESPACE}/workflows"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
_ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_START_S = 240.0
_LIMIT_S = 1500.0
_COMMAND = (
    *("workflow-controller", "--configmap", "workflow-controller-configmap"),
    *("--executor-image", "argoexec:v4.0.5", "--namespaced", "--managed-namespace", NAMESPACE),
)
# A minute is Argo's own pause before it looks again at what it could not do.
_VARIABLES = {"LEADER_ELECTION_DISABLE": "true", "DEFAULT_REQUEUE_TIME": "1s"}


def start_argo(cluster: Cluster, argo: Path, settings: Mapping[str, str]) -> None:
    """`argo` is where it was built, `settings` is its ConfigMap."""
    define(cluster, sorted((argo / "manifests/crds").glob("*.yaml")))
    apply(cluster, [named("ServiceAccount", "argo")])
    apply(cluster, read(*(argo / "manifests/rbac").glob("*.yaml")))
    apply(cluster, [named("ConfigMap", "workflow-controller-configmap") | {"data": settings}])
    until(lambda: cluster.api.get(WORKFLOWS), WORKFLOWS)
    start_pod(cluster, "argo", _COMMAND, _VARIABLES)
    address_of_pod(cluster, "argo")


def define(cluster: Cluster, files: Iterable[Path]) -> None:
    """Kinds by the files of their definitions, without schemas: Argo's cost the server minutes."""
    for definition in read(*files):
        for version in definition["spec"]["versions"]:
            version["schema"] = {"openAPIV3Schema": _ANYTHING}
        cluster.api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)


def apply(cluster: Cluster, manifests: Iterable[Object]) -> None:
    """In the namespace of the tests, whatever they are written for."""
    for manifest in manifests:
        for subject in manifest.get("subjects", []):
            subject["namespace"] = NAMESPACE
        manifest["metadata"].pop("namespace", None)
        cluster.apply(manifest)


def start_pod(
    cluster: Cluster, name: str, command: Iterable[str], variables: Mapping[str, str], **spec: Any
) -> None:
    """One in place of a Deployment's; its account is called as it is."""
    container = {
        "name": "main",
        "image": "here",
        "command": list(command),
        "env": [{"name": key, "value": value} for key, value in variables.items()],
        "volumeMounts": spec.pop("mounts", []),
    }
    spec |= {"serviceAccountName": name, "restartPolicy": "Never", "containers": [container]}
    cluster.api.post(PODS, {"metadata": {"name": name, "labels": {"app": name}}, "spec": spec})


def address_of_pod(cluster: Cluster, name: str) -> str:
    """Once it runs."""

    def ask() -> str:
        status = cluster.api.get(f"{PODS}/{name}")["status"]
        return str(status.get("podIP", "")) if status["phase"] == "Running" else ""

    return str(until(ask, name, said=lambda: cluster.log(name)))


def lose_pod(cluster: Cluster, task: str) -> Object:
    """Delete the pod in which a task of a Workflow works, without grace; its metadata."""

    def ask() -> Object:
        flows = cluster.api.get(WORKFLOWS)["items"]
        nodes = [n for flow in flows for n in flow.get("status", {}).get("nodes", {}).values()]
        known = {node["name"] for node in nodes if node["phase"] == "Running"}
        for pod in cluster.pods():
            metadata: Object = pod["metadata"]
            node = metadata.get("annotations", {}).get("workflows.argoproj.io/node-name", "")
            if node in known and re.search(rf"\.{task}\(\d+\)\.executor", node):
                cluster.api.delete(f"{PODS}/{metadata['name']}", grace_s=0)
                return metadata
        return {}

    found = until(ask, f"a pod of {task}", limit_s=_LIMIT_S)
    assert isinstance(found, dict)
    return found


def until(
    ask: Callable[[], object],
    what: str,
    *,
    said: Callable[[], str] = str,
    limit_s: float = _START_S,
) -> object:
    """The first answer that is something; requests that fail are made again."""
    deadline = time.monotonic() + limit_s
    while True:
        try:
            if found := ask():
                return found
        except (KubeError, requests.RequestException):
            pass
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} is not there after {limit_s:.0f} s\n{said()[-3000:]}")
        time.sleep(0.5)


def read(*files: Path) -> list[Object]:
    texts = [file.read_text(encoding="utf-8") for file in files]
    return [one for text in texts for one in yaml.safe_load_all(text) if one]


def named(kind: str, name: str, group: str = "v1") -> Object:
    return {"apiVersion": group, "kind": kind, "metadata": {"name": name}}
