"""Size of a run's Workflow status, by arithmetic on the compiled pipeline.

Argo keeps a Workflow in one object of at most 1 MiB, most of which are the pods' patches: for each
task its definition, its container and everything that it is given, six times over. Above the limit
Argo stores it compressed, and Kubeflow's task list stands still. Counted as Kubeflow 2.17.0 and
Argo 4.0.5 do, whose driver, retry nodes and launcher command these are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

LIMIT_BYTES = 1 << 20
# Driver, its attempt, executor, its attempt, container, its attempt: each has the patch.
_PATCHES = 6
_DRIVERS = 2  # the driver and its attempt have what the patch is made of
_NODES_OF_ALL = 6  # the graph, its driver and the entry point, with their attempts
_NODE_BYTES = 1550  # of what each node has besides
_UUID = "00000000-0000-4000-8000-000000000000"
# Properties of an artifact that one task hands to another: five of its own, on average.
METADATA: Mapping[str, Any] = {
    "display_name": "examples",
    "store_session_info": "",  # left empty by `container/launcher.py`
    **{f"property_{index}": "value" for index in range(5)},
}
_LAUNCHER = (
    *("/kfp-launcher/launch", "--pipeline_name", "{name}", "--run_id", _UUID),
    *("--execution_id", "36", "--executor_input", "{executor_input}"),
    *("--component_spec", "{component}", "--pod_name", "$(KFP_POD_NAME)"),
    *("--pod_uid", "$(KFP_POD_UID)"),
    *("--ml_pipeline_server_address", "ml-pipeline.kubeflow.svc.cluster.local"),
    *("--ml_pipeline_server_port", "8887"),
    *("--mlmd_server_address", "metadata-grpc-service.kubeflow.svc.cluster.local"),
    *("--mlmd_server_port", "8080", "--publish_logs", "true", "--publish_logs", "true", "--"),
)


def status_bytes(spec: Mapping[str, Any], platform: Mapping[str, Any]) -> int:
    """The size of the status when every task has run once."""
    tasks = spec["root"]["dag"]["tasks"]
    total = _NODE_BYTES * (_PATCHES * len(tasks) + _NODES_OF_ALL)
    for name, task in tasks.items():
        pod = _Pod(spec, platform, name)
        given = (pod.component, task, pod.container, pod.kubernetes)
        total += _DRIVERS * sum(_stored(_compact(value)) for value in given)
        total += _PATCHES * _stored(pod.patch())
    return total


def patch_bytes(
    spec: Mapping[str, Any],
    platform: Mapping[str, Any],
    task: str,
    metadata: Mapping[str, Any] = METADATA,
) -> int:
    """The size of what the driver writes for the pod of `task`, whose inputs have `metadata`."""
    return len(_Pod(spec, platform, task).patch(metadata))


def _stored(text: str) -> int:
    """The bytes of `text` in a JSON object."""
    return len(json.dumps(text))


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


class _Pod:
    """A task's pod, as the driver is told of it and describes it."""

    def __init__(self, spec: Mapping[str, Any], platform: Mapping[str, Any], task: str) -> None:
        self._spec, self._task = spec, task
        name = spec["root"]["dag"]["tasks"][task]["componentRef"]["name"]
        self.component: Mapping[str, Any] = spec["components"][name]
        label = self.component["executorLabel"]
        executors = spec["deploymentSpec"]["executors"]
        self.container: Mapping[str, Any] = executors[label].get("container", {})
        pods = platform.get("platforms", {}).get("kubernetes", {}).get("deploymentSpec", {})
        self.kubernetes: Mapping[str, Any] = pods.get("executors", {}).get(label, {})

    def patch(self, metadata: Mapping[str, Any] = METADATA) -> str:
        given = _executor_input(self._spec, self._task, self.component, metadata)
        texts = {
            "{name}": self._spec["pipelineInfo"]["name"],
            "{executor_input}": _compact(given),
            "{component}": _compact(self.component),
        }
        container = {
            "name": "main",
            "image": self.container.get("image", ""),
            "command": [texts.get(word, word) for word in _LAUNCHER],
            "args": [*self.container.get("command", []), *self.container.get("args", [])],
            "env": self.container.get("env", []),
            "resources": self.container.get("resources", {}),
        }
        return _compact({"containers": [container], **self.kubernetes})


def _executor_input(
    spec: Mapping[str, Any],
    name: str,
    component: Mapping[str, Any],
    metadata: Mapping[str, Any],
) -> dict[str, Any]:
    inputs = spec["root"]["dag"]["tasks"][name].get("inputs", {})
    defaults = spec["root"].get("inputDefinitions", {}).get("parameters", {})
    place = f"{spec.get('defaultPipelineRoot', '')}/{spec['pipelineInfo']['name']}/{_UUID}"
    parameters = {
        key: given["runtimeValue"]["constant"]
        if "runtimeValue" in given
        else defaults.get(given["componentInputParameter"], {}).get("defaultValue", "")
        for key, given in inputs.get("parameters", {}).items()
    }
    artifacts = {
        key: _artifact(key, f"{place}/{given['taskOutputArtifact']['producerTask']}", metadata)
        for key, given in inputs.get("artifacts", {}).items()
    }
    declared = component.get("outputDefinitions", {}).get("artifacts", {})
    outputs = {
        key: _artifact(key, f"{place}/{name}", {}, output["artifactType"])
        for key, output in declared.items()
    }
    outputs["executor-logs"] = _artifact("executor-logs", f"{place}/{name}", {}, _LOGS)
    return {
        "inputs": {"artifacts": artifacts, "parameterValues": parameters},
        "outputs": {
            "artifacts": outputs,
            "outputFile": f"/s3/{place}/{name}/{_UUID}/output_metadata.json",
        },
    }


_LOGS = {"schemaTitle": "system.Artifact", "schemaVersion": "0.0.1"}


def _artifact(
    key: str, place: str, metadata: Mapping[str, Any], kind: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    artifact = {
        "name": key,
        "type": kind or {"instanceSchema": ""},
        "uri": f"{place}/{_UUID}/{key}",
        "metadata": metadata,
    }
    return {"artifacts": [{name: value for name, value in artifact.items() if value}]}
