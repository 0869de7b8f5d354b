"""What is put right before and after TFX's own entry point, on what the real drivers send."""

import json
from pathlib import Path

import pytest
import yaml

from yt8m.kubeflow.container.launcher import Place, finish_output, local_path, prepare_input
from yt8m.schemas.errors import Yt8mError

GOLDEN = Path(__file__).parents[2] / "golden" / "kubeflow"
RECORDS = json.loads((GOLDEN / "records" / "executor_inputs.json").read_text())
COMPILED = yaml.safe_load((GOLDEN / "smoke.yaml").read_text())
EVERY_TASK = [(version, task) for version, tasks in RECORDS.items() for task in tasks]

MODEL = {"model": "tfx.Model"}


def _prepared(version, task, root=""):
    """The recorded ExecutorInput of a task as TFX is given it, and where its artifacts are."""
    given = json.loads(json.dumps(RECORDS[version][task]["executor_input"]))
    component = COMPILED["components"][task]
    inputs, outputs = (
        {
            key: yaml.safe_load(declared["artifactType"]["instanceSchema"])["title"]
            for key, declared in component.get(f"{side}Definitions", {})
            .get("artifacts", {})
            .items()
            if "instanceSchema" in declared["artifactType"]  # not what the interface alone draws
        }
        for side in ("input", "output")
    )
    return given, prepare_input(given, inputs, outputs, launcher_root=root)


@pytest.mark.parametrize(("version", "task"), EVERY_TASK)
def test_outputs_that_are_not_declared_are_the_launchers_own(version, task):
    recorded = RECORDS[version][task]["executor_input"]["outputs"]["artifacts"]
    assert ("executor-logs" in recorded) is (version != "2.0.5")
    given, _ = _prepared(version, task)
    declared = COMPILED["components"][task]["outputDefinitions"]["artifacts"]
    kept = set(given["outputs"]["artifacts"])
    assert kept == set(recorded) - {"executor-logs"}
    assert kept <= set(declared)


@pytest.mark.parametrize(("version", "task"), EVERY_TASK)
def test_every_artifact_that_a_driver_sends_gets_its_type_and_its_local_path(version, task):
    given, places = _prepared(version, task)
    artifacts = [
        artifact
        for side in ("inputs", "outputs")
        for listed in given[side].get("artifacts", {}).values()
        for artifact in listed["artifacts"]
    ]
    assert artifacts
    for artifact in artifacts:
        assert artifact["type"]["instanceSchema"].startswith("title: ")
        assert artifact["uri"].startswith(("/s3/", "/minio/"))
        assert local_path(places[artifact["uri"]].uri) == artifact["uri"]


@pytest.mark.parametrize("version", RECORDS)
def test_a_blessing_has_no_path_of_its_pod_and_no_store_that_each_next_task_would_repeat(
    version, tmp_path
):
    """TFX writes paths of this pod, and hashes in the place of ids."""
    _, places = _prepared(version, "Evaluator")
    recorded = RECORDS[version]["Evaluator"]
    report = json.loads(json.dumps(recorded["executor_output"]))
    model = recorded["executor_input"]["inputs"]["artifacts"]["model"]["artifacts"][0]
    (blessing,) = report["artifacts"]["blessing"]["artifacts"]
    before = dict(blessing["metadata"])
    blessing["metadata"] |= {"current_model": local_path(model["uri"]), "current_model_id": 2.1e18}
    for listed in report["artifacts"].values():  # nothing of it is in this process's file system
        listed["artifacts"][0]["uri"] = "/elsewhere"
    file = tmp_path / "output_metadata.json"
    file.write_text(json.dumps(report))
    finish_output(file, places, ["blessing"])
    (blessing,) = json.loads(file.read_text())["artifacts"]["blessing"]["artifacts"]
    assert not [name for name in blessing["metadata"] if "_model" in name]
    assert blessing["metadata"]["store_session_info"] == ""
    assert blessing["metadata"]["blessed"] == before["blessed"]
    (evaluation,) = json.loads(file.read_text())["artifacts"]["evaluation"]["artifacts"]
    assert "store_session_info" not in evaluation["metadata"]  # only what is passed on
    assert not [v for v in blessing["metadata"].values() if str(v).startswith(("/s3", "/minio"))]


def _invocation(**artifact):
    given = {"uri": "s3://bucket/run/model", **artifact}
    return {
        "inputs": {"artifacts": {"model": {"artifacts": [given]}}},
        "outputs": {"outputFile": "/tmp/kfp_outputs/output_metadata.json"},
    }


def _model(invocation):
    return invocation["inputs"]["artifacts"]["model"]["artifacts"][0]


@pytest.mark.parametrize(
    "kind",
    [
        {},
        {"type": {}},
        {"type": {"instanceSchema": ""}},
        {"type": {"schemaTitle": "system.Artifact"}},
    ],
)
def test_an_input_without_a_type_gets_the_declared_one(kind):
    invocation = _invocation(**kind)
    prepare_input(invocation, MODEL, {})
    assert _model(invocation)["type"] == {"instanceSchema": "title: tfx.Model\n"}


def test_a_type_that_is_there_stays():
    given = {"instanceSchema": "title: tfx.Examples"}
    invocation = _invocation(type=given)
    prepare_input(invocation, MODEL, {})
    assert _model(invocation)["type"] == given


def test_a_type_that_nobody_knows_is_an_error_that_names_the_artifact():
    with pytest.raises(Yt8mError, match=r"inputs\.model"):
        prepare_input(_invocation(), {}, {})


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("s3://b/x", "/s3/b/x"),
        ("gs://b/x", "/gcs/b/x"),
        ("minio://b/x", "/minio/b/x"),
        ("/mnt/x", "/mnt/x"),
    ],
)
def test_uris_lead_to_the_launchers_local_files(uri, path):
    assert local_path(uri) == path
    assert local_path(uri, "/pod") == ("/pod" + path if path != uri else path)


def test_an_output_file_below_the_task_root_is_local_too():
    invocation = _invocation()
    invocation["outputs"]["outputFile"] = "minio://b/task/executor_output.json"
    prepare_input(invocation, MODEL, {})
    assert invocation["outputs"]["outputFile"] == "/minio/b/task/executor_output.json"


@pytest.fixture
def finished(tmp_path):
    """Finishes the report on one output, whose files `write` makes; what the launcher reads."""
    model = tmp_path / "s3" / "bucket" / "run" / "model"
    model.parent.mkdir(parents=True)
    file = tmp_path / "output_metadata.json"

    def finish(write=lambda model: model.mkdir(), **artifact):
        write(model)
        given = {"uri": str(model), "metadata": {}, **artifact}
        file.write_text(json.dumps({"artifacts": {"model": {"artifacts": [given]}}}))
        finish_output(file, {str(model): Place(uri="s3://bucket/run/model", name="model")})
        (told,) = json.loads(file.read_text())["artifacts"]["model"]["artifacts"]
        return told

    return finish


def test_the_report_names_the_stores_uris_and_holds_nothing_at_which_a_launcher_stops(
    finished, tmp_path
):
    inside = str(tmp_path / "s3/bucket/run/model/variables")
    told = finished(
        metadata={
            "version": 1.0,
            "span": None,
            "loss": float("nan"),
            "inside": inside,
            "pushed": True,
        }
    )
    assert told == {
        "uri": "s3://bucket/run/model",
        "metadata": {
            "version": 1.0,
            "loss": "nan",
            "inside": "s3://bucket/run/model/variables",
            "pushed": True,
        },
    }


def test_a_place_of_its_own_outside_is_reported_as_it_is(finished):
    assert finished(uri="/mnt/push/3")["uri"] == "/mnt/push/3"


def test_a_single_file_and_an_empty_directory_are_outputs_too(finished):
    finished()
    finished(lambda model: (model.rmdir(), model.write_text("<html>")))


def _link_directory(model):
    (model.parent / "other").mkdir()
    model.mkdir()
    (model / "link").symlink_to(model.parent / "other")


def _dangling_link(model):
    model.mkdir()
    (model / "link").symlink_to("/nowhere")


@pytest.mark.parametrize(
    ("write", "artifact", "says"),
    [
        (lambda model: None, {}, "output model: nothing was written to .*/s3/bucket/run/model"),
        (_link_directory, {}, "link is a link to a directory, which cannot be uploaded"),
        (_dangling_link, {}, "link is a link to /nowhere, which is not there"),
        (lambda model: model.mkdir(), {"custom": 1}, "fields custom, which the launcher does not"),
    ],
)
def test_an_output_that_the_launcher_would_lose_or_stop_at_is_named(
    finished, write, artifact, says
):
    with pytest.raises(Yt8mError, match=says):
        finished(write, **artifact)


def test_the_rules_are_those_that_were_observed():
    reactions = json.loads((GOLDEN / "records" / "launcher_reactions.json").read_text())

    def fatal(name):
        return all(seen["fatal"] for seen in reactions[name].values())

    def warned(name):
        return any(seen["warnings"] for seen in reactions[name].values())

    for name in ("link-to-directory", "null-metadata", "nan", "unknown-field"):
        assert fatal(name), name
    for name in ("dangling-link", "nothing-written"):  # data is lost, and the task succeeds
        assert warned(name), name
        assert not fatal(name), name
    for name in ("empty-directory", "file-not-directory", "local-uri", "list-and-bool"):
        assert not fatal(name), name
