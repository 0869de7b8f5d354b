"""The training curve as a file of JSON lines that a resumed training continues."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from yt8m.components import storage
from yt8m.components.artifacts.training_curve import EVALUATION, TRAINING, head, read_curve


class CurveWriter:
    """Appends to a file of the training curve; opened at a step, it forgets what came after that.

    The files lie beside the checkpoints, so that a resumed training continues them, and are copied
    to the log directory at the end.
    """

    def __init__(self, path: str, *, step: int) -> None:
        self.path = path
        kept = [row for row in read_curve(path) if row["step"] <= step]
        text = "".join(_line(row) for row in (head(), *kept))
        storage.write_text(path, text)  # a disk that fills up now must not cost the rows before
        self._file = storage.append(path)

    def add(self, kind: str, step: int, values: Mapping[str, Any]) -> None:
        """Write one more row, readable immediately."""
        self._file.write(_line({"kind": kind, "step": step, **values}).encode())
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def copy_curves(source: str, target: str) -> None:
    """The curves of the directory `source`, those that exist, to the directory `target`."""
    for name in (TRAINING, EVALUATION):
        if storage.exists(f"{source}/{name}"):
            storage.copy(f"{source}/{name}", f"{target}/{name}")


def _line(row: Mapping[str, Any]) -> str:
    return json.dumps({key: _finite(value) for key, value in row.items()}) + "\n"


def _finite(value: Any) -> Any:
    """Seven digits; JSON has no NaN and no infinity: a diverged loss is written as null."""
    if not isinstance(value, float):
        return value
    return float(f"{value:.7g}") if math.isfinite(value) else None
