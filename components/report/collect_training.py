"""Training curves from the rows of a training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from yt8m.components.metrics import METRICS
from yt8m.components.report.model import Curve, TrainingCurves

_TRAIN, _VALIDATION = "train", ("validation", "evaluation")
_SHOWN = ("learning_rate", *(metric.name for metric in METRICS), "examples_per_s")
_MOST_POINTS = 2000  # of a curve; of longer ones every n-th is kept


def curves_of(rows: Sequence[Mapping[str, Any]]) -> TrainingCurves:
    """The curves that the rows of a training hold."""
    trained = [row for row in rows if row.get("kind") == _TRAIN]
    validated = [row for row in rows if row.get("kind") in _VALIDATION]
    if not rows:
        return TrainingCurves()
    last = trained[-1] if trained else rows[-1]
    seconds = float(last.get("seconds") or 0.0)
    examples = int(last.get("examples") or 0)
    speeds = sorted(row["examples_per_s"] for row in trained if row.get("examples_per_s"))
    return TrainingCurves(
        steps=int(last["step"]),
        examples=examples,
        examples_per_s=speeds[len(speeds) // 2] if speeds and seconds else None,
        training=_curves(trained),
        validation=_curves(sorted(validated, key=lambda row: row["step"])),
    )


def _curves(rows: Sequence[Mapping[str, Any]]) -> dict[str, Curve]:
    curves = {name: _curve(name, rows) for name in _SHOWN}
    return {name: curve for name, curve in curves.items() if curve.x}


def _curve(name: str, rows: Iterable[Mapping[str, Any]]) -> Curve:
    points = [(row["step"], row[name]) for row in rows if row.get(name) is not None]
    points = points[:: max(1, -(-len(points) // _MOST_POINTS))]
    return Curve(x=tuple(float(x) for x, _ in points), y=tuple(float(y) for _, y in points))
