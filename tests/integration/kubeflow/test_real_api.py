"""Every request we send and every answer the double gives, against Kubeflow's own OpenAPI."""

import os
from pathlib import Path

import pytest
import yaml
from http_double import listening
from kfp_schema import check_by_models, check_by_openapi
from kfp_server import KfpServer

from yt8m.cli.kubeflow_upload import upload
from yt8m.kubeflow.server.client import KfpClient, Timing
from yt8m.kubeflow.server.connection import Connection
from yt8m.kubeflow.server.http import HttpTransport
from yt8m.kubeflow.server.runs import LaunchOptions, resolve
from yt8m.kubeflow.server.schedule import schedule, unschedule

SPECS = Path(os.environ.get("YT8M_REAL_SPECS", "../shared/specs"))
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


@pytest.fixture(params=["2.5.0", "2.17.0"])
def check(request):
    file = SPECS / f"kfp-{request.param}-v2beta1.swagger.json"
    if not file.exists():
        pytest.skip(f"no {file}: set YT8M_REAL_SPECS to a directory with Kubeflow's OpenAPI")
    return check_by_openapi(file)


@pytest.mark.real
def test_a_whole_course_of_commands_fits_the_real_api(check, tmp_path):
    server = KfpServer(check)
    file = tmp_path / "pipeline.yaml"
    file.write_text(yaml.safe_dump(SPEC))
    with listening(server) as host:
        client = KfpClient(HttpTransport(Connection(host=host)), owner="anna")
        upload(client, str(file))
        wanted = LaunchOptions(pipeline="yt8m-test", name="nightly", parameters=["span=3"])
        launch = resolve(client, wanted)
        run = client.start_run(launch)
        server.set_state(run.id, "FAILED", {"Trainer": "FAILED"}, explained=True)
        assert client.run(run.id).tasks[0].error == "exit code 1"
        for cron in ("0 0 3 * * *", "0 0 4 * * *"):
            schedule(client, launch, Timing(cron=cron), enabled=True)
        assert len(client.runs(launch.experiment_id, limit=5)) == 1
        assert len(unschedule(client, launch.experiment_id, "nightly")) == 1
    assert server.violations == []
    assert server.count("POST") >= 6


@pytest.mark.real
@pytest.mark.parametrize(
    ("model", "value"),
    [
        ("V2beta1Run", {"display_name": 5}),
        ("V2beta1Run", {"name": "x"}),
        ("V2beta1RecurringRun", {"max_concurrency": 1}),
        ("V2beta1RecurringRun", {"mode": "enabled"}),
        ("V2beta1RecurringRun", {"trigger": {"cron": "x"}}),
        ("V2beta1Run", {"state": "DONE"}),
    ],
)
def test_both_checks_notice_what_is_wrong(check, model, value):
    assert check(model, value) != []
    assert check_by_models(model, value) != []
