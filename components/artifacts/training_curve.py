"""The training curve: one JSON object per line for each thing that happened.

`training.jsonl` holds rows of kind `train` (every `log.every_steps` steps), `validation` and
`checkpoint`; `evaluation.jsonl` those of continuous evaluation. docs/distributed-training.md lists
their fields. The first line is of kind `file`, and says the format and the writer.
"""

from __future__ import annotations

import json
from typing import Any

from yt8m.components import storage
from yt8m.schemas.json_file import check_stamp, reading, stamp

TRAINING = "training.jsonl"
EVALUATION = "evaluation.jsonl"
_HEAD = "file"  # the kind of the first row


def head() -> dict[str, Any]:
    """The first row of a file."""
    return {"kind": _HEAD, **stamp()}


def read_curve(path: str) -> list[dict[str, Any]]:
    """The rows of the file, none where there is no file; a line cut off by a kill is left out."""
    if not storage.exists(path):
        return []
    with reading(path, advice="remove the lines that are no JSON"):
        lines = storage.read_text(path).splitlines(keepends=True)
        rows = [json.loads(line) for line in lines if line.endswith("\n")]
        for row in rows:
            check_stamp(row)
    return [row for row in rows if row["kind"] != _HEAD]
