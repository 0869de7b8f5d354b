"""Does an object fit its CustomResourceDefinition? By a subset kept here, or by the real CRD."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import yaml

Check = Callable[[dict[str, Any]], list[str]]

_NAMES = {"type": "object", "additionalProperties": {"type": "string"}}


def _object(required: str = "", **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_YES = {"type": "boolean"}
_CONTAINER = _object(
    "name image",
    name=_TEXT,
    image={"type": "string", "minLength": 1},
    command=_list(_TEXT),
    env=_list(_object("name", name=_TEXT, value=_TEXT, valueFrom={"type": "object"})),
    envFrom=_list(_object("secretRef", secretRef=_object("name", name=_TEXT))),
    ports=_list(_object("containerPort", containerPort=_COUNT, name=_TEXT)),
    resources=_object(limits=_NAMES, requests=_NAMES),
    volumeMounts=_list(
        _object("name mountPath", name=_TEXT, mountPath=_TEXT, subPath=_TEXT, readOnly=_YES)
    ),
    terminationMessagePolicy={"enum": ["File", "FallbackToLogsOnError"]},
)
_POD = _object(
    "spec",
    metadata=_object(annotations=_NAMES, labels=_NAMES),
    spec=_object(
        "containers",
        containers=_list(_CONTAINER),
        volumes=_list(
            _object(
                "name",
                name=_TEXT,
                secret=_object("secretName", secretName=_TEXT),
                persistentVolumeClaim=_object("claimName", claimName=_TEXT, readOnly=_YES),
            )
        ),
        restartPolicy={"enum": ["Never", "OnFailure", "Always"]},
        serviceAccountName=_TEXT,
        nodeSelector=_NAMES,
        priorityClassName=_TEXT,
        imagePullSecrets=_list(_object("name", name=_TEXT)),
        affinity=_object(
            nodeAffinity=_object(
                requiredDuringSchedulingIgnoredDuringExecution=_object(
                    "nodeSelectorTerms",
                    nodeSelectorTerms=_list(
                        _object(
                            matchExpressions=_list(
                                _object(
                                    "key operator", key=_TEXT, operator=_TEXT, values=_list(_TEXT)
                                )
                            )
                        )
                    ),
                )
            )
        ),
        tolerations=_list(_object(key=_TEXT, operator=_TEXT, effect=_TEXT, value=_TEXT)),
    ),
)
_REPLICAS = _object(
    "replicas template",
    replicas=_COUNT,
    restartPolicy={"enum": ["Always", "OnFailure", "Never", "ExitCode"]},
    template=_POD,
)
_TFJOB = _object(
    "tfReplicaSpecs",
    runPolicy=_object(
        cleanPodPolicy={"enum": ["None", "Running", "All"]},
        backoffLimit=_COUNT,
        ttlSecondsAfterFinished=_COUNT,
    ),
    tfReplicaSpecs=_object(Chief=_REPLICAS, Worker=_REPLICAS, PS=_REPLICAS, Evaluator=_REPLICAS),
)
_JOB = _object(
    "template",
    parallelism=_COUNT,
    completions=_COUNT,
    completionMode={"enum": ["Indexed", "NonIndexed"]},
    backoffLimit=_COUNT,
    podFailurePolicy=_object(
        "rules",
        rules=_list(
            _object(
                "action onExitCodes",
                action={"enum": ["FailJob", "Ignore", "Count", "FailIndex"]},
                onExitCodes=_object(
                    "operator values",
                    containerName=_TEXT,
                    operator={"enum": ["In", "NotIn"]},
                    values=_list({"type": "integer"}),
                ),
            )
        ),
    ),
    template=_POD,
)
_JOBSET = _object(
    "replicatedJobs",
    network=_object(enableDNSHostnames=_YES, subdomain=_TEXT),
    successPolicy=_object(
        "operator", operator={"enum": ["All", "Any"]}, targetReplicatedJobs=_list(_TEXT)
    ),
    failurePolicy=_object(
        maxRestarts=_COUNT,
        rules=_list(
            _object(
                "name action",
                name={"type": "string", "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"},
                action={
                    "enum": ["FailJobSet", "RestartJobSet", "RestartJobSetAndIgnoreMaxRestarts"]
                },
                onJobFailureReasons=_list({"type": "string"}),
            )
        ),
    ),
    ttlSecondsAfterFinished=_COUNT,
    replicatedJobs=_list(
        _object("name template", name=_TEXT, replicas=_COUNT, template=_object("spec", spec=_JOB))
    ),
)
_SPECS = {"TFJob": _TFJOB, "JobSet": _JOBSET}


def check_by_subset(manifest: dict[str, Any]) -> list[str]:
    """By the part of both schemas that this project uses; anything else is a problem."""
    owner = _object("apiVersion kind name uid", apiVersion=_TEXT, kind=_TEXT, name=_TEXT, uid=_TEXT)
    metadata = _object(
        "name", name=_TEXT, labels=_NAMES, annotations=_NAMES, ownerReferences=_list(owner)
    )
    schema = _object(
        "apiVersion kind metadata spec",
        apiVersion=_TEXT,
        kind=_TEXT,
        metadata=metadata,
        spec=_SPECS[manifest["kind"]],
    )
    return _problems(schema, manifest)


def check_by_crd(path: Path) -> Check:
    """By the schema of a real CustomResourceDefinition; unknown fields are problems too."""
    crd = yaml.safe_load(path.read_text(encoding="utf-8"))
    schema = _closed(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
    return lambda manifest: _problems(schema, manifest)


def _problems(schema: Any, manifest: Any) -> list[str]:
    errors = jsonschema.Draft7Validator(schema).iter_errors(manifest)
    return [f"{error.json_path}: {error.message}" for error in errors]


def _closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: _closed(value) for key, value in schema.items() if key != "pattern"}
    properties = schema.get("properties")
    if isinstance(properties, dict) and schema.get("type") == "object":
        result["properties"] = {k: _closed(v) for k, v in properties.items()}
        result.setdefault("additionalProperties", False)
    return result
