"""Every command of the client in turn, against the double and, where one is given, a real server.

KFP_ENDPOINT is its address (`make test-kubeflow`); what a login needs is given as to any command
(YT8M_KUBEFLOW_...). All is done in an experiment of its own, and removed at the end. No pod gets
far: the image is none.
"""

import contextlib
import json
import os
import uuid

import pytest
import yaml
from golden_specs import GOLDEN
from http_double import listening
from kfp_server import KfpServer
from two_users import check_two_users

from yt8m.cli.main import run
from yt8m.kubeflow.server.connection import load_connection
from yt8m.kubeflow.server.http import HttpTransport


@pytest.fixture(params=["the double", pytest.param("KFP_ENDPOINT", marks=pytest.mark.real)])
def host(request, monkeypatch):
    if request.param == "the double":
        with listening(KfpServer()) as host:
            yield host
    elif given := os.environ.get(request.param):
        yield given
    else:
        pytest.skip("KFP_ENDPOINT names no server: make test-kubeflow KFP_ENDPOINT=http://...")


@pytest.fixture
def yt8m(host, capsys, monkeypatch):
    """Runs a command line that ends well; gives its JSON."""
    monkeypatch.setenv("YT8M_KUBEFLOW_HOST", host)

    def call(*words, code=0):
        ended, said = ends(*words)
        assert ended == code, said
        return said

    def ends(*words):
        ended = run(["kubeflow", *words, "--json"])
        said = capsys.readouterr()
        return ended, json.loads(said.out) if said.out else said.err

    call.ends = ends
    return call


@pytest.fixture
def server(host):
    """Requests of its own to the same server."""
    transport = HttpTransport(load_connection({"host": host}, os.environ))
    return lambda method, path: transport.request(method, path, "object")


def _write_pipeline(file, name, **changes):
    spec, *platform = yaml.safe_load_all((GOLDEN / "smoke.yaml").read_text())
    spec["pipelineInfo"]["name"] = name
    file.write_text(yaml.safe_dump_all([spec | changes, *platform]))
    return file


def test_two_people_start_and_schedule_what_each_has_uploaded(yt8m, server, tmp_path):
    name = f"yt8m-test-{uuid.uuid4().hex[:8]}"
    mine = _write_pipeline(tmp_path / "mine.yaml", name)
    theirs = _write_pipeline(tmp_path / "theirs.yaml", name, defaultPipelineRoot="s3://bucket/b")
    with contextlib.ExitStack() as clean:
        clean.callback(_remove, yt8m, server, name)
        given = ("--param", "data_root=/nowhere", "--param", "push_dir=/nowhere/models")
        check_two_users(yt8m.ends, name, (mine, theirs), *given, "--experiment", name)


def _remove(yt8m, server, name):
    """A pipeline with its versions, and the experiment of its name."""
    for pipeline in yt8m("list", "pipelines")["pipelines"]:
        if pipeline["name"] == name:
            for version in yt8m("list", "versions", name)["versions"]:
                server("DELETE", f"/pipelines/{pipeline['id']}/versions/{version['id']}")
            server("DELETE", f"/pipelines/{pipeline['id']}")
    listed = server("GET", "/experiments?page_size=100").get("experiments", [])
    for experiment in listed:
        if experiment["display_name"] == name:
            server("DELETE", f"/experiments/{experiment['experiment_id']}")


def test_a_pipeline_is_uploaded_run_scheduled_and_removed(yt8m, server, tmp_path):
    name = f"yt8m-test-{uuid.uuid4().hex[:8]}"
    file = _write_pipeline(tmp_path / "pipeline.yaml", name)
    given = ("--param", "data_root=/nowhere", "--param", "push_dir=/nowhere/models")
    given += ("--experiment", name)
    with contextlib.ExitStack() as clean:
        made = yt8m("upload", str(file))
        pipeline, version = made["pipeline_id"], made["version_id"]
        clean.callback(server, "DELETE", f"/pipelines/{pipeline}")
        clean.callback(server, "DELETE", f"/pipelines/{pipeline}/versions/{version}")
        assert yt8m("upload", str(file))["new_version"] is False
        assert [v["name"] for v in yt8m("list", "versions", name)["versions"]] == [made["version"]]

        started = yt8m("run", name, *given)
        experiment = server("GET", f"/runs/{started['run_id']}")["experiment_id"]
        clean.callback(server, "DELETE", f"/experiments/{experiment}")
        clean.callback(server, "DELETE", f"/runs/{started['run_id']}")
        (listed,) = yt8m("list", "runs", "--experiment", name)["runs"]
        assert listed["id"] == started["run_id"]
        server("POST", f"/runs/{started['run_id']}:terminate")
        assert yt8m("wait", started["run_id"], code=1)["state"] in ("CANCELED", "FAILED")

        nightly = ("schedule", name, "--name", name, "--cron", "0 3 * * 1", "--disabled", *given)
        first = yt8m(*nightly)
        assert (first["change"], first["cron"]) == ("created", "0 0 3 * * 1")
        assert yt8m(*nightly)["change"] == "already there"
        (kept,) = yt8m("list", "schedules", "--experiment", name)["schedules"]
        assert kept["id"] == first["schedule_id"]
        removed = yt8m("unschedule", name, "--experiment", name)["removed"]
        assert removed == [first["schedule_id"]]
        assert yt8m("list", "schedules", "--experiment", name)["schedules"] == []
