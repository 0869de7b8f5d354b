"""The metrics on arrays, as the pipeline computes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from yt8m.components.metrics import TOP_K, Batch, MetricValues, accumulate
from yt8m.schemas.errors import DataError


def gap(predictions: Any, labels: Any, *, top_k: int = TOP_K) -> float:
    """Global average precision over every video's `top_k` best classes."""
    return _values(predictions, labels, top_k=top_k).gap


def hit_at_1(predictions: Any, labels: Any) -> float | None:
    """The share of videos whose best class is a label."""
    return _values(predictions, labels).hit_at_1


def perr(predictions: Any, labels: Any) -> float | None:
    """Precision at equal recall rate: among a video's n best classes, n its number of labels."""
    return _values(predictions, labels).perr


def mean_average_precision(
    predictions: Any, labels: Any, *, top_k: int = TOP_K, top_n: int | None = None
) -> float | None:
    """The mean of the classes' average precision, over each video's `top_k` best classes."""
    return _values(predictions, labels, top_k=top_k, top_n=top_n).map


def _values(
    predictions: Any, labels: Any, *, top_k: int = TOP_K, top_n: int | None = None
) -> MetricValues:
    """Of `predictions` [videos, classes]; a label is any value above 0, or its class id.

    Labels of the predictions' shape are multi-hot; integer ones of another are ids, -1 is padding.
    """
    scores, truth = np.asarray(predictions), np.asarray(labels)
    if scores.ndim != 2 or not scores.shape[1]:
        raise DataError(f"predictions have shape {scores.shape}: expected [videos, classes]")
    ids = truth.shape != scores.shape
    if truth.ndim != 2 or len(truth) != len(scores) or (ids and truth.dtype.kind not in "iu"):
        raise DataError(
            f"labels have shape {truth.shape}, predictions {scores.shape}: labels are of the same "
            "shape, or whole numbers [videos, labels per video] padded with -1"
        )
    labels, multi_hot = (truth, None) if ids else (None, truth)
    batch = Batch(predictions=scores, labels=labels, multi_hot=multi_hot)
    return accumulate(batch, top_k=top_k).result(top_n=top_n)
