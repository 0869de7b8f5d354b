"""The entry point of the containers, driven as the launchers of all versions drive it."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from driver_records import COMPILED, RECORDS, recorded

from yt8m.components.evaluator.config import GateConfig
from yt8m.components.storage.errors import StorageError
from yt8m.components.trainer.config import TrainerConfig
from yt8m.components.transform.config import TransformConfig
from yt8m.kubeflow.config import PlatformConfig
from yt8m.kubeflow.container import entrypoint
from yt8m.kubeflow.container.entrypoint import main
from yt8m.kubeflow.container.flags import SHORT_FLAGS
from yt8m.kubeflow.spec.compile import Target, compile_config
from yt8m.pipeline.config import PipelineConfig
from yt8m.schemas.errors import UserError


def _container(task):
    return COMPILED["deploymentSpec"]["executors"][f"{task}_executor"]["container"]


def _arguments(task, executor_input):
    return [word.replace("{{$}}", json.dumps(executor_input)) for word in _container(task)["args"]]


@pytest.fixture
def pod(tmp_path, monkeypatch):
    """The root directory of a pod."""
    monkeypatch.setenv("YT8M_LAUNCHER_ROOT", str(tmp_path))
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "termination-log").touch()
    return tmp_path


@pytest.mark.parametrize("version", RECORDS)
def test_a_task_runs_with_what_every_driver_has_sent(version, pod):
    record = recorded("SchemaGen", version)
    given, schema = record["executor_input"], record["executor_output"]["artifacts"]["schema"]
    # The test may not write to the root directory.
    given["outputs"]["outputFile"] = str(pod) + given["outputs"]["outputFile"]
    assert _container("SchemaGen")["command"] == [
        "python",
        "-m",
        "yt8m.kubeflow.container.entrypoint",
    ]
    assert main(_arguments("SchemaGen", given)) == 0
    reported = json.loads(Path(given["outputs"]["outputFile"]).read_text())["artifacts"]
    assert set(reported) == {"schema"}
    (told,), (was,) = reported["schema"]["artifacts"], schema["artifacts"]
    assert told["uri"] == was["uri"]
    assert set(told["metadata"]) == {*was["metadata"], "store_session_info"}
    assert (pod / told["uri"].replace("://", "/") / "schema.pbtxt").exists()
    assert (pod / "dev" / "termination-log").read_text() == ""


def test_a_task_runs_with_the_flags_and_the_types_of_older_specs(pod):
    given = recorded("SchemaGen")["executor_input"]
    given["outputs"]["outputFile"] = str(pod) + given["outputs"]["outputFile"]
    long = {short: name for name, short in SHORT_FLAGS.items()} | {
        "schema=Schema": "schema=tfx.Schema"
    }
    arguments = [long.get(word, word) for word in _arguments("SchemaGen", given)]
    assert set(long.values()) <= set(arguments)
    assert main(arguments) == 0
    assert Path(given["outputs"]["outputFile"]).exists()


def test_what_went_wrong_is_the_last_line_and_the_pods_termination_message(pod):
    given = recorded("SchemaGen")["executor_input"]
    given["outputs"]["outputFile"] = str(pod) + given["outputs"]["outputFile"]
    given["inputs"]["parameterValues"]["curated_schema"] = "galaxy"
    command = [sys.executable, *_container("SchemaGen")["command"][1:]]
    ended = subprocess.run(
        [*command, *_arguments("SchemaGen", given)], capture_output=True, text=True, check=False
    )
    assert ended.returncode in (1, 2)
    last = ended.stderr.strip().splitlines()[-1]
    assert "galaxy" in last
    assert (pod / "dev" / "termination-log").read_text() in ended.stderr
    assert "galaxy" in (pod / "dev" / "termination-log").read_text()


def test_own_code_that_the_image_lacks_is_said_by_the_first_task(pod, monkeypatch, capsys):
    config = PipelineConfig(
        trainer=TrainerConfig(network="mine.Net"),
        transform=TransformConfig(function="json.dumps"),
        gate=GateConfig(gap_threshold=0.5),
    )
    platform = PlatformConfig(environment={"A": "b"})
    target = Target(image="here", root="s3://bucket/root", platform=platform)
    executors = compile_config(config, target).pipeline["deploymentSpec"]["executors"]
    for variable in executors["SchemaGen_executor"]["container"]["env"]:
        monkeypatch.setenv(variable["name"], variable["value"])
    assert os.environ["A"] == "b"
    given = recorded("SchemaGen")["executor_input"]
    given["outputs"]["outputFile"] = str(pod) + given["outputs"]["outputFile"]
    assert main(_arguments("SchemaGen", given)) == 2
    (said,) = capsys.readouterr().err.strip().splitlines()
    assert said.startswith("error: trainer.network: there is no module mine")
    assert "on Kubeflow it must be in the image" in said
    assert (pod / "dev" / "termination-log").read_text() == said


@pytest.mark.parametrize("name", ["gap_threshold", "gap_change_threshold"])
def test_a_threshold_typed_into_kubeflows_form_is_refused_by_the_first_pod(pod, name, capsys):
    tasks = COMPILED["root"]["dag"]["tasks"]
    (first,) = (
        task
        for task, content in tasks.items()
        if name in content["inputs"]["parameters"] and not content.get("dependentTasks")
    )
    component = COMPILED["components"][tasks[first]["componentRef"]["name"]]
    assert component["inputDefinitions"]["parameters"][name] == {"parameterType": "NUMBER_DOUBLE"}
    given = recorded("SchemaGen")["executor_input"]
    given["outputs"]["outputFile"] = str(pod) + given["outputs"]["outputFile"]
    given["inputs"]["parameterValues"][name] = 80
    assert main(_arguments("SchemaGen", given)) == 2
    said = capsys.readouterr().err
    assert name in said
    assert "between" in said
    assert (pod / "dev" / "termination-log").read_text() in said


@pytest.mark.parametrize("by", ["__cause__", "__context__"])
def test_our_own_error_is_found_in_what_beam_or_tfx_made_of_it(pod, monkeypatch, capsys, by):
    given = recorded("SchemaGen")["executor_input"]
    given["outputs"]["outputFile"] = str(pod) + given["outputs"]["outputFile"]
    made_of_it = RuntimeError("Beam's own words")
    setattr(made_of_it, by, UserError("data.root: nothing there"))
    monkeypatch.setattr(entrypoint, "_run", Mock(side_effect=made_of_it))
    assert main(_arguments("SchemaGen", given)) == 2
    assert capsys.readouterr().err.strip() == "error: data.root: nothing there"


def _clock(sleep: Callable[[float], None]) -> SimpleNamespace:
    """For one module alone: threads that other tests have left sleep on the real one."""
    return SimpleNamespace(time=time.time, sleep=sleep)


@pytest.mark.parametrize(
    ("fault", "tries"),
    [
        (StorageError("s3://bucket/x: the storage failed"), 3),
        (RuntimeError("Beam's own words"), 1),
        (UserError("data.root: nothing there"), 1),
    ],
)
def test_a_fault_of_the_infrastructure_is_tried_again_within_the_task(
    pod, monkeypatch, caplog, fault, tries
):
    """Kubeflow cannot: it would repeat a user error as well."""
    given = recorded("SchemaGen")["executor_input"]
    given["outputs"]["outputFile"] = str(pod) + given["outputs"]["outputFile"]
    (schema,) = given["outputs"]["artifacts"]["schema"]["artifacts"]
    place = pod / schema["uri"].replace("://", "/")
    run, waits, found = entrypoint._run, [], []

    def fail_twice(*arguments):
        found.append(place.exists())
        if len(found) <= 2:
            place.mkdir(parents=True)
            (place / "half").touch()
            raise fault
        run(*arguments)

    monkeypatch.setattr(entrypoint, "_run", fail_twice)
    monkeypatch.setattr(entrypoint, "time", _clock(waits.append))
    if isinstance(fault, RuntimeError):
        with pytest.raises(RuntimeError):
            main(_arguments("SchemaGen", given))
    else:
        assert main(_arguments("SchemaGen", given)) == (0 if tries == 3 else 2)
    assert found == [False] * tries
    assert len(waits) == tries - 1
    if tries == 3:
        assert sorted(file.name for file in place.iterdir()) == ["schema.pbtxt"]
        assert "restarts in 30 s" in caplog.text


def test_what_a_failed_try_left_is_gone_before_the_next(tmp_path, monkeypatch):
    places = [tmp_path / name for name in ("directory", "file", "never")]
    found = []

    def fail_once():
        found.append([place.exists() for place in places])
        if len(found) == 1:
            places[0].mkdir()
            (places[0] / "half").touch()
            places[1].touch()
            raise StorageError("s3://bucket/x: the storage failed")

    monkeypatch.setattr(entrypoint, "time", _clock(lambda _: None))
    entrypoint._run_patiently(fail_once, [str(place) for place in places])
    assert found == [[False] * 3] * 2
