"""Holds events against OpenLineage's own JSON schemas."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

SCHEMAS = Path(__file__).parents[1] / "golden" / "openlineage"


def check_event(event: dict[str, Any]) -> int:
    """The number of its facets; ValidationError where the event or one of them is not as it says.

    A schema of another version than those here is referencing's Unresolvable.
    """
    _validate(event["schemaURL"], event)
    holders = (event["run"], event["job"], *event["inputs"], *event["outputs"])
    facets = [facet for holder in holders for facet in holder["facets"].values()]
    for facet in facets:
        _validate(facet["_schemaURL"], facet)
    return len(facets)


def _validate(schema: str, value: Any) -> None:
    validator = Draft202012Validator(
        {"$ref": schema},
        registry=_registry(),
        format_checker=Draft202012Validator.FORMAT_CHECKER,
    )
    validator.validate(value)


@functools.cache
def _registry() -> Registry[Any]:
    contents = [json.loads(file.read_text()) for file in SCHEMAS.glob("*.json")]
    return Registry().with_resources((c["$id"], Resource.from_contents(c)) for c in contents)
