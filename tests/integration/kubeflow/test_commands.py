"""`yt8m kubeflow ...` as a person types it, against the double."""

import json
import uuid

import pytest
import yaml
from http_double import listening
from kfp_server import KfpServer

from yt8m.cli.main import run
from yt8m.schemas.errors import EXIT_UNKNOWN, EXIT_USER

SPEC = {
    "pipelineInfo": {"name": "yt8m-test"},
    "schemaVersion": "2.1.0",
    "defaultPipelineRoot": "s3://bucket/root",
    "root": {
        "inputDefinitions": {
            "parameters": {"span": {"parameterType": "STRING", "defaultValue": ""}}
        }
    },
}


@pytest.fixture
def server():
    server = KfpServer()
    server.token = "s3cret"
    with listening(server) as host:
        server.host = host
        yield server
    assert server.violations == []


@pytest.fixture
def yt8m(server, capsys, monkeypatch, tmp_path):
    """Runs a command line; gives its exit code and its JSON."""
    token = tmp_path / "token"
    token.write_text("s3cret")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("YT8M_KUBEFLOW_HOST", server.host)
    monkeypatch.setenv("YT8M_KUBEFLOW_TOKEN_FILE", str(token))

    def call(*words):
        code = run(["kubeflow", *words, "--json"])
        said = capsys.readouterr()
        assert "s3cret" not in said.out + said.err
        return code, json.loads(said.out) if said.out else said.err

    return call


@pytest.fixture
def spec_file(tmp_path):
    file = tmp_path / "pipeline.yaml"
    file.write_text(yaml.safe_dump(SPEC))
    return str(file)


def test_from_a_compiled_file_to_a_nightly_run(yt8m, server, spec_file):
    assert yt8m("upload", spec_file, "--dry-run")[1]["new_version"] is True
    assert server.pipelines == {}
    _, first = yt8m("upload", spec_file)
    assert first["link"].startswith(f"{server.host}/#/pipelines/details/{first['pipeline_id']}")
    assert yt8m("upload", spec_file)[1]["new_version"] is False

    nightly = ("schedule", "yt8m-test", "--cron", "0 3 * * *", "--name", "nightly")
    assert yt8m(*nightly, "--dry-run")[1]["change"] == "created"
    assert server.schedules == {}
    _, made = yt8m(*nightly, "--param", "span=last:7")
    assert (made["change"], made["cron"]) == ("created", "0 0 3 * * *")
    assert len(made["next"]) == 3
    assert yt8m(*nightly, "--param", "span=last:7")[1]["change"] == "already there"
    (only,) = server.schedules.values()
    assert only["no_catchup"] is True
    _, listed = yt8m("list", "schedules")
    assert listed["schedules"][0]["name"] == "nightly"
    # Another experiment, one that there is not, has no schedule of that name.
    assert yt8m("unschedule", "nightly", "--experiment", "ghost")[1]["removed"] == []
    assert "ghost" not in str(server.experiments)
    assert len(server.schedules) == 1
    assert yt8m("unschedule", "nightly", "--dry-run")[1]["removed"] == [made["schedule_id"]]
    assert yt8m("unschedule", "nightly")[1]["removed"] == [made["schedule_id"]]
    assert yt8m("unschedule", "nightly")[1]["removed"] == []


def test_a_run_is_started_listed_and_its_end_is_the_exit_code(yt8m, server, spec_file):
    yt8m("upload", spec_file)
    assert yt8m("run", "yt8m-test", "--dry-run")[1]["dry_run"] is True
    assert server.runs == {}
    _, started = yt8m("run", "yt8m-test", "--param", "span=3", "--run-as", "trainer")
    run_id = started["run_id"]
    assert server.runs[run_id]["service_account"] == "trainer"
    assert yt8m("list", "runs")[1]["runs"][0]["id"] == run_id
    assert yt8m("list", "runs")[1]["runs"][0]["archived"] is False
    assert yt8m("list", "runs")[1]["runs"][0]["created"].endswith("+00:00")
    yt8m("archive", run_id)
    assert yt8m("list", "runs")[1]["runs"][0]["archived"] is True
    server.set_state(run_id, "SUCCEEDED", {"Trainer": "SUCCEEDED"})
    code, done = yt8m("wait", run_id)
    assert (code, done["tasks"][0]["name"]) == (0, "Trainer")
    server.set_state(run_id, "FAILED", {"Trainer": "FAILED"}, explained=True)
    code, done = yt8m("wait", run_id)
    assert (code, done["state"], done["tasks"][0]["pod"]) == (1, "FAILED", "trainer-pod")


def test_a_failure_of_which_the_server_keeps_no_text_leads_to_where_it_is(
    yt8m, server, spec_file, capsys
):
    """2.17.0's answer has none; the pods of a run carry its id as a label."""
    yt8m("upload", spec_file)
    run_id = yt8m("run", "yt8m-test", "--param", "span=3")[1]["run_id"]
    server.set_state(run_id, "FAILED", {"Trainer": "FAILED"})
    assert run(["kubeflow", "wait", run_id]) == 1
    assert f"yt8m kubeflow logs {run_id}" in capsys.readouterr().out


STEPS = ("ExampleGen", "Trainer", "Pusher")


def _stock_details(server, run_id, states):
    """As KFP 2.17.0 with its own Argo configuration: each node, and each attempt at it."""
    workflow = "smoke-x7"
    rows = [("root", "RUNNING"), ("root(0)", "RUNNING"), (workflow, "RUNNING")]
    for step, attempts in states.items():
        rows.append((step, attempts[-1]))
        rows += [(f"{step}({number})", state) for number, state in enumerate(attempts)]
        for machine in (f"{step}-driver", "executor"):
            rows += [(machine, "SUCCEEDED"), (f"{machine}(0)", "SUCCEEDED")]
        rows.append((str(uuid.uuid4()), "PENDING"))
    details = [
        {
            "run_id": run_id,
            "task_id": str(uuid.uuid4()),
            "display_name": name,
            "state": state,
            "start_time": server.now(),
            "child_tasks": [{"pod_name": f"{workflow}-{number}"}],
        }
        for number, (name, state) in enumerate(rows)
    ]
    server.runs[run_id]["run_details"] = {"task_details": details}


@pytest.mark.parametrize("is_version_there", [True, False])
def test_each_step_is_a_row_of_its_true_state_whatever_nodes_the_server_lists(
    yt8m, server, tmp_path, is_version_there
):
    file = tmp_path / "steps.yaml"
    dag = {"dag": {"tasks": {step: {} for step in STEPS}}}
    file.write_text(yaml.safe_dump({**SPEC, "root": {**SPEC["root"], **dag}}))
    yt8m("upload", str(file))
    run_id = yt8m("run", "yt8m-test")[1]["run_id"]
    states = {"ExampleGen": ["SUCCEEDED"], "Trainer": ["FAILED", "RUNNING"]}
    _stock_details(server, run_id, states)
    if not is_version_there:
        server.versions.clear()
    rows = [(task["name"], task["state"]) for task in yt8m("wait", run_id, "--dry-run")[1]["tasks"]]
    expected = [("ExampleGen", "SUCCEEDED"), ("Trainer", "RUNNING"), ("Pusher", "PENDING")]
    assert rows == (expected if is_version_there else expected[:2])


def test_a_run_is_canceled_retried_archived_and_deleted(yt8m, server, spec_file):
    yt8m("upload", spec_file)
    run_id = yt8m("run", "yt8m-test")[1]["run_id"]
    for words, says in (("retry", "only one that is FAILED or CANCELED"), ("delete", "SUCCEEDED")):
        code, said = yt8m(words, run_id)
        assert (code, says in said["error"]) == (2, True)
    for words in (["cancel"], ["archive"], ["archive", "--undo"]):
        before = json.dumps(server.runs)
        assert yt8m(*words, run_id, "--dry-run")[1]["dry_run"] is True
        assert json.dumps(server.runs) == before
    assert yt8m("cancel", run_id)[1]["change"] == "canceled"
    assert server.runs[run_id]["state"] == "CANCELED"
    assert yt8m("retry", run_id)[1]["state_before"] == "CANCELED"
    assert server.runs[run_id]["state"] == "RUNNING"
    assert yt8m("archive", run_id)[1]["change"] == "archived"
    assert server.runs[run_id]["storage_state"] == "ARCHIVED"
    yt8m("archive", run_id, "--undo")
    assert server.runs[run_id]["storage_state"] == "AVAILABLE"
    server.set_state(run_id, "FAILED")
    assert yt8m("delete", run_id)[1]["change"] == "deleted"
    assert server.runs == {}
    assert yt8m("delete", run_id)[0] == 2


def test_the_account_that_was_compiled_in_reaches_runs_and_schedules(yt8m, server, tmp_path):
    env = [{"name": "YT8M_SERVICE_ACCOUNT", "value": "team-runner"}]
    executors = {"executors": {"Trainer_executor": {"container": {"env": env}}}}
    file = tmp_path / "account.yaml"
    file.write_text(yaml.safe_dump({**SPEC, "deploymentSpec": executors}))
    yt8m("upload", str(file))
    nightly = ("schedule", "yt8m-test", "--cron", "0 3 * * *")
    for more, account in ((), "team-runner"), (("--run-as", "other"), "other"):
        run_id = yt8m("run", "yt8m-test", *more)[1]["run_id"]
        assert server.runs[run_id]["service_account"] == account
        yt8m(*nightly, *more)
        (only,) = server.schedules.values()
        assert only["service_account"] == account


def test_a_file_that_would_not_run_is_uploaded_with_a_warning(yt8m, tmp_path, capsys):
    file = tmp_path / "old.yaml"
    file.write_text(yaml.safe_dump({**SPEC, "schemaVersion": "2.0.0", "deploymentSpec": None}))
    code, done = yt8m("upload", str(file), "--dry-run")
    assert (code, [p.split(":")[0] for p in done["problems"]]) == (
        0,
        ["schemaVersion", "deploymentSpec"],
    )
    run(["kubeflow", "upload", str(file), "--dry-run"])
    assert f"{file} would not run as it is: schemaVersion: '2.0.0'" in capsys.readouterr().err


@pytest.mark.parametrize("host", ["http://", "http://[bad", "http://h:99999", "http://a..b"])
def test_a_host_that_is_no_url_is_a_mistake(host, capsys):
    assert run(["kubeflow", "list", "pipelines", "--host", host]) == EXIT_USER
    assert "write it like http://localhost:8080" in capsys.readouterr().err


def test_a_run_that_is_waited_for_has_a_limit(yt8m, spec_file):
    yt8m("upload", spec_file)
    code, said = yt8m("run", "yt8m-test", "--wait", "--timeout", "0.3", "--every", "0.1")
    assert code == EXIT_UNKNOWN  # not that of a run that failed
    assert "still PENDING after 0 s (--timeout)" in said["error"]


def test_two_people_upload_run_and_schedule_one_pipeline(yt8m, server, spec_file, tmp_path, capsys):
    """What each starts is what each has uploaded, whoever was last."""
    other = tmp_path / "other.yaml"
    other.write_text(yaml.safe_dump({**SPEC, "defaultPipelineRoot": "s3://bucket/other"}))

    def started(run_id):
        reference = server.runs[run_id]["pipeline_version_reference"]
        return server.versions[reference["pipeline_version_id"]]["display_name"]

    mine = yt8m("upload", spec_file, "--owner", "anna")[1]
    nightly = ("schedule", "yt8m-test", "--cron", "0 3 * * *", "--name", "nightly")
    assert yt8m(*nightly, "--owner", "anna")[1]["version"] == mine["version"]
    theirs = yt8m("upload", str(other), "--owner", "bert")[1]
    # Already there, and not the newest: its last line starts this very one.
    assert run(["kubeflow", "upload", spec_file, "--owner", "anna"]) == 0
    shown = capsys.readouterr().out.strip().splitlines()
    assert shown[0] == f"already there: yt8m-test {mine['version']}, uploaded by anna"
    assert shown[-1] == f"yt8m kubeflow run yt8m-test --version {mine['version']}" == mine["run"]
    code, first = yt8m(*shown[-1].split()[2:])
    assert (code, started(first["run_id"])) == (0, mine["version"])
    assert run(["kubeflow", "run", "yt8m-test", "--owner", "anna"]) == 0
    assert (
        f"of version {theirs['version']} (the newest), uploaded by bert" in capsys.readouterr().out
    )

    def scheduled(*more):
        value = yt8m(*nightly, "--owner", "anna", *more)[1]
        (only,) = server.schedules.values()
        runs = only["pipeline_version_reference"]["pipeline_version_id"]
        assert server.versions[runs]["display_name"] == value["version"]
        return value["change"], value["version"]

    # A version stays until it is moved.
    assert scheduled() == ("already there", mine["version"])
    assert scheduled("--disabled") == ("disabled", mine["version"])
    assert run(["kubeflow", *nightly, "--owner", "anna", "--disabled"]) == 0
    assert f"{theirs['version']} is newer: --latest moves it" in capsys.readouterr().out
    assert scheduled("--latest") == ("replaced", theirs["version"])
    assert scheduled() == ("already there", theirs["version"])
    assert scheduled("--version", mine["version"]) == ("replaced", mine["version"])
    code, said = yt8m(*nightly, "--latest", "--version", mine["version"])
    assert (code, said["error"]) == (2, "--latest and --version: give one of them")
    # Somebody else's name is refused, and nothing changes.
    before = json.dumps(server.schedules)
    code, said = yt8m(*nightly, "--owner", "bert")
    assert code == 2
    assert "pipeline yt8m-test, made by anna" in said["error"]
    assert yt8m("unschedule", "nightly", "--owner", "bert")[0] == 2
    assert json.dumps(server.schedules) == before


def test_a_schedule_whose_version_or_pipeline_was_deleted_says_how_to_move_it(
    yt8m, server, spec_file
):
    nightly = ("schedule", "yt8m-test", "--cron", "0 3 * * *", "--name", "nightly")
    yt8m("upload", spec_file)
    yt8m(*nightly)
    server.versions.clear()
    yt8m("upload", spec_file)
    code, said = yt8m(*nightly)
    assert (code, "which was deleted from the server: --latest" in said["error"]) == (2, True)
    assert yt8m(*nightly, "--latest")[1]["change"] == "replaced"
    server.pipelines.clear()
    server.versions.clear()
    yt8m("upload", spec_file)
    code, said = yt8m(*nightly)
    assert (code, "`yt8m kubeflow unschedule nightly`" in said["error"]) == (2, True)
    yt8m("unschedule", "nightly")
    assert yt8m(*nightly)[1]["change"] == "created"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("run", "ghost"), "no pipeline 'ghost'"),
        (("wait", "ghost"), "404"),
        (("upload", "ghost.yaml"), "yt8m kubeflow compile"),
        (("schedule", "x", "--cron", "0 25 * * *"), "hour '25'"),
        (("list", "versions", "ghost"), "no pipeline 'ghost'"),
        (("list", "versions"), "name the pipeline: "),
        (("list", "runs", "--experiment", "ghost"), "no experiment 'ghost'"),
        (("list", "runs", "--token-file", "/nowhere"), "/nowhere"),
        (("list", "runs", "--token", "wrong"), "requires a login"),
    ],
)
def test_a_mistake_ends_with_2_and_one_message(yt8m, words, says):
    code, said = yt8m(*words)
    assert code == 2
    assert says in said["error"]
    assert "Traceback" not in said["error"]


def test_pipelines_and_versions_are_listed(yt8m, spec_file):
    _, done = yt8m("upload", spec_file)
    assert yt8m("list", "pipelines")[1]["pipelines"][0]["id"] == done["pipeline_id"]
    assert yt8m("list", "versions", "yt8m-test")[1]["versions"][0]["name"] == done["version"]
