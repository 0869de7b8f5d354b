"""Steps cut out of a compiled pipeline, as kfp loads them; and pipelines composed of them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from google.protobuf import json_format
from kfp.pipeline_spec import pipeline_spec_pb2

from yt8m.kubeflow import components
from yt8m.kubeflow.kfp_components import step_names, step_spec
from yt8m.kubeflow.spec_file import read_spec
from yt8m.schemas.errors import UserError

TESTS = Path(__file__).parents[2]
SMOKE = TESTS / "golden" / "kubeflow" / "smoke.yaml"
FRAMES = SMOKE.with_name("frame_dbof.yaml")  # compiled for a cluster, with variables
SPEC = read_spec(str(SMOKE))
STEPS = step_names(SPEC)


@pytest.mark.parametrize("name", STEPS)
def test_a_step_keeps_its_container_and_its_values_and_is_a_valid_pipeline(name: str) -> None:
    step = step_spec(SPEC, name)
    json_format.ParseDict(step, pipeline_spec_pb2.PipelineSpec())
    ((label, component),) = step["components"].items()
    assert re.fullmatch(r"comp-[a-z]+(-[a-z]+)*", label)
    (executor,) = step["deploymentSpec"]["executors"].values()
    assert executor == SPEC.pipeline["deploymentSpec"]["executors"][f"{name}_executor"]
    whole = SPEC.pipeline["components"][name]
    for side in ("inputDefinitions", "outputDefinitions"):
        for kind in ("parameters", "artifacts"):
            assert (
                component.get(side, {}).get(kind, {}).keys()
                == whole.get(side, {}).get(kind, {}).keys()
            )
    given = SPEC.pipeline["root"]["dag"]["tasks"][name]["inputs"].get("parameters", {})
    for key, parameter in component["inputDefinitions"].get("parameters", {}).items():
        open_to_runs = SPEC.parameters.get(given[key].get("componentInputParameter", ""), {})
        compiled = (
            given[key].get("runtimeValue", {}).get("constant", open_to_runs.get("defaultValue"))
        )
        assert parameter.get("defaultValue") == compiled


def test_a_pipeline_of_steps_of_ours_and_of_others_is_compiled_by_kfp(tmp_path: Path) -> None:
    steps, whole = tmp_path / "steps.yaml", tmp_path / "whole.yaml"
    script = TESTS / "testbed" / "kubeflow" / "kfp_own_pipeline.py"
    words = [sys.executable, "-W", "ignore", str(script), str(FRAMES), str(steps), str(whole)]
    subprocess.run(words, check=True, capture_output=True, timeout=120)
    compiled: dict[str, Any] = yaml.safe_load(steps.read_text())
    tasks = compiled["root"]["dag"]["tasks"]
    assert set(tasks) == {"example-gen", "schema-gen", "statistics-gen", "size-of"}
    assert tasks["statistics-gen"]["inputs"]["artifacts"]["examples"] == {
        "taskOutputArtifact": {"outputArtifactKey": "sample", "producerTask": "example-gen"}
    }
    images = {
        label: executor["container"]["image"]
        for label, executor in compiled["deploymentSpec"]["executors"].items()
    }
    executors = read_spec(str(FRAMES)).pipeline["deploymentSpec"]["executors"]
    ours = executors["ExampleGen_executor"]["container"]
    assert images.pop("exec-size-of") == "other:1"
    assert set(images.values()) == {ours["image"]}
    variables = compiled["deploymentSpec"]["executors"]["exec-example-gen"]["container"]["env"]
    assert variables == ours["env"]
    nested = yaml.safe_load(whole.read_text())["components"]
    assert sum("dag" in component for component in nested.values()) == 1
    assert sum("executorLabel" in component for component in nested.values()) == len(executors)


def test_a_step_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(UserError, match=r"no step 'trainer'; the pipeline has .*Trainer"):
        components(str(SMOKE))["trainer"]


def test_what_is_no_compiled_pipeline_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("a: 1")
    with pytest.raises(UserError, match="is not a compiled pipeline"):
        components(str(tmp_path / "x.yaml"))
