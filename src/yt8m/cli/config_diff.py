"""Action of `yt8m config diff`."""

from __future__ import annotations

import json
from typing import Any

from yt8m.cli.arguments.config import ConfigDiffArguments
from yt8m.components.console.console import Console
from yt8m.pipeline.presets import load_config
from yt8m.schemas.config_tree import flatten, to_dict

_ABSENT = "-"


def run(args: ConfigDiffArguments, console: Console) -> None:
    """Print the table of differences; none is an answer, not a failure."""
    a, b = (flatten(to_dict(load_config(name))) for name in (args.a, args.b))
    keys = [
        key for key in dict.fromkeys([*a, *b]) if key not in a or key not in b or a[key] != b[key]
    ]
    differences = [
        {"key": key, **({"a": a[key]} if key in a else {}), **({"b": b[key]} if key in b else {})}
        for key in keys
    ]
    rows = [(key, _text(a, key), _text(b, key)) for key in keys]
    text = console.table(("key", args.a, args.b), rows) if rows else "no difference"
    console.result({"a": args.a, "b": args.b, "differences": differences}, text)


def _text(values: dict[str, Any], key: str) -> str:
    return json.dumps(values[key], ensure_ascii=False) if key in values else _ABSENT
