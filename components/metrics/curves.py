"""Precision-recall points and calibration bins of the pooled top-k predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from yt8m.components.metrics.accumulator import MetricAccumulator

_ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True, kw_only=True)
class CurvePoint:
    """Precision and recall when all predictions from `score` up count."""

    score: float
    precision: float
    recall: float


@dataclass(frozen=True, kw_only=True)
class CalibrationBin:
    """Predictions whose scores fall into [low, high), the last bin closed."""

    low: float
    high: float
    count: int
    mean_score: float | None
    hit_rate: float | None


def calibration_error(bins: Sequence[CalibrationBin]) -> float | None:
    """Expected calibration error: |mean score - hit rate| of the bins, weighted by predictions."""
    total = sum(one.count for one in bins)
    gaps = [
        one.count * abs(one.mean_score - one.hit_rate)
        for one in bins
        if one.mean_score is not None and one.hit_rate is not None
    ]
    return sum(gaps) / total if total else None


def precision_recall(metrics: MetricAccumulator, *, points: int = 101) -> list[CurvePoint]:
    """At evenly spaced recall; recall is of all positives, so it ends where the top k does."""
    rows = metrics.rows
    positives = len(rows.labels)
    hits = np.sort(rows.scores[rows.hits])[::-1]
    if not len(hits) or not positives:
        return []
    ranks = np.unique(np.linspace(0, len(hits) - 1, points).round().astype(np.int64))
    scores = np.unique(hits[ranks])[::-1]
    everything = np.sort(rows.scores, axis=None)
    seen = len(everything) - np.searchsorted(everything, scores, side="left")
    good = np.searchsorted(-hits, -scores, side="right")
    return [
        CurvePoint(score=float(s), precision=float(g / n), recall=float(g / positives))
        for s, g, n in zip(scores, good, seen, strict=True)
    ]


def calibration(metrics: MetricAccumulator, *, bins: int = 20) -> list[CalibrationBin]:
    """How often predictions of about equal score are right; scores outside [0, 1] join the ends."""
    rows = metrics.rows
    totals = np.zeros((3, bins))  # predictions, sum of scores, hits
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        score = rows.scores[part].ravel().astype(np.float64)
        place = np.clip((score * bins).astype(np.int64), 0, bins - 1)
        for total, weight in zip(totals, (None, score, rows.hits[part].ravel()), strict=True):
            total += np.bincount(place, weights=weight, minlength=bins)
    edges = np.linspace(0, 1, bins + 1).tolist()
    return [
        CalibrationBin(
            low=edges[i],
            high=edges[i + 1],
            count=int(n),
            mean_score=float(scores / n) if n else None,
            hit_rate=float(hits / n) if n else None,
        )
        for i, (n, scores, hits) in enumerate(totals.T)
    ]
