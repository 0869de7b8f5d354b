"""The metrics on arrays, as the pipeline computes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from yt8m.components.metrics import METRICS, TOP_K, Batch, Metric, accumulate, values_of
from yt8m.schemas.errors import DataError


def metrics(
    predictions: Any,
    labels: Any,
    *,
    top_k: int = TOP_K,
    top_n: int | None = None,
    own: Sequence[Metric] = (),
) -> dict[str, float | None]:
    """The metrics of `predictions` [videos, classes], and your `own`, by name; None: undefined.

    A label is any value above 0, or its class id: labels of the predictions' shape are multi-hot;
    integer ones of another are ids, -1 is padding. `top_k` best classes of each video count, and
    in MAP `top_n` best predictions of each class.
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
    return values_of(accumulate(batch, top_k=top_k, top_n=top_n), (*METRICS, *own))
