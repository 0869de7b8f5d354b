"""Does a JSON value fit the Kubeflow Pipelines API? By the installed models, or by its OpenAPI."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import kfp_server_api

Check = Callable[[str, Any], list[str]]
_CONTAINER = re.compile(r"(list|dict)(?:\[(.+)\]|\(str, (.+)\))")


def check_by_models(name: str, value: Any) -> list[str]:
    """Problems of `value` as the model `name` of the installed generated client."""
    return _check(name, value, name)


def _check(kind: str, value: Any, path: str) -> list[str]:
    container = _CONTAINER.fullmatch(kind)
    if container and container[1] == "list":
        if not isinstance(value, list):
            return [f"{path}: must be a list"]
        return [p for i, v in enumerate(value) for p in _check(container[2], v, f"{path}[{i}]")]
    if kind == "object":
        return []
    if container:
        if not isinstance(value, dict):
            return [f"{path}: must be an object"]
        return [p for k, v in value.items() for p in _check(container[3], v, f"{path}.{k}")]
    scalars: dict[str, Any] = {"str": str, "bool": bool, "int": int, "float": (int, float)}
    if kind in scalars:
        return [] if isinstance(value, scalars[kind]) else [f"{path} = {value!r}: must be {kind}"]
    if kind == "datetime":
        return _check_time(value, path)
    return _check_model(getattr(kfp_server_api, kind), value, path)


def _check_model(model: Any, value: Any, path: str) -> list[str]:
    if not model.openapi_types:  # an enumeration: its values are its upper-case attributes
        allowed = [v for k, v in vars(model).items() if k.isupper() and isinstance(v, str)]
        return [] if value in allowed else [f"{path} = {value!r}: must be one of {allowed}"]
    if not isinstance(value, dict):
        return [f"{path}: must be an object"]
    by_key = {model.attribute_map[name]: kind for name, kind in model.openapi_types.items()}
    problems = [f"{path}.{key}: unknown field" for key in value if key not in by_key]
    for key, kind in by_key.items():
        if key in value:
            problems += _check(kind, value[key], f"{path}.{key}")
    return problems


def _check_time(value: Any, path: str) -> list[str]:
    try:
        datetime.fromisoformat(value.replace("Z", "+00:00"))
    except (ValueError, AttributeError):
        return [f"{path} = {value!r}: must be a date-time"]
    return []


def check_by_openapi(swagger: Path) -> Check:
    """A check by the real OpenAPI document of a Kubeflow Pipelines release."""
    import jsonschema

    document = json.loads(swagger.read_text(encoding="utf-8"))
    definitions = {name: _strict(d) for name, d in document["definitions"].items()}

    def check(name: str, value: Any) -> list[str]:
        wanted = name[0].lower() + name[1:]
        known = wanted if wanted in definitions else name
        schema = {"$ref": f"#/definitions/{known}", "definitions": definitions}
        validator = jsonschema.Draft4Validator(schema)
        return [f"{name}.{e.json_path}: {e.message}" for e in validator.iter_errors(value)]

    return check


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
