"""The training curve: one JSON object per line for each thing that happened.

`training.jsonl` holds rows of kind `train` (every `log.every_steps` steps), `validation` and
`checkpoint`; `evaluation.jsonl` those of continuous evaluation. docs/distributed-training.md lists
their fields.
"""

from __future__ import annotations

import json
from typing import Any

from yt8m.components import storage

TRAINING = "training.jsonl"
EVALUATION = "evaluation.jsonl"


def read_curve(path: str) -> list[dict[str, Any]]:
    """The rows of the file, none where there is no file; a line cut off by a kill is left out."""
    if not storage.exists(path):
        return []
    lines = storage.read_text(path).splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]
