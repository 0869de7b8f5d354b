"""What is asked of Kubernetes for a training job."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yt8m.components.trainer.backend_config import BackendConfig
from yt8m.components.trainer.backends.kubernetes_manifest import (
    DIGEST,
    JobRequest,
    create_manifest,
)
from yt8m.components.trainer.config import TrainerConfig
from yt8m.components.trainer.kubernetes_config import (
    JobSetBackend,
    Mount,
    RoleConfig,
    TFJobBackend,
)
from yt8m.components.trainer.tf_config import Cluster, ClusterKind
from yt8m.schemas.config_tree import from_dict, to_dict
from yt8m.schemas.errors import ConfigError

REQUEST = JobRequest(key="run-1", image="registry/yt8m:1", command=("python", "-m", "x"))


@given(st.text(min_size=1, max_size=80))
def test_every_key_gives_a_name_that_kubernetes_and_its_host_names_take(key):
    name = JobRequest(key=key, image="i", command=()).job_name
    assert re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", name)
    assert len(f"{name}-evaluator-99-0") <= 63


@given(st.text(max_size=40), st.text(max_size=40))
def test_different_runs_have_different_names(one, other):
    names = {JobRequest(key=k, image="i", command=()).job_name for k in (one, other)}
    assert len(names) == len({one, other})


@pytest.mark.parametrize("kind", [TFJobBackend, JobSetBackend])
def test_a_changed_description_is_another_job_and_the_same_is_the_same(kind):
    def digest(backend, request=REQUEST):
        return create_manifest(backend, request)["metadata"]["annotations"][DIGEST]

    assert digest(kind()) == digest(kind())
    assert digest(kind()) != digest(kind(restarts=1))
    other = JobRequest(key="run-1", image="registry/yt8m:2", command=REQUEST.command)
    assert digest(kind()) != digest(kind(), other)


def test_a_tfjob_may_restart_as_a_group_as_often_as_it_is_said():
    """Its operator compares the sum of the restarts of all pods, and fails the job at the limit."""
    roles = {"chief": RoleConfig(), "worker": RoleConfig(replicas=2)}
    manifest = create_manifest(TFJobBackend(roles=roles, restarts=3), REQUEST)
    assert manifest["spec"]["runPolicy"]["backoffLimit"] == 3 * 3 + 1


def test_a_jobset_tells_each_pod_its_part_of_the_cluster():
    roles = {"chief": RoleConfig(), "worker": RoleConfig(replicas=2), "ps": RoleConfig()}
    manifest = create_manifest(JobSetBackend(roles=roles), REQUEST)
    name, seen = REQUEST.job_name, []
    for job in manifest["spec"]["replicatedJobs"]:
        (container,) = job["template"]["spec"]["template"]["spec"]["containers"]
        variables = {v["name"]: v for v in container["env"]}
        order = [v["name"] for v in container["env"]]
        # Kubernetes fills in only what stands before.
        assert order.index("YT8M_TASK_INDEX") < order.index("TF_CONFIG")
        for index in range(job["replicas"]):
            text = variables["TF_CONFIG"]["value"].replace("$(YT8M_TASK_INDEX)", str(index))
            cluster = Cluster.from_env({"TF_CONFIG": text})
            assert cluster.kind is ClusterKind.PARAMETER_SERVER
            assert cluster.address == f"{name}-{job['name']}-{index}-0.{name}:2222"
            seen.append(str(cluster))
            assert json.loads(text)["cluster"].keys() == roles.keys()
    assert sorted(seen) == ["chief", "ps 0", "worker 0", "worker 1"]


@pytest.mark.parametrize(
    ("backend", "says"),
    [
        ({"name": "tfjob", "roles": {"worker": {}}}, "with a chief"),
        ({"name": "tfjob", "roles": {"chief": {"replicas": 2}}}, "roles.chief.replicas"),
        ({"name": "tfjob", "roles": {"chief": {}, "boss": {}}}, "chief, worker, ps, evaluator"),
        ({"name": "jobset", "roles": {"chief": {"memory": "4GB"}}}, "16Gi"),
        ({"name": "jobset", "mounts": [{"path": "/x"}]}, "not two of them"),
        (
            {"name": "jobset", "roles": {"chief": {"cpu": "1", "cpu_request": "1500m"}}},
            "at most the limit, 1",
        ),
        ({"name": "jobset", "namespace": "Team A"}, "a Kubernetes name"),
        ({"name": "kubernetes"}, "one of"),
    ],
)
def test_a_wrong_backend_is_refused_with_its_path(backend, says):
    with pytest.raises(ConfigError, match=rf"^trainer\.backend.*{re.escape(says)}"):
        from_dict(TrainerConfig, {"backend": backend}, path="trainer")


def test_the_backends_are_part_of_the_configuration_and_survive_json():
    assert TFJobBackend in BackendConfig.__args__
    mounts = (Mount(path="/data", claim="c"),)
    config = TrainerConfig(backend=JobSetBackend(mounts=mounts, image="i"))
    assert from_dict(TrainerConfig, json.loads(json.dumps(to_dict(config)))) == config


@pytest.mark.parametrize("kind", ["tfjob", "jobset"])
def test_a_job_and_its_pods_carry_what_the_cluster_asks_for(kind):
    backend = from_dict(
        JobSetBackend if kind == "jobset" else TFJobBackend,
        {
            "roles": {"chief": {"cpu": "8", "cpu_request": "2", "memory": "16Gi", "gpus": 1}},
            "labels": {"kueue.x-k8s.io/queue-name": "nightly"},
            "annotations": {"cost/team": "videos", "sidecar.istio.io/inject": "true"},
            "security": {"run_as_user": 10001, "fs_group": 20},
            "timeout_s": 3600,
            "environment_secrets": ["aws"],
            "environment_config_maps": ["settings"],
            "mounts": [
                {"path": "/dev/shm", "empty_dir": {"medium": "Memory", "size": "8Gi"}},
                {"path": "/scratch", "empty_dir": {}},
                {"path": "/settings", "config_map": "settings", "sub_path": "a.yaml"},
            ],
        },
        path="trainer.backend",
    )
    manifest = create_manifest(backend, REQUEST)
    if kind == "jobset":
        job = manifest["spec"]["replicatedJobs"][0]["template"]["spec"]
        template, deadline = job["template"], job["activeDeadlineSeconds"]
    else:
        template = manifest["spec"]["tfReplicaSpecs"]["Chief"]["template"]
        deadline = manifest["spec"]["runPolicy"]["activeDeadlineSeconds"]
    assert deadline == 3600
    for metadata in (manifest["metadata"], template["metadata"]):
        assert metadata["labels"]["kueue.x-k8s.io/queue-name"] == "nightly"
        assert metadata["annotations"]["cost/team"] == "videos"
    assert template["metadata"]["annotations"]["sidecar.istio.io/inject"] == "true"
    pod = template["spec"]
    (container,) = pod["containers"]
    assert container["securityContext"] == {  # what Pod Security `restricted` demands
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"] == {
        "limits": {"cpu": "8", "memory": "16Gi", "nvidia.com/gpu": "1"},
        "requests": {"cpu": "2", "memory": "16Gi", "nvidia.com/gpu": "1"},
    }
    assert container["envFrom"] == [
        {"secretRef": {"name": "aws"}},
        {"configMapRef": {"name": "settings"}},
    ]
    assert [volume.get("emptyDir") for volume in pod["volumes"]] == [
        {"medium": "Memory", "sizeLimit": "8Gi"},
        {},
        None,
    ]
    assert pod["volumes"][2]["configMap"] == {"name": "settings"}
    assert pod["securityContext"] == {
        "runAsUser": 10001,
        "runAsNonRoot": True,
        "fsGroup": 20,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def test_a_disruption_is_told_from_a_mistake_by_the_first_rule_that_fits():
    """The messages are those of Kubernetes' Job controller (pod_failure_policy.go)."""
    rules = create_manifest(JobSetBackend(), REQUEST)["spec"]["failurePolicy"]["rules"]

    def action(reason, message):
        for rule in rules:
            patterns = rule.get("onJobFailureMessagePatterns", [""])
            if reason in rule["onJobFailureReasons"] and any(
                re.search(pattern, message) for pattern in patterns
            ):
                return rule["action"]
        return "RestartJobSet"

    disrupted = "Pod ns/x has condition DisruptionTarget matching FailJob rule at index 1"
    mistaken = "Container tensorflow for pod ns/x failed with exit code 2 matching FailJob rule"
    assert action("PodFailurePolicy", disrupted) == "RestartJobSetAndIgnoreMaxRestarts"
    assert action("PodFailurePolicy", mistaken) == "FailJobSet"
    assert action("DeadlineExceeded", "Job was active longer than") == "FailJobSet"
    assert action("BackoffLimitExceeded", "Job has reached the limit") == "RestartJobSet"


@pytest.mark.parametrize("kind", ["tfjob", "jobset"])
def test_pods_go_where_they_are_sent_and_know_how_many_gpus_they_asked_for(kind):
    backend = from_dict(
        JobSetBackend if kind == "jobset" else TFJobBackend,
        {
            "roles": {"chief": {"gpus": 2}, "ps": {}},
            "tolerations": [{"key": "team", "operator": "Equal", "value": "a"}],
            "node_affinity": [
                {"key": "zone", "values": ["eu-1"]},
                {"key": "ssd", "operator": "Exists"},
            ],
            "priority_class": "nightly",
            "image_pull_secrets": ["registry"],
        },
        path="trainer.backend",
    )
    spec = create_manifest(backend, REQUEST)["spec"]
    if kind == "jobset":
        chief, ps = (j["template"]["spec"]["template"]["spec"] for j in spec["replicatedJobs"])
    else:
        chief, ps = (r["template"]["spec"] for r in spec["tfReplicaSpecs"].values())
    team = {"key": "team", "operator": "Equal", "value": "a"}
    gpu = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    assert chief["tolerations"] == [team, gpu]
    assert ps["tolerations"] == [team]
    required = ps["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert required["nodeSelectorTerms"][0]["matchExpressions"] == [
        {"key": "zone", "operator": "In", "values": ["eu-1"]},
        {"key": "ssd", "operator": "Exists"},
    ]
    assert ps["priorityClassName"] == "nightly"
    assert ps["imagePullSecrets"] == [{"name": "registry"}]
    asked = [
        [v["value"] for v in pod["containers"][0]["env"] if v["name"] == "YT8M_GPUS"]
        for pod in (chief, ps)
    ]
    assert asked == [["2"], []]
