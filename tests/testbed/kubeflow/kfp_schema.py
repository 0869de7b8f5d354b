"""Does a JSON value fit the Kubeflow Pipelines API? By the installed models, or by its OpenAPI."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import kfp_server_api

Check = Callable[[str, Any], list[str]]
_CONTAINER = re.compile(r"(?:list\[(.+)\]|dict\(str, (.+)\))")
_SCALARS = {"str": "string", "bool": "boolean", "int": "integer", "float": "number"}
_TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$"


def check_by_models(name: str, value: Any) -> list[str]:
    """Problems of `value` as the model `name` of the installed generated client."""
    return _problems(_models(), name, value)


def check_by_openapi(swagger: Path) -> Check:
    """A check by the real OpenAPI document of a Kubeflow Pipelines release."""
    document = json.loads(swagger.read_text(encoding="utf-8"))
    definitions = {name: _strict(d) for name, d in document["definitions"].items()}

    def check(name: str, value: Any) -> list[str]:
        wanted = name[0].lower() + name[1:]
        return _problems(definitions, wanted if wanted in definitions else name, value)

    return check


def _problems(definitions: dict[str, Any], name: str, value: Any) -> list[str]:
    schema = {"$ref": f"#/definitions/{name}", "definitions": definitions}
    validator = jsonschema.Draft4Validator(schema)
    return [f"{name}.{e.json_path}: {e.message}" for e in validator.iter_errors(value)]


@functools.cache
def _models() -> dict[str, Any]:
    models = {name: m for name, m in vars(kfp_server_api).items() if hasattr(m, "openapi_types")}
    return {name: _definition(model) for name, model in models.items()}


def _definition(model: Any) -> dict[str, Any]:
    if not model.openapi_types:  # an enumeration: its values are its upper-case attributes
        return {"enum": [v for k, v in vars(model).items() if k.isupper() and isinstance(v, str)]}
    kinds = {model.attribute_map[name]: kind for name, kind in model.openapi_types.items()}
    properties = {key: _schema(kind) for key, kind in kinds.items()}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _schema(kind: str) -> dict[str, Any]:
    if kind in _SCALARS:
        return {"type": _SCALARS[kind]}
    if kind == "datetime":
        return {"type": "string", "pattern": _TIME}
    if container := _CONTAINER.fullmatch(kind):
        item, value = container.groups()
        if item:
            return {"type": "array", "items": _schema(item)}
        return {"type": "object", "additionalProperties": _schema(value)}
    return {} if kind == "object" else {"$ref": f"#/definitions/{kind}"}


def _strict(schema: Any) -> Any:
    """Unknown fields are refused, as protobuf does; a bare `object` is protobuf's any value."""
    if isinstance(schema, list):
        return [_strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "object" and not schema.keys() & {
        "properties",
        "additionalProperties",
    }:
        return {}
    result = {key: _strict(value) for key, value in schema.items()}
    if "properties" in schema:
        result["properties"] = {k: _strict(v) for k, v in schema["properties"].items()}
        result.setdefault("additionalProperties", False)
    return result
