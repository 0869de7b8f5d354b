"""Parameters as short as Kubeflow needs them.

The status of a Workflow repeats what its tasks are given six times, and escapes every quote of it
three times over; above 1 MiB Kubeflow's task list stands still. YAML in one line says what JSON
says with a tenth of the quotes. The longest texts (a whole configuration, a schema) are compressed.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Mapping
from typing import Any

_YAML, _ZLIB = "yaml: ", "zlib: "
_LONG = 200  # characters; below, JSON stays as it is
_LONGEST = 600  # characters of a text that is still written to be read


def shortened(text: str) -> str:
    """A long JSON object as YAML in one line, a very long text compressed; others as they are."""
    if len(text) > _LONGEST:
        # In base 64, since Kubernetes, Argo and Go each replace something in richer alphabets.
        return _ZLIB + base64.b64encode(zlib.compress(text.encode(), 9)).decode()
    return _as_yaml(text) if len(text) >= _LONG and text.startswith("{") else text


def is_compressed(value: object) -> bool:
    """Whether `shortened` made it by zlib, whose bytes differ from version to version."""
    return isinstance(value, str) and value.startswith(_ZLIB)


def restored(text: str) -> str:
    """The inverse of `shortened`."""
    import yaml

    if text.startswith(_ZLIB):
        return zlib.decompress(base64.b64decode(text[len(_ZLIB) :])).decode()
    return json.dumps(yaml.safe_load(text[len(_YAML) :])) if text.startswith(_YAML) else text


def restored_all(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a task with their texts restored."""
    return {
        name: restored(value) if isinstance(value, str) else value
        for name, value in parameters.items()
    }


def _as_yaml(text: str) -> str:
    import yaml

    try:
        value = json.loads(text)
    except ValueError:
        return text
    short = yaml.safe_dump(value, default_flow_style=True, width=math.inf, sort_keys=False)
    short = _YAML + short.rstrip("\n")
    return short if restored(short) == text else text
