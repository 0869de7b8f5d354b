"""Argo's own controller and executor run the Workflow that Kubeflow's server made of our pipeline.

It is that of the record. Driver and launcher are the record's too: what Argo keeps and repeats is
real, and no component runs.
"""

from collections import Counter
from pathlib import Path

import kfp_record
import pytest
from argo_controller import WORKFLOWS, apply, lose_pod, named, start_argo, until
from golden_specs import GOLDEN
from kfp_programs import ACCOUNT, CLAIM
from kfp_record import compact, read_workflow
from kube_control_plane import NAMESPACE, control_plane
from requirements import argo_programs
from yt8m_runs import COMPONENTS

pytestmark = [
    pytest.mark.control_plane,
    pytest.mark.timeout(900),
    pytest.mark.needs("argo", "control plane", "ip", "network namespaces", "root"),
]
RECORD = read_workflow(GOLDEN / "records" / "whole")
DOUBLES = Path(kfp_record.__file__).parent / "recorded"
GROUP = "rbac.authorization.k8s.io/v1"
# What Kubeflow 2.17 sets: a node that was lost is made again.
RETRIES = {"templateDefaults": {"retryStrategy": {"limit": "2", "retryPolicy": "OnError"}}}
SETTINGS = {"workflowDefaults": compact({"spec": RETRIES})}


@pytest.fixture
def cluster(tmp_path):
    place, volume = tmp_path / "cluster", tmp_path / "volume"
    volume.mkdir()
    with control_plane(place, {CLAIM: volume}, path=(DOUBLES, argo_programs())) as running:
        rule = {"apiGroups": ["argoproj.io"], "resources": ["workflowtaskresults"]}
        role = {"apiGroup": GROUP.partition("/")[0], "kind": "Role", "name": ACCOUNT}
        subject = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}
        apply(
            running,
            [
                named("ServiceAccount", ACCOUNT),
                named("Role", ACCOUNT, GROUP) | {"rules": [rule | {"verbs": ["create", "patch"]}]},
                named("RoleBinding", ACCOUNT, GROUP) | {"roleRef": role, "subjects": [subject]},
            ],
        )
        start_argo(running, argo_programs(), SETTINGS)
        yield running


def test_argo_keeps_the_recorded_run_in_as_many_bytes_and_makes_a_lost_pod_again(cluster):
    wanted = {key: RECORD[key] for key in ("apiVersion", "kind", "spec")}
    made = cluster.api.post(WORKFLOWS, wanted | {"metadata": {"generateName": "smoke-"}})
    path = f"{WORKFLOWS}/{made['metadata']['name']}"
    lost = lose_pod(cluster, "StatisticsGen")

    def ended():
        found = cluster.api.get(path)
        phase = found.get("status", {}).get("phase")
        return found if phase in ("Succeeded", "Failed", "Error") else None

    status = until(ended, "the end of the Workflow", limit_s=600)["status"]
    assert status["phase"] == "Succeeded", status.get("message")
    nodes = status["nodes"].values()
    pods = [node for node in nodes if node["type"] == "Pod"]
    assert Counter(node["phase"] for node in pods) == {"Succeeded": 2 * len(COMPONENTS) + 1}
    (again,) = (p for p in cluster.pods() if p["metadata"]["name"] == lost["name"])
    assert again["metadata"]["uid"] != lost["uid"]
    done = {
        step
        for step in COMPONENTS
        if any(n["phase"] == "Succeeded" and n["name"].endswith(f".{step}") for n in nodes)
    }
    assert done == set(COMPONENTS)
    kept = len(compact(RECORD["status"]))
    assert len(compact(status)) == pytest.approx(kept, rel=0.05)
