"""A compiled pipeline on disk or on the server: its name, its parameters, its content's name."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from yt8m.kubeflow.config import ACCOUNT_VARIABLE
from yt8m.kubeflow.parameter_text import is_compressed, restored
from yt8m.schemas.errors import UserError

_NUMBERS = {"NUMBER_INTEGER": int, "NUMBER_DOUBLE": float}


@dataclass(frozen=True, kw_only=True)
class Spec:
    """The documents of a compiled pipeline: the pipeline's, then perhaps the platform's."""

    pipeline: Mapping[str, Any]
    platform: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return str(self.pipeline.get("pipelineInfo", {}).get("name", ""))

    @property
    def root(self) -> str:
        """Where artifacts go unless a run says otherwise."""
        return str(self.pipeline.get("defaultPipelineRoot", ""))

    @property
    def service_account(self) -> str:
        """The account that it was compiled for; empty where none was named."""
        executors = self.pipeline.get("deploymentSpec", {}).get("executors", {})
        accounts = (
            variable["value"]
            for executor in executors.values()
            for variable in executor.get("container", {}).get("env", [])
            if variable["name"] == ACCOUNT_VARIABLE
        )
        return next(accounts, "")

    @property
    def parameters(self) -> Mapping[str, Mapping[str, Any]]:
        inputs = self.pipeline.get("root", {}).get("inputDefinitions", {})
        parameters: Mapping[str, Mapping[str, Any]] = inputs.get("parameters", {})
        return parameters

    def constant(self, component: str, parameter: str) -> Mapping[str, Any]:
        """The mapping that was compiled into a component's parameter; empty without one."""
        task = self.pipeline.get("root", {}).get("dag", {}).get("tasks", {}).get(component, {})
        given = task.get("inputs", {}).get("parameters", {}).get(parameter, {})
        text = given.get("runtimeValue", {}).get("constant") or "{}"
        value: Mapping[str, Any] = json.loads(restored(text))
        return value

    @property
    def version_name(self) -> str:
        """A name for the content: comments, order of keys and white space do not count.

        Nor does the library that compressed long parameters, whose bytes differ by its version.
        """
        content = json.dumps(_decompressed([self.pipeline, self.platform]), sort_keys=True)
        return "sha256-" + hashlib.sha256(content.encode()).hexdigest()[:16]

    def parse_parameters(self, settings: Iterable[str]) -> dict[str, Any]:
        """`name=value` texts as typed values, checked against what the pipeline takes."""
        values: dict[str, Any] = {}
        for setting in settings:
            name, equals, text = setting.partition("=")
            if not equals:
                raise UserError(f"--param {setting}: write it as name=value")
            if name not in self.parameters:
                close = difflib.get_close_matches(name, self.parameters, n=1)
                known = ", ".join(sorted(self.parameters)) or "none"
                hint = f"did you mean {close[0]}?" if close else f"it takes {known}"
                raise UserError(
                    f"--param {name}: pipeline {self.name!r} has no such parameter; {hint}"
                )
            kind = str(self.parameters[name].get("parameterType", "STRING"))
            values[name] = _convert(text, kind, name)
        return values


def read_spec(path: str) -> Spec:
    """The compiled pipeline in the YAML file `path`."""
    import yaml

    try:
        documents = list(yaml.safe_load_all(Path(path).read_text(encoding="utf-8")))
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; `yt8m kubeflow compile` writes it") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not YAML: {error}") from error
    pipeline, platform = ([d for d in documents if d] + [{}, {}])[:2]
    lacking = _lacking(pipeline)
    if lacking or not isinstance(platform, Mapping):
        why = f"no {lacking} in it" if lacking else "its second document is not a platform's"
        raise UserError(
            f"{path} is not a compiled pipeline ({why}); `yt8m kubeflow compile` writes one"
        )
    return Spec(pipeline=pipeline, platform=platform)


def _lacking(pipeline: Any) -> str:
    """The first part that a pipeline has and this has not; a file that is cut off has no end."""
    parts = pipeline if isinstance(pipeline, Mapping) else {}
    for name in ("pipelineInfo", "root"):
        if not isinstance(parts.get(name), Mapping):
            return name
    return "" if "schemaVersion" in parts else "schemaVersion"


def server_spec(data: Mapping[str, Any]) -> Spec:
    """The form that the server keeps: the pipeline alone, or a mapping of both documents."""
    if "pipeline_spec" in data:
        return Spec(pipeline=data["pipeline_spec"], platform=data.get("platform_spec") or {})
    return Spec(pipeline=data)


def _decompressed(document: Any) -> Any:
    if isinstance(document, Mapping):
        return {key: _decompressed(below) for key, below in document.items()}
    if isinstance(document, list):
        return [_decompressed(below) for below in document]
    return restored(document) if is_compressed(document) else document


def _convert(text: str, kind: str, name: str) -> Any:
    if kind in _NUMBERS:
        try:
            return _NUMBERS[kind](text)
        except ValueError:
            whole = "a whole number" if kind == "NUMBER_INTEGER" else "a number"
            raise UserError(f"--param {name}={text}: must be {whole}") from None
    if kind == "BOOLEAN":
        if text.lower() not in ("true", "false"):
            raise UserError(f"--param {name}={text}: must be true or false")
        return text.lower() == "true"
    return text
