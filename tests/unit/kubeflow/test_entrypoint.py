"""What our entry point puts right before and after TFX's own."""

import json

import pytest

from yt8m.kubeflow.entrypoint import finish, local_path, prepare
from yt8m.schemas.errors import Yt8mError

MODEL = {"artifactType": {"instanceSchema": "title: tfx.Model\ntype: object\n"}}
SPEC = {"artifacts": {"model": MODEL}}


def _invocation(**artifact):
    given = {"uri": "s3://bucket/run/model", **artifact}
    return {
        "inputs": {"artifacts": {"model": {"artifacts": [given]}}},
        "outputs": {"outputFile": "/tmp/kfp_outputs/output_metadata.json"},
    }


def _model(invocation):
    return invocation["inputs"]["artifacts"]["model"]["artifacts"][0]


@pytest.mark.parametrize("kind", [{}, {"type": {}}, {"type": {"schemaTitle": "system.Artifact"}}])
def test_an_input_without_a_type_gets_the_declared_one(kind):
    invocation = _invocation(**kind)
    prepare(invocation, SPEC, {})
    assert _model(invocation)["type"] == MODEL["artifactType"]


def test_a_type_that_is_there_stays():
    given = {"instanceSchema": "title: tfx.Examples"}
    invocation = _invocation(type=given)
    prepare(invocation, SPEC, {})
    assert _model(invocation)["type"] == given


def test_a_type_that_nobody_knows_is_an_error_that_names_the_artifact():
    with pytest.raises(Yt8mError, match=r"inputs\.model"):
        prepare(_invocation(), {}, {})


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
    prepare(invocation, SPEC, {})
    assert invocation["outputs"]["outputFile"] == "/minio/b/task/executor_output.json"


def test_the_report_names_the_stores_uris_and_holds_no_null(tmp_path):
    file = tmp_path / "output_metadata.json"
    metadata = {"version": 1.0, "span": None}
    model = {"uri": "/s3/bucket/run/model", "metadata": metadata}
    elsewhere = {"uri": "/mnt/push/3"}
    report = {"artifacts": {"model": {"artifacts": [model]}, "pushed": {"artifacts": [elsewhere]}}}
    file.write_text(json.dumps(report))
    uri_by_path = prepare(_invocation(), SPEC, {})
    finish(file, uri_by_path)
    told = json.loads(file.read_text())["artifacts"]
    assert told["model"]["artifacts"] == [
        {"uri": "s3://bucket/run/model", "metadata": {"version": 1.0}}
    ]
    assert told["pushed"]["artifacts"] == [{"uri": "/mnt/push/3", "metadata": {}}]
