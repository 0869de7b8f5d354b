"""The page that a failing pod leaves on the shared volume."""

import json
from pathlib import Path

import pytest

from yt8m.components.artifacts.comparisons import FILE_NAME
from yt8m.kubeflow.container.failure_page import leave_failure_page
from yt8m.kubeflow.parameter_text import shortened

RUN = "11111111-0000-0000-0000-000000000004"
ERROR = "train: the share of empty videos is 0.4"


def _input(pod, task="ValidationGate", run=RUN):
    """What a task was given, with its artifacts' places in this pod."""
    place = f"{pod}/s3/bucket/yt8m/smoke/{run}"

    def artifact(producer, key):
        return {"artifacts": [{"name": key, "uri": f"{place}/{producer}/{key}"}]}

    return {
        "inputs": {
            "parameterValues": {"configuration": json.dumps({"trainer": {"max_steps": 77}})},
            "artifacts": {"statistics": artifact("StatisticsGen", "statistics")},
        },
        "outputs": {"artifacts": {"validation": artifact(task, "validation")}},
    }


def _left(tmp_path, **given):
    environ = {"YT8M_WORK_DIR": str(tmp_path / "work")}
    return leave_failure_page(ERROR, json.dumps(_input(tmp_path, **given)), environ, started=1.0)


def test_a_failed_task_leaves_a_page_with_its_name_and_its_error(tmp_path):
    (tmp_path / "work").mkdir()
    page = _left(tmp_path, task="Trainer")
    assert page == str(tmp_path / "work" / "failed" / RUN / "report.html")
    text = (tmp_path / "work" / "failed" / RUN / "report.html").read_text()
    for part in (ERROR, "Trainer", "smoke", "77"):
        assert part in text
    summary = json.loads((tmp_path / "work" / "failed" / RUN / "report.json").read_text())
    assert ERROR in json.dumps(summary)


def test_a_task_that_fails_before_its_parameters_are_restored_leaves_a_page_too(tmp_path):
    (tmp_path / "work").mkdir()
    given = _input(tmp_path)
    nodes = {"trainer": {"max_steps": 77, "note": "x" * 700}}
    given["inputs"]["parameterValues"]["configuration"] = shortened(json.dumps(nodes))
    environ = {"YT8M_WORK_DIR": str(tmp_path / "work")}
    page = leave_failure_page(ERROR, json.dumps(given), environ, started=1.0)
    assert "77" in Path(page).read_text()


def test_data_that_stopped_a_run_is_told_from_a_failure(tmp_path):
    (tmp_path / "work").mkdir()
    stopped, failed = (
        json.loads(Path(_left(tmp_path, task=task)).with_suffix(".json").read_text())
        for task in ("ValidationGate", "Trainer")
    )
    assert json.dumps(stopped) != json.dumps(failed)
    assert "stopped" in json.dumps(stopped).lower()


def test_what_cannot_be_read_does_not_hide_the_error(tmp_path):
    (tmp_path / "work").mkdir()
    output = tmp_path / f"s3/bucket/yt8m/smoke/{RUN}/ValidationGate/validation"
    output.mkdir(parents=True)
    (output / FILE_NAME).write_text("{")
    page = _left(tmp_path)
    assert ERROR in Path(page).read_text()


@pytest.mark.parametrize("lacking", ["work_dir", "run"])
def test_without_a_place_for_it_there_is_no_page(tmp_path, lacking):
    environ = {} if lacking == "work_dir" else {"YT8M_WORK_DIR": str(tmp_path)}
    given = _input(tmp_path, run="here" if lacking == "run" else RUN)
    assert leave_failure_page(ERROR, json.dumps(given), environ, started=1.0) == ""
    assert list(tmp_path.iterdir()) == []


def test_a_work_directory_that_cannot_be_written_does_not_hide_the_error(tmp_path, caplog):
    (tmp_path / "work").write_text("no directory")
    assert _left(tmp_path) == ""
    assert "could not be written" in caplog.text
