"""What a compiled pipeline needs of a cluster, against a double that has some of it."""

import json

import pytest
from k8s_server import K8sServer, serve

from yt8m.kubeflow.server.check import MISSING, OK, UNKNOWN, ClusterAccess, check
from yt8m.kubeflow.spec.spec_file import Spec

BACKEND = {
    "name": "jobset",
    "mounts": [{"claim": "scratch", "path": "/scratch"}],
    "environment_secrets": ["s3"],
    "environment_config_maps": ["zones"],
}


@pytest.fixture
def spec():
    custom = json.dumps({"config": {"backend": BACKEND}})
    parameters = {"custom_config": {"runtimeValue": {"constant": custom}}}
    container = {"image": "registry/yt8m:1", "command": ["python"], "args": []}
    pod = {
        "pvcMount": [{"constant": "data", "mountPath": "/data"}],
        "secretAsEnv": [
            {"secretName": "s3", "keyToEnv": [{"secretKey": "id", "envVar": "AWS_ACCESS_KEY_ID"}]}
        ],
        "imagePullSecret": [{"secretName": "registry"}],
        "configMapAsEnv": [
            {"configMapName": "settings", "keyToEnv": [{"configMapKey": "a", "envVar": "A"}]}
        ],
    }
    return Spec(
        pipeline={
            "schemaVersion": "2.1.0",
            "pipelineInfo": {"name": "smoke"},
            "defaultPipelineRoot": "minio://mlpipeline/yt8m",
            "deploymentSpec": {"executors": {"Trainer_executor": {"container": container}}},
            "root": {"dag": {"tasks": {"Trainer": {"inputs": {"parameters": parameters}}}}},
        },
        platform={
            "platforms": {
                "kubernetes": {"deploymentSpec": {"executors": {"Trainer_executor": pod}}}
            }
        },
    )


def _claim(*modes, phase="Bound"):
    return {"metadata": {}, "spec": {"accessModes": list(modes)}, "status": {"phase": phase}}


@pytest.fixture
def server():
    server = K8sServer()
    server.named["persistentvolumeclaims"] |= {
        "data": _claim("ReadWriteMany"),
        "scratch": _claim("ReadWriteMany"),
    }
    server.named["secrets"] |= {"s3": {"data": {"id": "eA=="}}, "registry": {"data": {}}}
    server.named["configmaps"] |= {"settings": {"data": {"a": "b"}}, "zones": {"data": {}}}
    return server


def _check(server, spec, account=""):
    with serve(server) as client:
        found = check(spec, ClusterAccess(client, "team", account))
    return {(f.kind, f.name): f for f in found}


def test_a_cluster_that_has_everything_misses_nothing(server, spec):
    found = _check(server, spec, "pipeline-runner")
    assert not [f for f in found.values() if f.state == MISSING]
    asked = {name for kind, name in found if kind == "permission"}
    assert asked == {
        *(f"{v} jobsets.jobset.x-k8s.io" for v in ("get", "list", "create", "patch", "delete")),
        *(f"{v} {what}" for v in ("get", "list") for what in ("pods", "pods/log", "events")),
    }
    assert set(server.reviewed) == {"system:serviceaccount:team:pipeline-runner"}
    # Nobody outside of the cluster can know.
    assert found["root", "minio://mlpipeline/yt8m"].state == UNKNOWN


def test_everything_that_is_missing_is_named(server, spec):
    server.denied = {("create", "jobsets"), ("get", "pods/log")}
    server.named["persistentvolumeclaims"] = {"data": _claim("ReadWriteOnce")}
    server.named["secrets"] = {"s3": {"data": {"other": ""}}}
    server.named["configmaps"] = {"settings": {"data": {}}}
    found = _check(server, spec)
    missing = {key: f.detail for key, f in found.items() if f.state == MISSING}
    assert missing == {
        ("permission", "create jobsets.jobset.x-k8s.io"): "kubeflow/rbac.yaml",
        ("permission", "get pods/log"): "kubeflow/rbac.yaml",
        ("claim", "data"): "ReadWriteOnce: pods on several nodes need ReadWriteMany",
        ("claim", "scratch"): "there is none of this name",
        ("secret", "registry"): "there is none of this name",
        ("secret", "s3"): "it has no key id",
        ("config map", "settings"): "it has no key a",
        ("config map", "zones"): "there is none of this name",
    }
    assert set(server.reviewed) == {""}


def test_what_may_not_be_looked_at_is_not_known_and_no_fault(server, spec):
    server.forbidden = "secrets|claims|reviews"
    found = _check(server, spec)
    kinds = {kind for (kind, _), f in found.items() if f.state == UNKNOWN}
    assert kinds == {"permission", "claim", "secret", "root"}
    assert not [f for f in found.values() if f.state == MISSING]


def test_a_tag_that_moves_is_said(server, spec):
    container = spec.pipeline["deploymentSpec"]["executors"]["Trainer_executor"]["container"]
    for image, state in (
        ("registry:5000/yt8m", UNKNOWN),
        ("registry/yt8m:latest", UNKNOWN),
        ("registry:5000/yt8m@sha256:" + "0" * 64, OK),
    ):
        container["image"] = image
        assert _check(server, spec)["image", image].state == state
