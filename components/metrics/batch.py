"""One batch of predictions and labels, checked: the metrics' only input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from yt8m.schemas.errors import DataError

_SHOWN = 3  # videos named in a message


class BrokenPredictions(DataError):  # noqa: N818  (names a thing found)
    """Predictions that are no finite numbers; the message names the videos."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """Input of `update`. Give either `labels` (padded ids) or `multi_hot`."""

    predictions: np.ndarray  # [B, C] float
    labels: np.ndarray | None = None  # [B, L] class ids, padded with -1
    multi_hot: np.ndarray | None = None  # [B, C], positive where the class is a label
    ids: Sequence[str | bytes] | None = None  # names the videos; messages and intervals use it
    label_weights: np.ndarray | None = None  # [B, C]; segments: 1 for rated classes, else 0
    loss: np.ndarray | None = None  # [B], as the caller defines it
    # Classes that the model scores, where they are fewer: none of the others is ever a hit.
    num_known: int | None = None

    def name(self, row: int) -> str:
        """How a message calls the video in `row`."""
        if self.ids is None:
            return f"number {row} of its batch"
        video = self.ids[row]
        return video.decode(errors="replace") if isinstance(video, bytes) else str(video)


def checked_scores(batch: Batch, num_classes: int) -> np.ndarray:
    """Finite [B, C] float32 or float64 scores, multiplied by the label weights."""
    scores = np.asarray(batch.predictions)
    if scores.ndim != 2 or scores.shape[1] != num_classes:
        raise DataError(
            f"predictions have shape {scores.shape}: expected [videos, {num_classes}] scores"
        )
    if scores.dtype not in (np.float32, np.float64):
        # bfloat16 and float16 are exact in float32, integers up to 2**53 in float64.
        scores = scores.astype(np.float64 if scores.dtype.kind in "iub" else np.float32)
    _require_finite(batch, scores)
    if batch.label_weights is not None:
        if batch.label_weights.shape != scores.shape:
            raise DataError(
                f"label_weights have shape {batch.label_weights.shape}: expected {scores.shape}"
            )
        scores = scores * batch.label_weights.astype(scores.dtype)
    return scores


def truth(batch: Batch, num_classes: int) -> np.ndarray:
    """[B, C] bool, true where the class is a label of the video."""
    rows = len(batch.predictions)
    if (batch.labels is None) == (batch.multi_hot is None):
        raise DataError("pass either labels (padded ids) or multi_hot, not both")
    if batch.multi_hot is not None:
        hot = np.asarray(batch.multi_hot)
        if hot.shape != (rows, num_classes):
            raise DataError(f"labels have shape {hot.shape}: expected [{rows}, {num_classes}]")
        if hot.dtype.kind == "f" and np.isnan(hot).any():
            raise DataError("labels hold NaN; a label is a number, positive where it applies")
        return hot > 0
    labels = np.asarray(batch.labels)
    if labels.ndim != 2 or len(labels) != rows:
        raise DataError(f"labels have shape {labels.shape}: expected [{rows}, labels per video]")
    if labels.size and labels.max() >= num_classes:
        row = int(np.argmax((labels >= num_classes).any(axis=1)))
        raise DataError(
            f"video {batch.name(row)}: label {labels[row].max()} is not one of the "
            f"{num_classes} classes (0 to {num_classes - 1})"
        )
    hot = np.zeros((rows, num_classes), bool)
    videos, columns = np.nonzero(labels >= 0)
    hot[videos, labels[videos, columns]] = True
    return hot


def column(values: np.ndarray | None, rows: int, name: str) -> np.ndarray | None:
    """`values` as float64 [rows], finite; None stays None."""
    if values is None:
        return None
    result = np.asarray(values, np.float64)
    if result.shape != (rows,):
        raise DataError(f"{name} have shape {result.shape}: expected [{rows}]")
    if not np.isfinite(result).all():
        raise DataError(f"{name}: {result[~np.isfinite(result)][0]} is not a finite number")
    return result


def finite_rows(scores: np.ndarray) -> np.ndarray:
    """[B] bool: the rows of `scores` [B, C] that are finite numbers throughout."""
    # A sum is not finite whenever one term is not: one pass, no [B, C] temporary.
    with np.errstate(over="ignore"):
        finite = np.isfinite(scores.sum(axis=1))
    # The sum of finite scores may overflow: odd, but not NaN.
    return finite if finite.all() else np.isfinite(scores).all(axis=1)


def _require_finite(batch: Batch, scores: np.ndarray) -> None:
    bad = np.flatnonzero(~finite_rows(scores))
    if not bad.size:
        return
    row = int(bad[0])
    value = scores[row][~np.isfinite(scores[row])][0]
    names = ", ".join(batch.name(int(r)) for r in bad[:_SHOWN])
    more = f" and {len(bad) - _SHOWN} more" if len(bad) > _SHOWN else ""
    raise BrokenPredictions(
        f"video {names}{more}: the model predicts {value}, not a number that can be ranked; "
        "the model is broken or was exported from a diverged training"
    )
