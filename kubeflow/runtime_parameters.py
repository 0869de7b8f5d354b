"""Turn a component's constant into a parameter of the run.

`create_pipeline` knows nothing of Kubeflow and compiles these as constants. What an operator may
change without compiling anew becomes an input of the pipeline, whose default is the constant.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yt8m.schemas.errors import Yt8mError

# Parameter of the run -> the component parameters that take it.
RUN_PARAMETERS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "data_root": (("ExampleGen", "data_root"),),
    "span": (("ExampleGen", "span"),),
    "push_dir": (("Baseline", "push_dir"), ("Pusher", "push_dir")),
    "gap_threshold": (("Evaluator", "gap_threshold"),),
    "gap_change_threshold": (("Evaluator", "gap_change_threshold"),),
}


def promote(spec: dict[str, Any]) -> None:
    """Make every one of RUN_PARAMETERS an input of the pipeline in `spec`."""
    inputs = spec["root"].setdefault("inputDefinitions", {}).setdefault("parameters", {})
    tasks = spec["root"]["dag"]["tasks"]
    for name, uses in RUN_PARAMETERS.items():
        places = [_place(tasks, task, parameter) for task, parameter in uses]
        defaults = {str(place["runtimeValue"]["constant"]) for place in places}
        if len(defaults) != 1:
            raise Yt8mError(f"{name} is compiled with different values: {sorted(defaults)}")
        inputs[name] = {"parameterType": "STRING", "defaultValue": defaults.pop()}
        for place in places:
            place.clear()
            place["componentInputParameter"] = name


def _place(tasks: Mapping[str, Any], task: str, parameter: str) -> dict[str, Any]:
    try:
        place: dict[str, Any] = tasks[task]["inputs"]["parameters"][parameter]
    except KeyError:
        raise Yt8mError(
            f"the pipeline has no parameter {parameter!r} of {task}, which a run may set"
        ) from None
    if not isinstance(place.get("runtimeValue", {}).get("constant"), str):
        raise Yt8mError(f"{task}.{parameter} is not a text that a run could replace: {place}")
    return place
