"""The trainer's curve."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from yt8m.components.artifacts.training_curve import EVALUATION, TRAINING
from yt8m.components.report.model import CurveFacts, TrainingFacts
from yt8m.components.storage import files

_TRAIN, _VALIDATION = "train", ("validation", "evaluation")
_SHOWN = ("loss", "learning_rate", "gap", "hit_at_1", "perr", "examples_per_s")
_MOST_POINTS = 2000  # of a curve; of longer ones every n-th is kept


def collect_training(directory: str) -> TrainingFacts:
    """Curves from the log directory; empty where there is none."""
    rows = [*_rows(directory, TRAINING), *_rows(directory, EVALUATION)]
    trained = [row for row in rows if row.get("kind") == _TRAIN]
    validated = [row for row in rows if row.get("kind") in _VALIDATION]
    if not rows:
        return TrainingFacts()
    last = trained[-1] if trained else rows[-1]
    seconds = float(last.get("seconds") or 0.0)
    examples = int(last.get("examples") or 0)
    speeds = sorted(row["examples_per_s"] for row in trained if row.get("examples_per_s"))
    return TrainingFacts(
        steps=int(last["step"]),
        examples=examples,
        examples_per_s=speeds[len(speeds) // 2] if speeds and seconds else None,
        training=_curves(trained),
        validation=_curves(sorted(validated, key=lambda row: row["step"])),
    )


def _rows(directory: str, name: str) -> list[dict[str, Any]]:
    path = files.join(directory, name) if directory else ""
    if not path or not files.exists(path):
        return []
    lines = files.read_text(path).splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]  # a kill may cut the last


def _curves(rows: list[dict[str, Any]]) -> dict[str, CurveFacts]:
    found = {name: _curve(name, rows) for name in _SHOWN}
    return {name: curve for name, curve in found.items() if curve.x}


def _curve(name: str, rows: Iterable[Mapping[str, Any]]) -> CurveFacts:
    points = [(row["step"], row[name]) for row in rows if row.get(name) is not None]
    points = points[:: max(1, -(-len(points) // _MOST_POINTS))]
    return CurveFacts(x=tuple(float(x) for x, _ in points), y=tuple(float(y) for _, y in points))
