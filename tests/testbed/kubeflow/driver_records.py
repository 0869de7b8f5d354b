"""What drivers of several versions really sent to a task, with the parameters of the compiled
pipeline: a driver passes constants on as they are."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import yaml

GOLDEN = Path(__file__).parents[2] / "golden" / "kubeflow"
RECORDS = json.loads((GOLDEN / "records" / "executor_inputs.json").read_text())
COMPILED = yaml.safe_load((GOLDEN / "smoke.yaml").read_text())


def recorded(task: str, version: str = "2.17.0") -> dict[str, Any]:
    """The ExecutorInput of `task` and the output file that its launcher read."""
    record: dict[str, Any] = copy.deepcopy(RECORDS[version][task])
    parameters = COMPILED["root"]["dag"]["tasks"][task]["inputs"]["parameters"]
    inputs = COMPILED["root"]["inputDefinitions"]["parameters"]
    record["executor_input"]["inputs"]["parameterValues"] = {
        name: value["runtimeValue"]["constant"]
        if "runtimeValue" in value
        else inputs[value["componentInputParameter"]]["defaultValue"]
        for name, value in parameters.items()
    }
    return record
