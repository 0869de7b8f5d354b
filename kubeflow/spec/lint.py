"""Checks before the upload for whatever the open-source backend refuses or silently ignores."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from yt8m.schemas.errors import ConfigError
from yt8m.schemas.kubernetes import DNS_LABEL

SCHEMA_VERSION = "2.1.0"
ROOT_SCHEMES = ("gs://", "s3://", "minio://")
_LAUNCHERS_OWN = ("/gcs/", "/s3/", "/minio/", "/kfp-launcher/")
_STOCK_ENTRY = "tfx.orchestration.kubeflow.v2.container"
# One argument of a process may have 128 KiB on Linux, and the values of the inputs come on top.
_LONGEST_ARGUMENT = 100_000
# What a task's inputs are in its pod's arguments, with room for its artifacts.
_LONGEST_INPUTS = 110_000
_LONGEST_LABEL = 63


def lint(spec: Mapping[str, Any], platform: Mapping[str, Any]) -> None:
    """Raise one ConfigError that lists every problem by its place in the YAML."""
    problems = [f"{where}: {what}" for where, what in find_problems(spec, platform)]
    if problems:
        raise ConfigError(problems)


def root_problem(root: str) -> str:
    """The problem of a pipeline root; "" for none."""
    if not root.startswith(ROOT_SCHEMES):
        return f"the launcher writes to {', '.join(ROOT_SCHEMES)} alone"
    bucket = root.split("://", 1)[1].split("/", 1)[0]
    return "" if bucket else "names no bucket"


def find_problems(
    spec: Mapping[str, Any], platform: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """(path, problem) for each thing that would not run."""
    if "pipelineSpec" in spec:
        yield "pipelineSpec", "a PipelineJob wrapper, which only Vertex takes; write YAML"
        return
    version = spec.get("schemaVersion")
    if version != SCHEMA_VERSION:
        yield "schemaVersion", f"{version!r}; the backend takes {SCHEMA_VERSION} alone"
    name = str(spec.get("pipelineInfo", {}).get("name", ""))
    if len(name) > _LONGEST_LABEL:
        yield "pipelineInfo.name", f"{len(name)} characters; labels of pods hold {_LONGEST_LABEL}"
    root = str(spec.get("defaultPipelineRoot") or "")
    if problem := root_problem(root):
        yield "defaultPipelineRoot", f"{root!r}; {problem} (--root)"
    nulls = list(_nulls(spec, ""))
    yield from nulls
    if nulls:  # what stands below them cannot be looked at
        return
    yield from _executors(spec)
    yield from _tasks(spec)
    yield from _platform(spec, platform)


def _nulls(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if value is None:
        yield path, "null, at which the launcher stops"
    elif isinstance(value, Mapping):
        for key, below in value.items():
            yield from _nulls(below, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from _nulls(below, f"{path}[{index}]")


def _executors(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for label, executor in spec.get("deploymentSpec", {}).get("executors", {}).items():
        path = f"deploymentSpec.executors.{label}"
        if "resolver" in executor:
            yield f"{path}.resolver", "resolvers are not implemented; use a component (Baseline)"
        container = executor.get("container")
        if container is None:
            continue
        if not container.get("image"):
            yield f"{path}.container.image", "missing (--image)"
        if "lifecycle" in container:
            yield f"{path}.container.lifecycle", "hooks are never run, so {SPAN} stays as it is"
        command = container.get("command", [])
        if not command:
            yield f"{path}.container.command", "missing; the launcher needs one"
        if any(_STOCK_ENTRY in word for word in command):
            yield f"{path}.container.command", "TFX's own entry point fails on untyped artifacts"
        for index, argument in enumerate(container.get("args", [])):
            if isinstance(argument, str) and len(argument) > _LONGEST_ARGUMENT:
                yield f"{path}.container.args[{index}]", f"{len(argument)} characters, too long"


def _tasks(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    root = spec.get("root", {})
    inputs = root.get("inputDefinitions", {}).get("parameters", {})
    tasks = root.get("dag", {}).get("tasks", {})
    for name, task in tasks.items():
        path = f"root.dag.tasks.{name}"
        for other in task.get("dependentTasks", []):
            if other not in tasks:
                yield f"{path}.dependentTasks", f"no task {other!r}"
        for key, given in task.get("inputs", {}).get("parameters", {}).items():
            where = f"{path}.inputs.parameters.{key}"
            if "runtimeParameter" in given.get("runtimeValue", {}):
                yield where, "runtimeParameter is of schema 2.0; use componentInputParameter"
            wanted = given.get("componentInputParameter")
            if wanted is not None and wanted not in inputs:
                yield where, f"the pipeline has no input {wanted!r}"
        travels = _bytes_of_inputs(task)
        if travels > _LONGEST_INPUTS:
            yield (
                f"{path}.inputs.parameters",
                f"{travels} bytes with all of their values, too long for one argument of its pod "
                f"(at most {_LONGEST_INPUTS}); of file patterns write fewer, with * and ?",
            )
        for key, given in task.get("inputs", {}).get("artifacts", {}).items():
            producer = given.get("taskOutputArtifact", {}).get("producerTask")
            if producer is not None and producer not in tasks:
                yield f"{path}.inputs.artifacts.{key}", f"no task {producer!r}"


def _bytes_of_inputs(task: Mapping[str, Any]) -> int:
    """The driver hands all parameters over as JSON in one argument: JSON within JSON."""
    given = task.get("inputs", {}).get("parameters", {})
    values = {key: value.get("runtimeValue", {}).get("constant") for key, value in given.items()}
    return len(json.dumps({"parameterValues": values}).encode())


def _platform(spec: Mapping[str, Any], platform: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    labels = spec.get("deploymentSpec", {}).get("executors", {})
    for name, content in platform.get("platforms", {}).items():
        for label, pod in content.get("deploymentSpec", {}).get("executors", {}).items():
            where = f"platforms.{name}.deploymentSpec.executors.{label}"
            if label not in labels:
                yield where, "no such executor"
            yield from _mounts(pod, where)


def _mounts(pod: Mapping[str, Any], where: str) -> Iterator[tuple[str, str]]:
    """Report mounts that Kubernetes refuses, hours after the upload."""
    claims = [str(mount.get("constant", "")) for mount in pod.get("pvcMount", [])]
    for claim in sorted(set(claims)):
        path = f"{where}.pvcMount"
        if not DNS_LABEL.fullmatch(claim):  # the driver names a volume after its claim
            yield path, f"claim {claim!r}: at most 63 lower-case letters, digits and dashes, no dot"
        if claims.count(claim) > 1:
            yield path, f"claim {claim!r} twice; mount it once, at a directory above both"
    for key in ("pvcMount", "secretAsVolume", "configMapAsVolume", "emptyDirMounts"):
        for mount in pod.get(key, []):
            path = str(mount.get("mountPath", "")).rstrip("/")
            if f"{path}/".startswith(_LAUNCHERS_OWN) or not path:
                yield f"{where}.{key}", f"{path or '/'}: the launcher keeps artifacts there"
