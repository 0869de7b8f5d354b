"""The whole of Kubeflow Pipelines, its own programs: upload, run, a lost pod, again, schedule.

KFP_SOURCE names a checkout of Kubeflow Pipelines with its programs in `bin`: `make test-kubeflow`.
With KFP_RECORD the run is kept there. See CONTRIBUTING.
"""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from argo_controller import WORKFLOWS, lose_pod
from browser import browser as browser  # a fixture
from kfp_interface import built_interface, interface
from kfp_interface_look import look_at_run, look_at_runs
from kfp_programs import CLAIM, compile_smoke
from kfp_record import steps_that_succeeded, write_record
from kfp_whole import NAMES, SCHEDULES, Source, whole_kubeflow
from kube_control_plane import control_plane
from records import make_dataset
from requirements import argo_programs
from two_users import check_two_users
from yt8m_runs import COMPONENTS, START, environment

from yt8m.kubeflow.server.connection import load_connection
from yt8m.kubeflow.server.http import HttpTransport

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(3600),
    pytest.mark.needs("argo", "control plane", "ip", "mariadbd", "network namespaces", "root"),
]
_LIMIT_S = 1500


def _source():
    given = os.environ.get("KFP_SOURCE", "")
    if not given:
        pytest.skip("KFP_SOURCE names no checkout: make test-kubeflow KFP_SOURCE=...")
    source = Source(Path(given).resolve(strict=True), argo_programs())
    if lacking := source.lacking():
        pytest.skip(f"KFP_SOURCE has not {', '.join(lacking)}")
    return source


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("kubeflow")


@pytest.fixture(scope="module")
def volume(place):
    make_dataset(place / "volume/data", train=600, eval=200, classes=20)
    return place / "volume"


@pytest.fixture(scope="module")
def cluster(place, volume):
    """With the programs of Kubeflow where its images would have them."""
    source = _source()
    with control_plane(place / "cluster", {CLAIM: volume}, NAMES, source.programs) as running:
        yield running


@pytest.fixture(scope="module")
def host(cluster, place):
    (place / "services").mkdir()
    with whole_kubeflow(cluster, _source(), place / "services") as url:
        yield url


@pytest.fixture(scope="module")
def yt8m(host, place):
    """Runs the command; gives its exit code and what it said."""
    # Kubernetes is asked as the test's administrator, and not as whoever runs the test.
    given = {"YT8M_KUBEFLOW_HOST": host, "HOME": str(place)}
    given["KUBECONFIG"] = str(place / "cluster/kubeconfig")

    def call(*words):
        command = [sys.executable, "-c", START, "kubeflow", *words]
        done = subprocess.run(
            command, env=environment(**given), capture_output=True, text=True, timeout=_LIMIT_S
        )
        return done.returncode, done.stdout, done.stderr

    return call


def _json(yt8m, *words):
    code, out, said = yt8m(*words, "--json")
    assert code == 0, said
    return json.loads(out)


def _workflow(cluster, run_id):
    items = cluster.api.get(WORKFLOWS, labelSelector=f"pipeline/runid={run_id}")["items"]
    (found,) = items
    return found


def _logs(cluster):
    """Of the pods that failed, for whoever looks at a failure."""
    failed = [p["metadata"]["name"] for p in cluster.pods() if p["status"]["phase"] == "Failed"]
    return "\n".join(f"== {name}\n{cluster.log(name)[-3000:]}" for name in failed[:4])


def test_the_whole_of_kubeflow_runs_loses_a_pod_runs_again_and_schedules(
    cluster, host, yt8m, volume, tmp_path
):
    seconds, file = {}, compile_smoke(volume)
    made = _json(yt8m, "upload", str(file))
    begun = time.monotonic()
    first = _json(yt8m, "run", "smoke", "--version", made["version"])["run_id"]
    killed = []
    killer = threading.Thread(
        target=lambda: killed.append(lose_pod(cluster, "ExampleGen")), daemon=True
    )
    killer.start()
    code, said, errors = yt8m("wait", first, "--timeout", str(_LIMIT_S))
    seconds["first run"] = time.monotonic() - begun
    assert code == 0, f"{said}\n{errors}\n{_logs(cluster)}"
    killer.join(timeout=10)
    assert killed
    assert steps_that_succeeded(said) == sorted(COMPONENTS)
    assert (volume / "models/1/saved_model.pb").exists()
    workflow = _workflow(cluster, first)
    assert workflow["status"]["phase"] == "Succeeded"
    assert "compressedNodes" not in workflow["status"]
    # Kept before what follows, which may fail.
    _keep(host, first, pipeline=file, workflow=workflow, said=errors + said, seconds=seconds)

    begun = time.monotonic()
    second = _json(yt8m, "run", "smoke", "--version", made["version"])["run_id"]
    code, told, errors_2 = yt8m("wait", second, "--timeout", str(_LIMIT_S))
    seconds["second run"] = time.monotonic() - begun
    assert code == 0, f"{told}\n{errors_2}\n{_logs(cluster)}"
    assert [p.name for p in (volume / "models").iterdir() if p.name.isdigit()] == ["1"]

    _check_schedule(cluster, yt8m)
    _check_people(yt8m, file, tmp_path)
    _keep(host, first, pipeline=file, workflow=workflow, said=errors + said, seconds=seconds)


def _keep(host, run_id, **what):
    """Where KFP_RECORD names a place for it."""
    if place := os.environ.get("KFP_RECORD"):
        transport = HttpTransport(load_connection({"host": host}, os.environ))
        run = transport.request("GET", f"/runs/{run_id}", "object")
        write_record(Path(place), run=run, **what)


def _check_schedule(cluster, yt8m):
    """Kubeflow's own controller takes it, and knows when it is due."""
    _json(yt8m, "schedule", "smoke", "--name", "nightly", "--cron", "0 3 * * 1")
    end = time.monotonic() + 60
    while True:
        (made,) = cluster.api.get(SCHEDULES)["items"]
        if due := made.get("status", {}).get("trigger", {}).get("nextTriggeredTime"):
            break
        assert time.monotonic() < end, made
        time.sleep(0.5)
    assert made["spec"]["trigger"]["cronSchedule"]["cron"] == "0 0 3 * * 1"
    assert time.strptime(due, "%Y-%m-%dT%H:%M:%SZ").tm_wday == 0
    _json(yt8m, "unschedule", "nightly")


def _check_people(yt8m, file, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text(file.read_text().replace("s3://bucket/yt8m", "s3://bucket/other"))

    def ends(*words):
        code, out, said = yt8m(*words, "--json")
        return code, json.loads(out) if out else said

    check_two_users(ends, "smoke", (file, other), "--experiment", "people")


@pytest.mark.needs("chromium", "chromedriver")
def test_kubeflows_interface_shows_what_a_run_left(cluster, host, request):
    built = built_interface(_source().root)
    if built is None:
        pytest.skip(
            "KFP_SOURCE has no built interface (frontend/build, frontend/server/dist; node)"
        )
    browser = request.getfixturevalue("browser")  # in the cluster's network, not before it
    browser.set_window_size(1600, 1100)
    transport = HttpTransport(load_connection({"host": host}, os.environ))
    query = {"sort_by": "created_at asc"}
    first = transport.request("GET", "/runs", "object", query=query)["runs"][0]
    with interface(cluster, built, host) as url:
        look_at_runs(browser, url, first["display_name"])
        look_at_run(browser, url, first["run_id"])
