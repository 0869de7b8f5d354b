"""Parameters as short as Kubeflow needs them.

The status of a Workflow repeats what its tasks are given six times, and escapes every quote of it
three times over; above 1 MiB Kubeflow's task list stands still. YAML in one line says what JSON
says with a tenth of the quotes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

_MARK = "yaml: "
_LONG = 200  # characters; below, JSON stays as it is


def shortened(text: str) -> str:
    """A long JSON object as YAML in one line; any other text as it is."""
    import yaml

    if len(text) < _LONG or not text.startswith("{"):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text
    short = yaml.safe_dump(value, default_flow_style=True, width=math.inf, sort_keys=False)
    short = _MARK + short.rstrip("\n")
    return short if restored(short) == text else text


def restored(text: str) -> str:
    """The inverse of `shortened`."""
    import yaml

    return json.dumps(yaml.safe_load(text[len(_MARK) :])) if text.startswith(_MARK) else text


def restored_all(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a task with their texts restored."""
    return {
        name: restored(value) if isinstance(value, str) else value
        for name, value in parameters.items()
    }
