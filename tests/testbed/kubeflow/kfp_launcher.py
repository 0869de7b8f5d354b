"""Runs a compiled pipeline as Kubeflow's open-source driver and launcher do, on one machine.

What it copies from them (what differs by version: kubeflow_facts.py): the schema version, no
resolvers, no lifecycle hooks, input artifacts with an EMPTY type and ids of the metadata store for
names, an output `executor-logs` of the launcher's own, URIs with a scheme whose files are in a
local directory of the task alone, `{{$}}` in arguments, the output file read back and merged, null
and NaN in metadata and links to directories fatal, an upload that a dangling link ends without a
word, empty directories lost, the cache by inputs. Each task is a process of its own with a
directory of its own as root of the launcher's local paths, which is removed afterwards, as a pod's
is. The object store is a directory; what a test mounts as a volume is a plain path.
"""

from __future__ import annotations

import copy
import graphlib
import hashlib
import json
import os
import shutil
import subprocess
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import warm_processes
import yaml
from kubeflow_facts import NEWEST, VERSIONS, Facts

_LOGS = "executor-logs"
_SCHEMES = {"gs://": "gcs", "s3://": "s3", "minio://": "minio"}
_TIMEOUT_S = 600
_NUMBERS = ("NUMBER_INTEGER", "NUMBER_DOUBLE")


class LauncherError(Exception):
    """The driver or the launcher refused, or a task failed."""


@dataclass
class TaskResult:
    name: str
    state: str  # SUCCEEDED, CACHED, FAILED
    artifacts: dict[str, dict[str, Any]] = field(default_factory=dict)
    log: str = ""


@dataclass
class Launcher:
    """The cluster: its object store and its cache live as long as this object does."""

    directory: Path
    version: str = NEWEST
    cache: dict[str, TaskResult] = field(default_factory=dict)
    last_artifact_id: int = 0

    @property
    def facts(self) -> Facts:
        return VERSIONS[self.version]

    @property
    def store(self) -> Path:
        return self.directory / "store"

    def run(
        self,
        file: Path,
        *,
        parameters: Mapping[str, Any] | None = None,
        root: str = "",
        run_id: str = "",
    ) -> dict[str, TaskResult]:
        """The tasks' results, in the order of their end; LauncherError where one fails."""
        spec, platform = read_spec(file)
        values = run_parameters(spec, parameters or {})
        run = _Run(
            launcher=self,
            spec=spec,
            values=values,
            platform=platform,
            root=_root(spec, root),
            run_id=run_id or uuid.uuid4().hex[:8],
        )
        for name in order(spec["root"]["dag"]["tasks"]):
            run.results[name] = run.task(name)
        return run.results

    def stored(self, uri: str) -> Path:
        """Where the object store keeps `uri`."""
        return _place(uri, self.store)


@dataclass
class _Run:
    launcher: Launcher
    spec: dict[str, Any]
    values: dict[str, Any]
    platform: dict[str, Any]
    root: str
    run_id: str
    results: dict[str, TaskResult] = field(default_factory=dict)

    def task(self, name: str) -> TaskResult:
        task = self.spec["root"]["dag"]["tasks"][name]
        component = self.spec["components"][task["componentRef"]["name"]]
        executor = self.spec["deploymentSpec"]["executors"][component["executorLabel"]]
        if "container" not in executor:
            raise LauncherError(f"{name}: resolver executors not implemented")
        task_root = f"{self.root}/{self.spec['pipelineInfo']['name']}/{self.run_id}/{name}"
        pod = self.launcher.directory / "pods" / self.run_id / name
        invocation = {
            "inputs": self._inputs(task, component),
            "outputs": self._outputs(component, task_root, pod),
        }
        key = _fingerprint(invocation, component, executor)
        if task.get("cachingOptions", {}).get("enableCache") and key in self.launcher.cache:
            return TaskResult(name, "CACHED", self.launcher.cache[key].artifacts)
        try:
            result = self._launch(name, executor["container"], invocation, pod)
        finally:
            shutil.rmtree(pod, ignore_errors=True)
        self.launcher.cache[key] = result
        return result

    def _inputs(self, task: Mapping[str, Any], component: Mapping[str, Any]) -> dict[str, Any]:
        given = task.get("inputs", {})
        declared = component.get("inputDefinitions", {})
        parameters = {}
        for key, source in given.get("parameters", {}).items():
            if key not in declared["parameters"]:
                raise LauncherError(f"parameter {key!r} is not declared")
            parameters[key] = self._parameter(source)
        artifacts = {}
        for key, source in given.get("artifacts", {}).items():
            producer = source["taskOutputArtifact"]
            made = self.results[producer["producerTask"]].artifacts[producer["outputArtifactKey"]]
            given = {**copy.deepcopy(made), "type": {"instanceSchema": ""}}
            given["metadata"]["display_name"] = producer["outputArtifactKey"]
            if self.launcher.facts.store_session_info:
                given["metadata"].setdefault("store_session_info", '{"Provider":"s3"}')
            artifacts[key] = {"artifacts": [given]}
        return {"parameterValues": parameters, "artifacts": artifacts}

    def _parameter(self, source: Mapping[str, Any]) -> Any:
        if "componentInputParameter" in source:
            return self.values[source["componentInputParameter"]]
        value = source.get("runtimeValue", {})
        if "constant" not in value:
            raise LauncherError(f"unsupported parameter source {source}")
        return value["constant"]

    def _outputs(self, component: Mapping[str, Any], task_root: str, pod: Path) -> dict[str, Any]:
        facts = self.launcher.facts
        if facts.salted_uris:
            task_root = f"{task_root}/{uuid.uuid4()}"
        declared = dict(component.get("outputDefinitions", {}).get("artifacts", {}))
        if facts.executor_logs:
            declared[_LOGS] = {"artifactType": {"schemaTitle": "system.Artifact"}}
        artifacts = {}
        for key, output in declared.items():
            artifact = {"uri": f"{task_root}/{key}", "type": output["artifactType"]}
            if facts.named_outputs:
                artifact["name"] = key
            artifacts[key] = {"artifacts": [artifact]}
        place = "tmp/kfp_outputs"
        if facts.output_file_in_task_root:
            place = str(_place(task_root, pod).relative_to(pod))
        output_file = str(pod / place / "output_metadata.json")
        return {"artifacts": artifacts, "outputFile": output_file}

    def _launch(
        self, name: str, container: Mapping[str, Any], invocation: dict[str, Any], pod: Path
    ) -> TaskResult:
        for given in invocation["inputs"]["artifacts"].values():
            self._download(given["artifacts"][0]["uri"], pod)
        for given in invocation["outputs"]["artifacts"].values():
            _place(given["artifacts"][0]["uri"], pod).parent.mkdir(parents=True, exist_ok=True)
        Path(invocation["outputs"]["outputFile"]).parent.mkdir(parents=True, exist_ok=True)
        log = self.launcher.directory / "logs" / self.run_id / f"{name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        command = _substitute([*container["command"], *container.get("args", [])], invocation)
        if command[0] != "python":
            raise LauncherError(f"{name}: the command is {command[0]}, and no Python")
        environment = {v["name"]: v["value"] for v in container.get("env", [])}
        with log.open("wb") as stream:
            process = warm_processes.Popen(
                *command[1:],
                stdout=stream,
                stderr=subprocess.STDOUT,
                cwd=pod,
                env={**_container_environment(pod), **environment},
            )
            try:
                code = process.wait(_TIMEOUT_S)
            finally:
                process.kill()
        text = log.read_text(errors="replace")
        if code == 0 or self.launcher.facts.logs_after_failure:
            self._keep_log(invocation, text)
        if code:
            raise LauncherError(f"{name}: exit code {code}\n{text[-6000:]}")
        return TaskResult(name, "SUCCEEDED", self._collect(invocation, pod), text)

    def _download(self, uri: str, pod: Path) -> None:
        source, target = self.launcher.stored(uri), _place(uri, pod)
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        elif source.exists():
            shutil.copy(source, target)

    def _keep_log(self, invocation: Mapping[str, Any], text: str) -> None:
        """The launcher writes and uploads its own output."""
        if _LOGS in invocation["outputs"]["artifacts"]:
            uri = invocation["outputs"]["artifacts"][_LOGS]["artifacts"][0]["uri"]
            stored = self.launcher.stored(uri)
            stored.parent.mkdir(parents=True, exist_ok=True)
            stored.write_text(text)

    def _collect(self, invocation: Mapping[str, Any], pod: Path) -> dict[str, dict[str, Any]]:
        """What the executor reported, merged into what the driver had planned; files uploaded."""
        file = Path(invocation["outputs"]["outputFile"])
        report = json.loads(file.read_text()) if file.exists() else {}
        made = {}
        for key, given in invocation["outputs"]["artifacts"].items():
            if key == _LOGS:
                continue
            artifact = given["artifacts"][0]
            artifact.setdefault("metadata", {})
            for told in report.get("artifacts", {}).get(key, {}).get("artifacts", [])[:1]:
                _check_report(told, key)
                artifact["uri"] = told.get("uri") or artifact["uri"]
                artifact["metadata"] |= told.get("metadata", {})
            if artifact["uri"].startswith(tuple(_SCHEMES)):
                _upload(_place(artifact["uri"], pod), self.launcher.stored(artifact["uri"]))
            self.launcher.last_artifact_id += 1
            artifact["name"] = str(self.launcher.last_artifact_id)
            made[key] = artifact
        return made


def _upload(source: Path, target: Path) -> None:
    """File by file, through links; an object store has no directories."""
    if source.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
        return
    for path in sorted(source.rglob("*")):  # nothing there: Kubeflow only warns
        if path.is_symlink() and not path.exists():
            return  # and the task succeeds
        if path.is_symlink() and path.is_dir():
            raise LauncherError(f"uploadFile(): unable to complete copying {path}: is a directory")
        if path.is_file():
            stored = target / path.relative_to(source)
            stored.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, stored)


def read_spec(file: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    documents = list(yaml.safe_load_all(file.read_text()))
    spec = documents[0]
    if "pipelineSpec" in spec or spec.get("schemaVersion") != "2.1.0":
        raise LauncherError("KFP only supports schema version 2.1.0")
    return spec, documents[1] if len(documents) > 1 else {}


def _root(spec: Mapping[str, Any], root: str) -> str:
    root = root or spec.get("defaultPipelineRoot", "")
    if not root.startswith(tuple(_SCHEMES)):
        raise LauncherError(f"pipeline root {root!r}: unsupported storage scheme")
    return root.rstrip("/")


def run_parameters(spec: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    declared = spec["root"].get("inputDefinitions", {}).get("parameters", {})
    for name in given:
        if name not in declared:
            raise LauncherError(f"parameter {name!r} is not in the spec")
    values = {}
    for name, parameter in declared.items():
        value = given.get(name, parameter.get("defaultValue"))
        is_number = parameter["parameterType"] in _NUMBERS
        if is_number is not isinstance(value, int | float):
            raise LauncherError(f"parameter {name!r} = {value!r} is no {parameter}")
        values[name] = value
    return values


def order(tasks: Mapping[str, Any]) -> list[str]:
    sorter = graphlib.TopologicalSorter({n: t.get("dependentTasks", []) for n, t in tasks.items()})
    sorter.prepare()
    ordered: list[str] = []
    while sorter:
        ordered += (ready := sorted(sorter.get_ready()))
        sorter.done(*ready)
    return ordered


def _fingerprint(
    invocation: Mapping[str, Any], component: Mapping[str, Any], executor: Mapping[str, Any]
) -> str:
    inputs = invocation["inputs"]
    names = {k: v["artifacts"][0]["name"] for k, v in inputs["artifacts"].items()}
    outputs = component.get("outputDefinitions", {})
    content = [inputs["parameterValues"], names, outputs, executor["container"]]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _substitute(words: list[str], invocation: Mapping[str, Any]) -> list[str]:
    known = {"{{$}}": json.dumps(invocation)}
    for side in ("inputs", "outputs"):
        for key, given in invocation[side]["artifacts"].items():
            known[f"{{{{$.{side}.artifacts['{key}'].uri}}}}"] = given["artifacts"][0]["uri"]
    for placeholder, value in known.items():
        words = [word.replace(placeholder, value) for word in words]
    return words


def _place(uri: str, root: Path) -> Path:
    """Below the object store's directory, or a task's own."""
    for scheme, directory in _SCHEMES.items():
        if uri.startswith(scheme):
            return root / directory / uri.removeprefix(scheme)
    raise LauncherError(f"failed to generate a path for URI {uri}: unsupported storage scheme")


def _check_report(artifact: Mapping[str, Any], key: str) -> None:
    """At these both launchers stop."""
    unknown = set(artifact) - {"name", "type", "uri", "metadata"}
    metadata = artifact.get("metadata", {})
    bad = [v for v in metadata.values() if v is None or v != v]
    if unknown or bad:
        raise LauncherError(f"{key}: unknown fields {unknown}, or null or NaN in {metadata}")


def _container_environment(pod: Path) -> dict[str, str]:
    """Little of the caller's, as in a container."""
    kept = ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "TF_CPP_MIN_LOG_LEVEL")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    return {
        **environment,
        "YT8M_LAUNCHER_ROOT": str(pod),
        "TMPDIR": os.environ.get("TMPDIR", "/tmp"),
    }
