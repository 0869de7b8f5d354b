"""What a compiled pipeline needs of a cluster, against a double that has some of it."""

import itertools
import json

import pytest
from k8s_server import K8sServer, serve

from yt8m.kubeflow.cluster_needs import MISSING, OK, UNKNOWN, ClusterAccess, needs_of
from yt8m.kubeflow.container.needs_check import check_cluster
from yt8m.kubeflow.server.check import check
from yt8m.kubeflow.spec_file import Spec
from yt8m.schemas.errors import UserError

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


def _first_pod(server, spec, **environ):
    needs = needs_of(spec.pipeline, spec.platform, BACKEND).to_json()
    with serve(server) as client:
        variables = {"YT8M_CLUSTER_NEEDS": needs, "KUBERNETES_SERVICE_HOST": "10.0.0.1", **environ}
        check_cluster(variables, reach=lambda: (client, "team"))


def test_the_first_pod_lets_a_run_begin_that_has_everything(server, spec):
    server.named["persistentvolumeclaims"]["data"] = _claim("ReadWriteOnce")  # of one node, it may
    _first_pod(server, spec)


def test_the_first_pod_names_what_a_later_task_would_wait_for_without_end(server, spec):
    server.named["persistentvolumeclaims"] = {"data": _claim("ReadWriteMany")}
    server.named["secrets"] = {"s3": {"data": {"other": ""}}, "registry": {"data": {}}}
    with pytest.raises(UserError) as error:
        _first_pod(server, spec)
    assert str(error.value).splitlines() == [
        "claim scratch: there is none of this name (namespace team), and a later task needs it",
        "secret s3: it has no key id (namespace team), and a later task needs it",
    ]


def test_the_first_pod_fails_over_nothing_that_it_may_not_look_at(server, spec, caplog):
    caplog.set_level("INFO")
    server.forbidden = "secrets|claims"
    _first_pod(server, spec)
    assert "secret s3: 403" in caplog.text


def test_pods_outside_of_a_cluster_and_later_ones_ask_nothing(server, spec):
    server.named["secrets"] = {}
    _first_pod(server, spec, KUBERNETES_SERVICE_HOST="")
    _first_pod(server, spec, YT8M_CLUSTER_NEEDS="")


def test_a_pod_without_a_token_lets_the_run_begin(spec, caplog):
    def refuse():
        raise UserError("no Kubernetes cluster: not in a pod")

    caplog.set_level("INFO")
    needs = needs_of(spec.pipeline, spec.platform, BACKEND).to_json()
    variables = {"YT8M_CLUSTER_NEEDS": needs, "KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    check_cluster(variables, reach=refuse)
    assert "this pod cannot ask Kubernetes" in caplog.text


def test_gpus_of_tasks_and_of_the_job_are_asked_for_together(spec):
    container = spec.pipeline["deploymentSpec"]["executors"]["Trainer_executor"]["container"]
    container["resources"] = {"accelerator": {"type": "nvidia.com/gpu", "count": "1"}}
    roles = {"chief": {"gpus": 2, "gpu_resource": "nvidia.com/gpu"}, "worker": {"gpus": 0}}
    needs = needs_of(spec.pipeline, spec.platform, {**BACKEND, "roles": roles})
    assert needs.gpus == {"nvidia.com/gpu": 2}


def test_the_order_of_tasks_does_not_change_what_the_first_pod_is_told():
    """Protobuf gives its maps in another order to each process."""
    secrets = {"ExampleGen": "data", "Pusher": "registry", "Trainer": "account"}
    pods = {name: {"secretAsVolume": [{"secretName": one}]} for name, one in secrets.items()}
    told = set()
    for names in itertools.permutations(pods):
        executors = {name: pods[name] for name in names}
        platform = {"platforms": {"kubernetes": {"deploymentSpec": {"executors": executors}}}}
        told.add(needs_of({}, platform, {}).to_json())
    assert len(told) == 1
    assert set(json.loads(told.pop())["secrets"]) == set(secrets.values())
