"""The client against the double: every failure that a network and a server can produce."""

import http.server
import json
import re
import threading
from dataclasses import replace
from pathlib import Path

import kfp_server_api
import pytest
import yaml
from http_double import listening
from kfp_server import KfpServer
from kubeflow_facts import NEWEST, VERSIONS
from werkzeug import Request, Response

from yt8m.cli.kubeflow_upload import upload
from yt8m.kubeflow.server.client import KfpClient, Launch, Timing, connect
from yt8m.kubeflow.server.connection import Connection
from yt8m.kubeflow.server.http import (
    HttpTransport,
    RefusedError,
    RetryPolicy,
    ServerError,
    UnknownOutcomeError,
)
from yt8m.kubeflow.server.runs import (
    LaunchOptions,
    Polling,
    own_tasks,
    resolve,
    step_names,
    wait,
)
from yt8m.kubeflow.server.schedule import Change, schedule, unschedule
from yt8m.schemas.errors import UserError

GOLDEN = Path(__file__).parents[2] / "golden" / "kubeflow"
COMPILED = GOLDEN / "smoke.yaml"
RECORDED = json.loads((GOLDEN / "records" / "server_answers.json").read_text())
SPEC = {
    "pipelineInfo": {"name": "yt8m-test"},
    "schemaVersion": "2.1.0",
    "defaultPipelineRoot": "s3://bucket/root",
    "root": {
        "inputDefinitions": {
            "parameters": {
                "span": {"parameterType": "STRING", "defaultValue": ""},
                "threads": {"parameterType": "NUMBER_INTEGER", "defaultValue": 1.0},
            }
        }
    },
}
NIGHTLY = Timing(cron="0 0 3 * * *")
LAUNCH = Launch(
    name="n", pipeline_id="p", version_id="v", experiment_id="e", pipeline_root="s3://bucket/root"
)


@pytest.fixture
def server():
    """Nothing that passed through it may have broken the API's rules."""
    server = KfpServer()
    yield server
    assert server.violations == []


@pytest.fixture
def host(server):
    with listening(server) as address:
        yield address


@pytest.fixture
def client(host):
    return _client(host)


@pytest.fixture
def spec_file(tmp_path):
    file = tmp_path / "pipeline.yaml"
    file.write_text(yaml.safe_dump(SPEC))
    return str(file)


def _client(host, timeout_s=(2.0, 5.0), owner="anna", namespace="", **how):
    retry = RetryPolicy(sleep=lambda s: None, attempts=3)
    transport = HttpTransport(Connection(host=host, **how), timeout_s=timeout_s)
    return KfpClient(transport, namespace=namespace, owner=owner, retry=retry)


def _launch(client, spec_file, **how):
    upload(client, spec_file)
    wanted = {"pipeline": "yt8m-test", "name": "nightly", **how}
    return resolve(client, LaunchOptions(**wanted))


def test_the_same_content_twice_is_already_there(client, server, spec_file, tmp_path):
    first = upload(client, spec_file)
    assert (first.new_pipeline, first.new_version) == (True, True)
    # Comments and the order of keys do not make a new version.
    again = tmp_path / "again.yaml"
    again.write_text("# compiled later\n" + yaml.safe_dump(SPEC, sort_keys=False))
    second = upload(client, str(again))
    assert (second.new_pipeline, second.new_version) == (False, False)
    assert second.version == first.version
    assert len(server.versions) == 1


def test_changed_content_is_a_new_version_of_the_same_pipeline(client, server, spec_file, tmp_path):
    upload(client, spec_file)
    changed = tmp_path / "changed.yaml"
    changed.write_text(yaml.safe_dump({**SPEC, "defaultPipelineRoot": "s3://other"}))
    assert upload(client, str(changed)).new_version
    assert (len(server.pipelines), len(server.versions)) == (1, 2)


def test_both_documents_are_uploaded_and_count_for_the_version(client, server, tmp_path):
    file = tmp_path / "pipeline.yaml"
    names = set()
    for node in ("a", "b"):
        platform = {"platforms": {"kubernetes": {"deploymentSpec": {"node": node}}}}
        file.write_text(yaml.safe_dump_all([SPEC, platform]))
        names.add(upload(client, str(file)).version.name)
    assert len(names) == 2
    newest = list(server.versions.values())[-1]
    assert newest["pipeline_spec"]["platform_spec"] == platform


def test_a_dry_run_sends_nothing_that_changes(client, server, spec_file):
    done = upload(client, spec_file, dry_run=True)
    assert done.new_version
    assert not server.count("^(POST|DELETE)")


def test_lists_are_read_page_by_page(client, server):
    for i in range(5):  # the double gives two a page
        client.create_pipeline(f"p{i}", "")
    assert [p.name for p in client.pipelines()] == [f"p{i}" for i in range(5)]


@pytest.mark.parametrize(
    "how",
    [
        {"status": 502},
        {"status": 503, "headers": {"Retry-After": "1"}},
        {"status": 429},
        {},
        {"hang_s": 0.4},
    ],
)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after-commit"])
def test_a_create_takes_effect_exactly_once_whatever_happens_to_it(
    server, host, spec_file, how, after
):
    client = _client(host, timeout_s=(2.0, 0.2))
    server.fail("POST /pipelines$", after=after, **how)
    server.fail("POST /pipelines/upload_version", after=after, **how)
    server.fail("POST /experiments", after=after, **how)
    server.fail("POST /runs$", after=after, **how)
    server.fail("POST /recurringruns$", after=after, **how)
    if how.get("status") == 429:  # says that nothing was done, so it cannot come afterwards
        for fault in server.faults:
            fault.after = False
    launch = _launch(client, spec_file)
    run = client.start_run(launch)
    made = client.create_schedule(launch, NIGHTLY, enabled=True)
    stores = (server.pipelines, server.versions, server.experiments, server.runs, server.schedules)
    assert [len(store) for store in stores] == [1, 1, 1, 1, 1]
    assert run.id in server.runs
    assert made.id in server.schedules


def test_a_create_is_not_repeated_after_a_500_which_may_have_left_objects(
    client, server, spec_file
):
    launch = _launch(client, spec_file)
    server.fail("POST /runs$", status=500, times=9)
    server.fail("POST /recurringruns$", status=500, times=9)
    with pytest.raises(ServerError, match="500"):
        client.start_run(launch)
    with pytest.raises(ServerError, match="500"):
        client.create_schedule(launch, NIGHTLY, enabled=True)
    assert server.count("POST /runs$") == server.count("POST /recurringruns$") == 1
    server.faults.clear()
    server.fail("POST /runs$", status=500, after=True)
    assert client.start_run(launch).id in server.runs


@pytest.mark.parametrize("version", VERSIONS)
def test_a_name_that_the_server_cannot_keep_is_refused_before_anything_is_sent(version, spec_file):
    """The real servers answer 500 to each of these, two of them after a Workflow was made."""
    limits = VERSIONS[NEWEST].longest_name  # the shortest columns of all
    assert all(VERSIONS[version].longest_name[what] >= n for what, n in limits.items())
    server = KfpServer(version=version)
    with listening(server) as host:
        client = _client(host)
        launch = _launch(client, spec_file)
        before = len(server.requests)
        for what, call in {
            "pipeline": lambda name: client.create_pipeline(name, ""),
            "experiment": lambda name: _launch(client, spec_file, experiment=name),
            "version": lambda name: client.upload_version(launch.pipeline_id, name, spec_file),
            "run": lambda name: client.start_run(replace(launch, name=name)),
            "schedule": lambda name: client.create_schedule(
                replace(launch, name=name), NIGHTLY, enabled=True
            ),
        }.items():
            with pytest.raises(UserError, match=rf"{what}'s name has {limits[what] + 1} char"):
                call("n" * (limits[what] + 1))
            call("n" * limits[what])
        sent = server.requests[before:]
    assert len([r for r in sent if r.startswith("POST")]) == 5
    assert len(server.workflows) == 2


def test_the_limits_are_those_that_the_real_servers_have():
    for version, answers in RECORDED["names_too_long"].items():
        for seen in answers.values():
            assert seen["status"] == 500
            assert seen["length"] > max(VERSIONS[version].longest_name.values())


def test_an_unsure_create_is_looked_for_before_it_is_sent_again(client, server, spec_file):
    launch = _launch(client, spec_file)
    server.fail("POST /runs$", after=True)
    client.start_run(launch)
    assert server.count("POST /runs$") == 1


def test_a_create_that_cannot_be_looked_for_is_not_called_a_failure(client, server, spec_file):
    """Whoever takes it for one starts a second run."""
    launch = _launch(client, spec_file)
    server.fail("POST /runs$", after=True)
    server.fail("GET /runs$", status=503, times=99)
    with pytest.raises(UnknownOutcomeError, match=r"POST .*GET .*503.*yt8m kubeflow list") as error:
        client.start_run(launch)
    assert error.value.exit_code == 5
    assert (len(server.runs), server.count("POST /runs$")) == (1, 1)


def test_a_name_that_is_taken_is_refused_not_retried(client, server):
    server.fail("POST /pipelines$", status=409)
    with pytest.raises(RefusedError, match="409"):
        client.create_pipeline("p", "")
    assert server.count("POST /pipelines$") == 1


def test_what_somebody_else_makes_at_the_same_moment_is_taken(client, server, spec_file):
    """Two jobs of CI upload one commit, or two people start the first runs of an experiment."""
    server.fail("POST /", status=409, after=True, times=3)
    pipeline = client.create_pipeline("p", "")
    version = client.upload_version(pipeline.id, "v", spec_file)
    assert pipeline.id in server.pipelines
    assert version.id in server.versions
    assert client.experiment_id("e", create=True) in server.experiments
    assert server.count("POST /") == 3


def test_reading_is_repeated_and_gives_up_with_the_servers_words(client, server):
    server.fail("GET /pipelines", status=500, times=2)
    assert client.pipelines() == []
    server.fail("GET /pipelines", status=500, times=99)
    with pytest.raises(ServerError, match=r"GET .*500 fault 500"):
        client.pipelines()
    assert server.count("GET /pipelines") == 6


def test_the_wait_honours_what_the_server_asks_for(server, host):
    waits = []
    retry = RetryPolicy(sleep=waits.append, attempts=2)
    server.fail("GET", status=429, headers={"Retry-After": "7"})
    KfpClient(HttpTransport(Connection(host=host)), retry=retry).pipelines()
    assert waits == [7.0]


def test_a_deletion_whose_answer_was_lost_is_a_deletion(client, server, spec_file):
    made = client.create_schedule(_launch(client, spec_file), NIGHTLY, enabled=True)
    server.fail("DELETE", after=True)
    client.delete_schedule(made.id)
    assert server.schedules == {}


def test_nobody_listening_is_explained():
    with pytest.raises(ServerError, match="is the server up"):
        _client("http://127.0.0.1:9").pipelines()


class _LoginPage(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html>log in</html>")

    def log_message(self, *args):
        pass


class _AnyJson(_LoginPage):
    """Another program, that answers everything with an object."""

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"status": "ok"}')

    def do_POST(self):
        self.do_GET()


@pytest.mark.parametrize(
    ("page", "ask"),
    [
        (_LoginPage, lambda client: client.pipelines()),
        (_AnyJson, lambda client: client.create_pipeline("p", "")),
        (_AnyJson, lambda client: client.upload_version("p", "v", str(COMPILED))),
        (_AnyJson, lambda client: client.version("p", "v")),
        (_AnyJson, lambda client: client.experiment_id("e", create=True)),
        (_AnyJson, lambda client: client.start_run(LAUNCH)),
        (_AnyJson, lambda client: client.run("r")),
        (_AnyJson, lambda client: client.create_schedule(LAUNCH, NIGHTLY, enabled=True)),
    ],
)
def test_something_else_listening_is_explained(page, ask):
    other = http.server.HTTPServer(("127.0.0.1", 0), page)
    thread = threading.Thread(target=other.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        with pytest.raises(UserError, match=r"not that of Kubeflow Pipelines v2.*--host"):
            ask(_client(f"http://127.0.0.1:{other.server_address[1]}"))
    finally:
        other.shutdown()
        other.server_close()
        thread.join()


@pytest.mark.parametrize(
    ("text", "ask"),
    [
        ("", lambda client: client.pipelines()),
        ("", lambda client: client.check_namespace()),
        ('{"status": "ok"}', lambda client: client.schedules("")),
        ('{"runs": 3}', lambda client: client.runs("", limit=5)),
        ('{"runs": [{}]}', lambda client: client.runs("", limit=5)),
        ('{"pipelines": "none"}', lambda client: client.pipelines()),
        ('{"experiments": [null]}', lambda client: client.experiment_id("e", create=False)),
        ('{"run_id": "r", "created_at": "yesterday"}', lambda client: client.run("r")),
    ],
)
def test_json_of_another_kind_is_not_taken_for_the_servers(text, ask):
    page = Response(text, mimetype="application/json")
    with (
        listening(Request.application(lambda request: page)) as host,
        pytest.raises(UserError, match=r"not that of Kubeflow Pipelines v2.*--host"),
    ):
        ask(KfpClient(HttpTransport(Connection(host=host)), namespace="team-a"))


def test_a_server_that_has_nothing_to_list_answers_an_empty_object():
    page = Response("{}", mimetype="application/json")
    with listening(Request.application(lambda request: page)) as host:
        assert _client(host).runs("", limit=5) == []


@pytest.mark.parametrize("how", [{"token": "t0ken"}, {"cookie": "session=t0ken"}])
def test_login_by_token_and_by_cookie_and_the_secret_is_in_no_message(server, host, how):
    server.token, server.cookie = how.get("token", ""), how.get("cookie", "")
    assert _client(host, **how).pipelines() == []
    with pytest.raises(UserError, match="requires a login") as error:
        _client(host, **{k: v + "x" for k, v in how.items()}).pipelines()
    assert "t0ken" not in str(error.value)


def test_a_renewed_token_is_used_at_once(server, host, tmp_path):
    file = tmp_path / "token"
    file.write_text("one")
    client = _client(host, token_file=str(file), service_account=True)
    for token in ("one", "two"):
        server.token = token
        file.write_text(token)
        client.pipelines()


def test_the_servers_stack_is_not_shown(client):
    with pytest.raises(RefusedError) as error:
        client.run("nobody")
    assert re.search("404 .*nobody not found$", str(error.value))


def test_parameters_are_checked_before_anything_is_sent(client, server, spec_file):
    for parameter, says in (
        ("spam=1", "did you mean span"),
        ("threads=two", "whole number"),
        ("span", "name=value"),
    ):
        with pytest.raises(UserError, match=says):
            _launch(client, spec_file, parameters=[parameter])
    launch = _launch(client, spec_file, parameters=["span=3", "threads=4"])
    assert launch.parameters == {"span": "3", "threads": 4}
    assert launch.pipeline_root == "s3://bucket/root"
    assert server.runs == {}


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ([], "--param data_root"),
        (["data_root=/d"], "--param push_dir"),
        (["data_root=/d", "push_dir="], "--param push_dir"),
        (
            ["data_root=/d", "push_dir=/p", "gap_threshold=0,8"],
            "gap_threshold=0,8: must be a number",
        ),
        (["data_root=/d", "push_dir=/p", "gap_threshold=8"], "between 0 and 1"),
        (["data_root=/d", "push_dir=/p", "gap_change_threshold=x"], "gap_change_threshold=x: must"),
        (["data_root=/d", "push_dir=/p", "gap_change_threshold=-1"], "every model passes"),
    ],
)
def test_what_would_fail_hours_later_is_refused_before_the_start(
    client, tmp_path, parameters, says
):
    inputs: dict[str, object] = {
        name: {"parameterType": "STRING", "defaultValue": ""} for name in ("data_root", "push_dir")
    }
    for name, default in {"gap_threshold": 0.5, "gap_change_threshold": -0.01}.items():
        inputs[name] = {"parameterType": "NUMBER_DOUBLE", "defaultValue": default}
    file = tmp_path / "pipeline.yaml"
    file.write_text(yaml.safe_dump({**SPEC, "root": {"inputDefinitions": {"parameters": inputs}}}))
    upload(client, str(file))
    with pytest.raises(UserError, match=re.escape(says)):
        resolve(client, LaunchOptions(pipeline="yt8m-test", name="x", parameters=parameters))


def test_what_is_not_there_is_named_with_what_is(client, spec_file):
    upload(client, spec_file)
    with pytest.raises(UserError, match=r"no pipeline 'other' .*yt8m-test"):
        resolve(client, LaunchOptions(pipeline="other", name="x"))
    with pytest.raises(UserError, match="no version 'v9'"):
        resolve(client, LaunchOptions(pipeline="yt8m-test", name="x", version="v9"))


def test_a_run_without_a_root_is_refused(client, tmp_path):
    file = tmp_path / "pipeline.yaml"
    file.write_text(yaml.safe_dump({k: v for k, v in SPEC.items() if k != "defaultPipelineRoot"}))
    upload(client, str(file))
    with pytest.raises(UserError, match="--root s3://"):
        resolve(client, LaunchOptions(pipeline="yt8m-test", name="x"))


def test_a_schedule_is_made_once_replaced_never_doubled_and_switched(client, server, spec_file):
    launch = _launch(client, spec_file)
    later = Timing(cron="0 0 4 * * *")
    steps = [
        (NIGHTLY, True, Change.CREATED),
        (NIGHTLY, True, Change.NONE),
        (NIGHTLY, False, Change.DISABLED),
        (NIGHTLY, True, Change.ENABLED),
        (later, True, Change.REPLACED),
        (Timing(cron="0 0 4 * * *", no_catchup=False), False, Change.REPLACED),
    ]
    for timing, enabled, change in steps:
        done = schedule(client, launch, timing, enabled=enabled)
        assert done.change is change
        (only,) = server.schedules.values()
        assert only["recurring_run_id"] == done.schedule.id
        assert only["status"] == ("ENABLED" if enabled else "DISABLED")
        assert only["trigger"]["cron_schedule"]["cron"] == timing.cron
        assert only["no_catchup"] is timing.no_catchup


@pytest.mark.parametrize("enabled", [True, False])
def test_a_schedule_without_a_status_is_judged_by_its_mode(client, server, spec_file, enabled):
    """The specification requires neither of a server's answer."""
    launch = _launch(client, spec_file)
    schedule(client, launch, NIGHTLY, enabled=enabled)
    (only,) = server.schedules.values()
    del only["status"]
    assert schedule(client, launch, NIGHTLY, enabled=enabled).change is Change.NONE


def test_two_schedules_of_one_name_are_made_one(client, server, spec_file):
    launch = _launch(client, spec_file)
    for _ in range(3):
        client.create_schedule(launch, NIGHTLY, enabled=True)
    assert schedule(client, launch, NIGHTLY, enabled=True).change is Change.REPLACED
    assert len(server.schedules) == 1


@pytest.mark.parametrize("broken", ["POST /recurringruns$", "DELETE", "POST .*:enable"])
def test_an_interrupted_replacement_never_leaves_two_running_and_is_repaired(
    client, server, spec_file, broken
):
    launch = _launch(client, spec_file)
    schedule(client, launch, NIGHTLY, enabled=True)
    server.fail(broken, status=500, times=99)
    later = Timing(cron="0 0 4 * * *")
    with pytest.raises(ServerError):
        schedule(client, launch, later, enabled=True)
    running = [s for s in server.schedules.values() if s["status"] == "ENABLED"]
    assert len(running) <= 1
    server.faults.clear()
    schedule(client, launch, later, enabled=True)
    (only,) = server.schedules.values()
    assert (only["status"], only["trigger"]["cron_schedule"]["cron"]) == ("ENABLED", later.cron)


def test_other_schedules_of_the_experiment_are_left_alone(client, server, spec_file):
    launch = _launch(client, spec_file)
    other = _launch(client, spec_file, name="weekly")
    schedule(client, launch, NIGHTLY, enabled=True)
    schedule(client, other, NIGHTLY, enabled=True)
    gone = unschedule(client, launch.experiment_id, "nightly")
    assert len(gone) == 1
    assert [s["display_name"] for s in server.schedules.values()] == ["weekly"]
    assert unschedule(client, launch.experiment_id, "nightly") == ()


def _others(client, host, spec_file, tmp_path, *, owner, pipeline, name="nightly"):
    """A schedule that another command made."""
    file = tmp_path / f"{pipeline}.yaml"
    file.write_text(yaml.safe_dump({**SPEC, "pipelineInfo": {"name": pipeline}}))
    theirs = _client(host, owner=owner)
    upload(theirs, str(file))
    launch = resolve(theirs, LaunchOptions(pipeline=pipeline, name=name))
    return theirs.create_schedule(launch, NIGHTLY, enabled=True)


@pytest.mark.parametrize(
    ("owner", "pipeline", "is_own"),
    [
        ("anna", "yt8m-test", True),
        ("bert", "yt8m-test", False),
        ("anna", "video-x", False),
        ("bert", "video-x", False),
        ("", "yt8m-test", False),  # made in the user interface, or by another program
    ],
)
def test_only_ones_own_schedule_of_the_same_pipeline_is_replaced(
    client, server, host, spec_file, tmp_path, owner, pipeline, is_own
):
    theirs = _others(client, host, spec_file, tmp_path, owner=owner, pipeline=pipeline)
    launch = _launch(client, spec_file)
    later = Timing(cron="0 0 4 * * *")
    before = json.dumps(server.schedules)
    for dry_run in (True, False):
        if is_own:
            assert schedule(client, launch, later, enabled=True, dry_run=dry_run).removed
            continue
        with pytest.raises(UserError) as caught:
            schedule(client, launch, later, enabled=True, dry_run=dry_run)
        said = f"pipeline {pipeline}, made by {owner or 'another client'} (id {theirs.id})"
        assert said in str(caught.value)
        assert json.dumps(server.schedules) == before
    if owner != "anna":
        with pytest.raises(UserError, match=theirs.id):
            unschedule(client, launch.experiment_id, "nightly")
        assert json.dumps(server.schedules) == before
        unschedule(client, launch.experiment_id, theirs.id)
        assert server.schedules == {}


def test_two_people_have_schedules_of_one_name_after_a_race_and_each_changes_ones_own(
    client, server, host, spec_file, tmp_path
):
    launch = _launch(client, spec_file)
    schedule(client, launch, NIGHTLY, enabled=True)
    theirs = _others(client, host, spec_file, tmp_path, owner="bert", pipeline="yt8m-test")
    assert schedule(client, launch, Timing(cron="0 0 5 * * *"), enabled=True).change
    assert theirs.id in server.schedules
    assert len(server.schedules) == 2
    unschedule(client, launch.experiment_id, "nightly")
    assert list(server.schedules) == [theirs.id]


def test_a_description_of_another_client_names_no_owner(client, server, spec_file):
    launch = _launch(client, spec_file)
    made = client.create_schedule(launch, NIGHTLY, enabled=True)
    for text, owner in (
        ("", ""),
        ("by yt8m owner anna", ""),
        ("yt8m owner ", ""),
        ("yt8m request 1\nyt8m owner Anna B.", "Anna B."),
        (None, ""),
    ):
        server.schedules[made.id]["description"] = text
        if text is None:
            del server.schedules[made.id]["description"]
        assert [s.owner for s in client.schedules(launch.experiment_id)] == [owner]


def test_pipelines_that_all_share_are_run_and_not_uploaded_to(server, host, spec_file):
    shared = _client(host, owner="admin")
    upload(shared, spec_file)
    team = _client(host, namespace="team-a")
    launch = resolve(team, LaunchOptions(pipeline="yt8m-test", name="first"))
    (pipeline,) = server.pipelines
    assert (launch.pipeline_id, launch.version_owner) == (pipeline, "admin")
    assert upload(team, spec_file).new_pipeline  # of the namespace, which now goes first
    launch = resolve(team, LaunchOptions(pipeline="yt8m-test", name="first"))
    assert (launch.pipeline_id, launch.version_owner) == (list(server.pipelines)[1], "anna")
    assert [p.namespace for p in team.pipelines()] == ["team-a", ""]
    server.fail("GET /pipelines$", status=403, times=9)
    with pytest.raises(RefusedError):
        team.pipelines()


def test_a_wrong_concurrency_is_refused_here(client, server, spec_file):
    launch = _launch(client, spec_file)
    with pytest.raises(UserError, match="1 to 10"):
        schedule(client, launch, Timing(cron="0 0 3 * * *", max_concurrency=11), enabled=True)
    assert not server.count("POST /recurringruns")


def test_waiting_tells_each_change_once_and_names_the_failed_pod(client, server, spec_file):
    run = client.start_run(_launch(client, spec_file))
    course = [
        ("RUNNING", {"ExampleGen": "RUNNING", "ExampleGen-driver": "SUCCEEDED"}),
        ("RUNNING", {"ExampleGen": "RUNNING"}),
        ("FAILED", {"ExampleGen": "SUCCEEDED", "Trainer": "FAILED"}),
    ]

    def move(_seconds):
        server.set_state(run.id, *course.pop(0), explained=True)

    said = []
    done = wait(client, run.id, say=said.append, polling=Polling(sleep=move))
    assert done.state == "FAILED"
    assert said == [
        "ExampleGen: RUNNING",
        "ExampleGen: SUCCEEDED",
        "Trainer: FAILED: exit code 1 (pod trainer-pod)",
    ]


@pytest.mark.parametrize(("looks", "last"), [(2, "SUCCEEDED"), (99, "RUNNING")])
def test_a_step_that_still_runs_when_its_run_is_over_is_asked_for_half_a_minute(
    client, server, spec_file, looks, last
):
    run = client.start_run(_launch(client, spec_file))
    server.set_state(run.id, "SUCCEEDED", {"Pusher": "RUNNING"})
    seconds = 0.0

    def sleep(each):
        nonlocal seconds, looks
        seconds, looks = seconds + each, looks - 1
        if not looks:
            server.set_state(run.id, "SUCCEEDED", {"Pusher": "SUCCEEDED"})

    said = []
    polling = Polling(timeout_s=5, sleep=sleep, clock=lambda: 1 + seconds)
    assert wait(client, run.id, say=said.append, polling=polling).state == "SUCCEEDED"
    assert said[-1] == f"Pusher: {last}"
    assert seconds <= 30


def _recorded(client, server, spec_file, name):
    """A run as a real server told of it."""
    run = client.start_run(_launch(client, spec_file))
    server.runs[run.id] = {**RECORDED["runs"][name], "run_id": run.id}
    return client.run(run.id)


def test_a_pending_run_has_not_finished_in_1970(client, server, spec_file):
    assert _recorded(client, server, spec_file, "pending").finished is None
    running = _recorded(client, server, spec_file, "running")
    assert running.finished is None
    assert [t.finished for t in running.tasks if t.state == "RUNNING"] == [None]


def test_the_workflow_itself_is_no_step_and_an_id_of_a_node_no_pod(client, server, spec_file):
    running = _recorded(client, server, spec_file, "running")
    assert [(t.name, t.pod) for t in own_tasks(running)] == [("examplegen", "")]
    assert own_tasks(_recorded(client, server, spec_file, "failed")) == []


def test_waiting_outlasts_a_server_that_is_away_for_minutes(client, server, spec_file):
    run = client.start_run(_launch(client, spec_file))
    server.fail("GET /runs", times=30)  # 3 attempts each: away for 10 looks
    seconds = 0.0

    def sleep(each):
        nonlocal seconds
        seconds += each
        if all(fault.times == 0 for fault in server.faults):
            server.set_state(run.id, "SUCCEEDED")

    said = []
    polling = Polling(every_s=30, sleep=sleep, clock=lambda: seconds)
    assert wait(client, run.id, say=said.append, polling=polling).state == "SUCCEEDED"
    assert len(said) == 1
    assert "asking again for 10 min" in said[0]


@pytest.mark.parametrize(("patience_s", "said"), [(0, []), (20, ["20 s"]), (90, ["2 min"])])
def test_it_is_said_for_how_long_a_server_that_is_away_is_asked(client, server, patience_s, said):
    server.fail("GET /runs", times=999)
    clock = iter(range(0, 10_000, 60))
    polling = Polling(patience_s=patience_s, sleep=lambda s: None, clock=lambda: float(next(clock)))
    heard = []
    with pytest.raises(UnknownOutcomeError):
        wait(client, "r", say=heard.append, polling=polling)
    assert [text.rpartition("asking again for ")[2] for text in heard] == said


def test_a_server_that_stays_away_leaves_the_outcome_unknown_which_is_no_failure(
    client, server, spec_file
):
    run = client.start_run(_launch(client, spec_file))
    server.fail("GET /runs", times=999)
    clock = iter(range(0, 10_000, 60))
    polling = Polling(sleep=lambda s: None, clock=lambda: float(next(clock)))
    with pytest.raises(UnknownOutcomeError, match=f"yt8m kubeflow wait {run.id}") as error:
        wait(client, run.id, say=lambda text: None, polling=polling)
    assert error.value.exit_code == 5


@pytest.mark.parametrize("limit", [{"patience_s": 60}, {"timeout_s": 60}])
def test_of_a_run_that_was_never_shown_it_is_not_said_that_it_goes_on(client, server, limit):
    server.fail("GET /runs", times=999)
    clock = iter(range(0, 10_000, 60))
    polling = Polling(sleep=lambda s: None, clock=lambda: float(next(clock)), **limit)
    with pytest.raises(UnknownOutcomeError, match="has not shown such a run") as error:
        wait(client, "mistyped", say=lambda text: None, polling=polling)
    assert "goes on" not in str(error.value)


@pytest.mark.parametrize("state", ["PAUSED", "RUNTIME_STATE_UNSPECIFIED"])
def test_a_run_that_neither_runs_nor_is_over_is_waited_for_with_a_word(
    client, server, spec_file, state
):
    run = client.start_run(_launch(client, spec_file))
    server.runs[run.id]["state"] = state
    looks = iter([state, "RUNNING", "SUCCEEDED"])
    said = []
    polling = Polling(sleep=lambda s: server.runs[run.id].update(state=next(looks)))
    wait(client, run.id, say=said.append, polling=polling)
    assert said == [
        f"run {run.id}: {state}; waiting until it is SUCCEEDED or FAILED or CANCELED or SKIPPED"
    ]


def test_a_login_that_runs_out_while_waiting_leaves_the_outcome_unknown(client, server, spec_file):
    run = client.start_run(_launch(client, spec_file))

    def sleep(each):
        server.token = "another"

    with pytest.raises(UnknownOutcomeError, match=f"login.*yt8m kubeflow wait {run.id}"):
        wait(client, run.id, say=lambda text: None, polling=Polling(sleep=sleep))
    with pytest.raises(RefusedError, match="login"):  # from the beginning: a mistake
        wait(client, run.id, say=lambda text: None, polling=Polling())


def test_a_run_that_is_deleted_while_it_is_waited_for_is_gone(client, server, spec_file):
    run = client.start_run(_launch(client, spec_file))
    polling = Polling(sleep=lambda each: server.runs.clear())
    with pytest.raises(RefusedError, match="404"):
        wait(client, run.id, say=lambda text: None, polling=polling)


def test_the_end_of_a_run_counts_whatever_the_server_says_of_its_version(client, server, spec_file):
    run = client.start_run(_launch(client, spec_file))
    server.set_state(run.id, "SUCCEEDED", {"Trainer": "SUCCEEDED"})
    server.fail("GET /pipelines/.*/versions", status=503, times=99)
    said = []
    done = wait(client, run.id, say=said.append, polling=Polling())
    assert (done.state, said) == ("SUCCEEDED", ["Trainer: SUCCEEDED"])
    assert [task.name for task in own_tasks(done, step_names(client, done))] == ["Trainer"]


def test_a_namespace_is_refused_where_it_would_be_ignored(server, host):
    server.multi_user = False
    connection = Connection(host=host, namespace="team")
    with pytest.raises(UserError, match=r"--namespace team: .*single-user"):
        connect(connection)
    server.multi_user = True
    assert connect(connection).pipelines() == []


def test_a_file_may_have_any_name(client, server, spec_file, tmp_path):
    odd = tmp_path / "compiled"
    odd.write_text(Path(spec_file).read_text())
    assert upload(client, str(odd)).new_version


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("<!DOCTYPE html>\n<html><title>Not Found\n</title></html>", "404 Not Found; is --host"),
        ("default backend - 404", "404 default backend - 404; is --host"),
    ],
)
def test_the_page_of_another_program_leads_to_the_address(body, said):
    page = Response(body, 404)
    with (
        listening(Request.application(lambda request: page)) as host,
        pytest.raises(RefusedError, match=re.escape(said)),
    ):
        _client(host).pipelines()


def test_an_answer_of_the_server_itself_does_not_doubt_its_address(client):
    with pytest.raises(RefusedError) as error:
        client.run("ghost")
    assert "--host" not in str(error.value)


def test_a_certificate_that_nobody_knows_leads_to_the_flag(server):
    with listening(server, tls="adhoc") as host, pytest.raises(RefusedError, match="--ca-file"):
        _client(host).pipelines()


def test_what_the_generated_client_calls_no_status_is_a_certificate_too():
    error = kfp_server_api.ApiException(status=0, reason="certificate verify failed")
    transport = HttpTransport(Connection(host="https://there"))
    explained = transport._explain(error, "GET", "/runs")
    assert isinstance(explained, RefusedError)
    assert "--ca-file" in str(explained)


def test_of_many_pipelines_the_nearest_are_named(client, spec_file):
    for i in range(30):
        client.create_pipeline(f"pipeline-{i}", "")
    client.create_pipeline("smoke", "")
    with pytest.raises(UserError, match=r"there: smoke and 30 others"):
        resolve(client, LaunchOptions(pipeline="smoek", name="x"))


@pytest.mark.parametrize("root", ["gs2://x", "/mnt/x", "s3://", "s3:///x"])
def test_a_root_that_no_launcher_writes_to_is_refused(client, server, spec_file, root):
    with pytest.raises(UserError, match=f"--root {root}"):
        _launch(client, spec_file, root=root)
    assert server.experiments == {}


def test_what_was_compiled_in_need_not_be_given_again(client, tmp_path):
    """The documented path: `compile --set data.root=... --set pusher.push_dir=...`, then `run`."""
    spec = yaml.safe_load(COMPILED.read_text())
    for parameter in ("data_root", "push_dir"):
        spec["root"]["inputDefinitions"]["parameters"][parameter]["defaultValue"] = "/mnt/yt8m"
    file = tmp_path / "pipeline.yaml"
    file.write_text(yaml.safe_dump(spec))
    upload(client, str(file))
    launch = resolve(client, LaunchOptions(pipeline="smoke", name="x", parameters=["span=1"]))
    assert launch.parameters == {"span": "1"}
    upload(client, str(COMPILED))
    with pytest.raises(UserError, match="--param data_root"):
        resolve(client, LaunchOptions(pipeline="smoke", name="x", parameters=["span=1"]))


def test_waiting_gives_up_in_time_and_says_how_to_go_on(client, spec_file):
    run = client.start_run(_launch(client, spec_file))
    clock = iter(range(0, 1000, 10))
    polling = Polling(timeout_s=25, sleep=lambda s: None, clock=lambda: float(next(clock)))
    with pytest.raises(UnknownOutcomeError, match=f"yt8m kubeflow wait {run.id}"):
        wait(client, run.id, say=print, polling=polling)


def test_a_launch_is_sent_as_it_was_asked_for(client, server, spec_file):
    launch = _launch(client, spec_file, parameters=["span=9"], service_account="trainer")
    assert isinstance(launch, Launch)
    sent = server.runs[client.start_run(launch).id]
    assert sent["runtime_config"] == {
        "parameters": {"span": "9"},
        "pipeline_root": "s3://bucket/root",
    }
    assert sent["service_account"] == "trainer"
    assert sent["pipeline_version_reference"]["pipeline_version_id"] == launch.version_id
