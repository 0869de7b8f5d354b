"""Training jobs as real operators named, labelled and ended them: the backend reads them all.

The double of the API, which is set from the same facts, names, labels and ends its jobs alike.
"""

import json
import re

import pytest
from golden_specs import GOLDEN
from k8s_server import K8sServer
from kubeflow_facts import OPERATORS
from werkzeug.test import Client

from yt8m.components.trainer.backends.kubernetes_manifest import (
    JobRequest,
    create_manifest,
    kind_of,
)
from yt8m.components.trainer.backends.kubernetes_status import Phase, read_status, task_name
from yt8m.components.trainer.kubernetes_config import (
    JobSetBackend,
    RoleConfig,
    TFJobBackend,
)

RECORDED = json.loads((GOLDEN / "records" / "training_jobs.json").read_text())
BACKENDS = {"JobSet": JobSetBackend, "TFJob": TFJobBackend}
ROLES = {"chief": RoleConfig(), "worker": RoleConfig(replicas=2)}


@pytest.fixture(params=RECORDED)
def kind(request):
    return request.param


@pytest.fixture
def manifest(kind):
    request = JobRequest(key="run", image="registry/yt8m:1", command=("yt8m",), environment={})
    return create_manifest(BACKENDS[kind](roles=ROLES), request)


@pytest.fixture
def double(manifest):
    """The double, with that job and its pods."""
    server = K8sServer()
    path = f"/apis/{manifest['apiVersion']}/namespaces/team/{manifest['kind'].lower()}s"
    answer = Client(server).post(path, json=manifest)
    assert answer.status_code == 201, answer.text
    server.start_pods(manifest["metadata"]["name"])
    return server


def _status(job):
    return read_status({"status": {"conditions": job["conditions"]}})


def test_what_real_jobs_ended_with_is_read(kind):
    assert _status(RECORDED[kind]["succeeded"]).phase is Phase.SUCCEEDED
    for how in set(RECORDED[kind]) & {"failed", "stopped"}:
        job = RECORDED[kind][how]
        assert _status(job).phase is Phase.FAILED
        assert _status(job).message == job["conditions"][-1]["message"]


def test_real_pods_are_found_and_named_by_their_labels(kind):
    known = kind_of(BACKENDS[kind](roles=ROLES))
    pods = RECORDED[kind]["pods"]
    job = RECORDED[kind]["succeeded"]["name"]
    assert {labels[known.name_label] for labels in pods.values()} == {job}
    names = {
        task_name({"metadata": {"name": name, "labels": labels}}, known).partition(" (")[0]
        for name, labels in pods.items()
    }
    assert names == {"chief 0", "worker 0", "worker 1"}


def test_the_jobs_that_are_sent_are_of_the_recorded_api(kind, manifest):
    for how in ("succeeded", "failed"):
        recorded = RECORDED[kind][how]
        assert (manifest["apiVersion"], manifest["kind"]) == (recorded["apiVersion"], kind)


def test_the_double_labels_and_names_pods_as_the_operator_does(kind, manifest, double):
    ours, theirs = manifest["metadata"]["name"], RECORDED[kind]["succeeded"]["name"]
    operator = OPERATORS[kind]
    read = (operator.name_label, operator.role_label, operator.index_label)

    def described(pods, job):
        # What Kubernetes appends to a pod's name by chance is five characters long.
        return {
            re.sub(r"-[a-z0-9]{5}$", "-?", name.replace(job, "JOB")): [
                labels[label].replace(job, "JOB") for label in read
            ]
            for name, labels in pods.items()
        }

    made = {name: pod["metadata"]["labels"] for name, pod in double.pods.items()}
    assert described(made, ours) == described(RECORDED[kind]["pods"], theirs)
