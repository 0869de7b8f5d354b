"""A compiled pipeline's steps as components of kfp's DSL, for pipelines of the user's own.

A step is cut out of the compiled pipeline: its container, with the values that were compiled into
its parameters as their defaults. Artifacts pass untyped, for kfp knows no types of TFX's; the
container restores them (`container/launcher.py`).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from yt8m.kubeflow.spec_file import Spec, read_spec
from yt8m.schemas.errors import UserError

_ARTIFACT = {"schemaTitle": "system.Artifact", "schemaVersion": "0.0.1"}


class Components(Mapping[str, Any]):
    """The steps of a pipeline by their names, as kfp components; `pipeline` is all of it as one."""

    def __init__(self, spec: Spec) -> None:
        self._specs = {name: step_spec(spec, name) for name in step_names(spec)}
        self.pipeline = _load(spec.pipeline)

    def __getitem__(self, name: str) -> Any:
        if name not in self._specs:
            raise UserError(f"no step {name!r}; the pipeline has {', '.join(self._specs)}")
        return _load(self._specs[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._specs)

    def __len__(self) -> int:
        return len(self._specs)


def load_components(path: str) -> Components:
    """Load the components of the compiled pipeline in the file `path`."""
    return Components(read_spec(path))


def step_names(spec: Spec) -> tuple[str, ...]:
    """Name the steps of a compiled pipeline."""
    tasks: Mapping[str, Any] = spec.pipeline["root"]["dag"]["tasks"]
    return tuple(tasks)


def step_spec(spec: Spec, name: str) -> dict[str, Any]:
    """Cut the step `name` out: a pipeline of this one component, as kfp compiles components."""
    pipeline = spec.pipeline
    task = pipeline["root"]["dag"]["tasks"][name]
    component = copy.deepcopy(pipeline["components"][task["componentRef"]["name"]])
    executor = pipeline["deploymentSpec"]["executors"][component["executorLabel"]]
    label = "".join(f"-{c.lower()}" if c.isupper() else c for c in name).lstrip("-")
    component["executorLabel"] = f"exec-{label}"
    inputs = component.get("inputDefinitions", {})
    given = task.get("inputs", {}).get("parameters", {})
    for key, parameter in inputs.get("parameters", {}).items():
        default = _default(given.get(key, {}), spec.parameters)
        if default is not None:
            parameter |= {"defaultValue": default, "isOptional": True}
    outputs = component.get("outputDefinitions", {})
    for declared in (inputs, outputs):
        for artifact in declared.get("artifacts", {}).values():
            artifact["artifactType"] = dict(_ARTIFACT)
    own = {
        "cachingOptions": task.get("cachingOptions", {}),
        "componentRef": {"name": f"comp-{label}"},
        "taskInfo": {"name": label},
        "inputs": {
            "artifacts": {k: {"componentInputArtifact": k} for k in inputs.get("artifacts", {})},
            "parameters": {k: {"componentInputParameter": k} for k in inputs.get("parameters", {})},
        },
    }
    passed = {
        key: {"artifactSelectors": [{"outputArtifactKey": key, "producerSubtask": label}]}
        for key in outputs.get("artifacts", {})
    }
    return {
        "components": {f"comp-{label}": component},
        "deploymentSpec": {"executors": {f"exec-{label}": copy.deepcopy(executor)}},
        "pipelineInfo": {"name": label},
        "root": {
            "dag": {"tasks": {label: own}, "outputs": {"artifacts": passed}},
            "inputDefinitions": copy.deepcopy(inputs),
            "outputDefinitions": copy.deepcopy(outputs),
        },
        "schemaVersion": pipeline["schemaVersion"],
        "sdkVersion": pipeline["sdkVersion"],
    }


def _default(given: Mapping[str, Any], parameters: Mapping[str, Any]) -> Any:
    """The value that a parameter has in the compiled pipeline; None where there is none."""
    if "componentInputParameter" in given:
        return parameters[given["componentInputParameter"]].get("defaultValue")
    value = given.get("runtimeValue", {})
    return value.get("constant", value.get("constantValue"))


def _load(pipeline: Mapping[str, Any]) -> Any:
    import yaml

    try:
        from kfp import components
    except ImportError as error:
        raise UserError(f"kfp cannot be imported ({error}); install yt8m-pipeline[kfp]") from error
    loaded = components.load_component_from_text(yaml.safe_dump(dict(pipeline)))
    container = loaded.component_spec.implementation.container
    if container is not None and isinstance(container.env, list):
        # kfp (2.13.0 and 2.17.3) reads a list here, and expects a mapping when it compiles.
        container.env = {variable["name"]: variable["value"] for variable in container.env}
    return loaded
