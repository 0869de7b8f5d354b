"""What the whole of Kubeflow left of one run, held against what this project says of such runs.

`make test-kubeflow` makes the record again: see the README beside it.
"""

import json
from collections import Counter

import pytest
import yaml
from golden_specs import GOLDEN
from http_double import listening
from kfp_record import PIPELINE, TASKS, WAIT, compact, read_workflow, steps_that_succeeded
from kfp_server import KfpServer
from yt8m_runs import COMPONENTS

from yt8m.kubeflow.server.client import KfpClient
from yt8m.kubeflow.server.connection import Connection
from yt8m.kubeflow.server.http import HttpTransport
from yt8m.kubeflow.server.runs import own_tasks
from yt8m.kubeflow.spec.workflow_size import LIMIT_BYTES, status_bytes

WHOLE = GOLDEN / "records" / "whole"
MOST_BYTES = 600_000  # of a status: Argo keeps LIMIT_BYTES of the whole Workflow


@pytest.fixture(scope="module")
def workflow():
    return read_workflow(WHOLE)


def test_the_workflow_that_argo_kept_is_as_large_as_the_arithmetic_says(workflow):
    spec, *platform = yaml.safe_load_all((WHOLE / PIPELINE).read_text())
    kept = len(compact(workflow["status"]))
    assert kept < MOST_BYTES
    assert len(compact(workflow)) < LIMIT_BYTES
    assert "compressedNodes" not in workflow["status"]
    assert status_bytes(spec, platform[0]) == pytest.approx(kept, rel=0.05)


def test_every_pod_that_was_not_lost_succeeded(workflow):
    """The first pod's and two for each task: its driver and its own."""
    assert workflow["status"]["phase"] == "Succeeded"
    nodes = workflow["status"]["nodes"].values()
    pods = Counter(node["phase"] for node in nodes if node["type"] == "Pod")
    assert pods["Succeeded"] == 2 * len(COMPONENTS) + 1
    assert set(pods) <= {"Succeeded", "Error"}


def test_wait_told_the_end_of_each_step():
    assert steps_that_succeeded((WHOLE / WAIT).read_text()) == sorted(COMPONENTS)


def test_of_the_servers_tasks_eleven_are_steps_and_all_have_succeeded():
    details = json.loads((WHOLE / TASKS).read_text())
    assert len(details) > 3 * len(COMPONENTS)
    server = KfpServer()
    run_id = details[0]["run_id"]
    server.runs[run_id] = {
        "run_id": run_id,
        "state": "SUCCEEDED",
        "run_details": {"task_details": details},
    }
    with listening(server) as host:
        run = KfpClient(HttpTransport(Connection(host=host))).run(run_id)
    for steps in (COMPONENTS, ()):  # as the version names them, and without one
        found = {task.name: task.state for task in own_tasks(run, steps)}
        assert found == dict.fromkeys(COMPONENTS, "SUCCEEDED")
