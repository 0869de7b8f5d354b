"""The data that metrics are computed from: empty, update, merge; and its average precision.

`MetricAccumulator` may be filled in any order, in any number of pieces, in any processes; every
metric of the merged whole is the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from yt8m.components.metrics import average_precision, rows
from yt8m.components.metrics.average_precision import Pairs, RankedAbove, precision_sums
from yt8m.components.metrics.batch import Batch
from yt8m.components.metrics.rows import Rows

TOP_K = 20
_ROWS_AT_ONCE = 4096


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassPrecision:
    """Average precision by class; NaN where the class has no positives."""

    ap: np.ndarray  # [C] float64
    positives: np.ndarray  # [C] videos that have the label


class MetricAccumulator:
    """The accumulator. `update` and `merge` change it; metrics do not."""

    def __init__(
        self,
        num_classes: int,
        *parts: Rows,
        top_k: int = TOP_K,
        top_n: int | None = None,
    ) -> None:
        """Of each class its `top_n` best predictions count, where given."""
        self.num_classes, self.top_k, self.top_n = num_classes, top_k, top_n
        self._parts = [*parts]
        self._by_class: ClassPrecision | None = None  # requested twice

    def update(self, batch: Batch) -> None:
        """Take in one batch; DataError names a video with NaN, infinity or an unknown label."""
        self._parts.append(rows.rows_of(batch, num_classes=self.num_classes, k=self.top_k))
        self._by_class = None

    def merge(self, other: MetricAccumulator) -> None:
        """Take in all that `other` holds."""
        if self._facts != other._facts:
            raise ValueError(f"metrics of {other._facts} do not merge with those of {self._facts}")
        self._parts += other._parts
        self._by_class = None

    @property
    def _facts(self) -> dict[str, int]:
        return {"num_classes": self.num_classes, "top_k": self.top_k, "top_n": self.top_n or 0}

    @property
    def rows(self) -> Rows:
        """One row a video."""
        if len(self._parts) != 1:
            self._parts = [
                rows.joined(self._parts)
                if self._parts
                else rows.empty_rows(self.num_classes, min(self.top_k, self.num_classes))
            ]
        return self._parts[0]

    def __len__(self) -> int:
        return sum(len(part) for part in self._parts)

    def select(self, chosen: np.ndarray) -> MetricAccumulator:
        """The metrics of the videos where the mask `chosen` is true: a slice."""
        part = rows.select(self.rows, chosen)
        return MetricAccumulator(self.num_classes, part, top_k=self.top_k, top_n=self.top_n)

    def gap(self) -> float:
        """Global average precision over every video's `top_k` best classes."""
        data = self.rows
        positives = len(data.labels)
        if not positives:
            return 0.0
        ahead, total = RankedAbove(), 0.0
        for low, high in average_precision.score_ranges(data.scores):
            pairs = _pairs(data, _positions(data.scores, low, high))
            total += float(precision_sums(pairs, ahead=ahead)[1].sum())
            hits = ahead.hits + int(pairs.hits.sum())
            ahead = RankedAbove(count=ahead.count + len(pairs), hits=hits)
        return total / positives

    def mean_average_precision(self) -> float | None:
        """The mean over the classes that have positives."""
        ap = self.class_precision().ap
        known = ap[~np.isnan(ap)]
        return float(known.mean()) if known.size else None

    def class_precision(self) -> ClassPrecision:
        """Average precision of each class over the predictions that made some video's top k."""
        if self._by_class is None:
            self._by_class = self._class_precision()
        return self._by_class

    def _class_precision(self) -> ClassPrecision:
        data = self.rows
        positives = np.bincount(data.labels, minlength=self.num_classes).astype(np.float64)
        sums = np.zeros(self.num_classes)
        for first, last in _class_ranges(data, self.num_classes):
            index = _positions(data.classes, first - 1, last - 1)
            pools, values = precision_sums(_pairs(data, index, by_class=True), depth=self.top_n)
            sums[pools] = values
        ap = np.full(self.num_classes, np.nan)
        seen = positives > 0
        ap[seen] = sums[seen] / np.minimum(positives, self.top_n or np.inf)[seen]
        return ClassPrecision(ap=ap, positives=positives)

    def to_bytes(self) -> bytes:
        """For other processes; `from_bytes` gives an equal accumulator."""
        return rows.to_bytes(self.rows, **self._facts)

    @classmethod
    def from_bytes(cls, data: bytes) -> MetricAccumulator:
        """The inverse of `to_bytes`."""
        content, facts = rows.from_bytes(data)
        classes, top_n = facts["num_classes"], facts["top_n"] or None
        return cls(classes, content, top_k=facts["top_k"], top_n=top_n)


def _positions(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Flat positions of the values in (low, high], found without a mask of full size."""
    flat = values.ravel()
    step = average_precision.PAIRS_AT_ONCE
    places = []
    for start in range(0, len(flat), step):
        part = flat[start : start + step]
        places.append(np.flatnonzero((part > low) & (part <= high)) + start)
    return np.concatenate(places) if places else np.empty(0, np.int64)


def _pairs(data: Rows, index: np.ndarray, *, by_class: bool = False) -> Pairs:
    """The pairs at flat positions `index` of the [N, K] columns."""
    return Pairs(
        scores=data.scores.ravel()[index],
        hits=data.hits.ravel()[index],
        pools=data.classes.ravel()[index].astype(np.int64) if by_class else None,
    )


def _class_ranges(data: Rows, num_classes: int) -> Iterator[tuple[int, int]]:
    """Ranges [first, last) of classes with about PAIRS_AT_ONCE pairs each."""
    per_class = np.zeros(num_classes, np.int64)
    step = max(1, average_precision.PAIRS_AT_ONCE // max(1, data.classes.shape[1]))
    for start in range(0, len(data), step):
        per_class += np.bincount(data.classes[start : start + step].ravel(), minlength=num_classes)
    part = (np.cumsum(per_class) - per_class) // average_precision.PAIRS_AT_ONCE
    starts = np.flatnonzero(np.diff(part, prepend=-1)).tolist()
    yield from zip(starts, [*starts[1:], num_classes], strict=True)


def mean(values: np.ndarray) -> float | None:
    """A mean that does not depend on the order of the values."""
    return float(np.sort(values).sum()) / len(values) if len(values) else None


def accumulate(batch: Batch, *, top_k: int = TOP_K, top_n: int | None = None) -> MetricAccumulator:
    """The metrics of any number of videos, in pieces, which bounds the memory beside the arrays."""
    metrics = MetricAccumulator(batch.predictions.shape[1], top_k=top_k, top_n=top_n)
    columns = {name: column for name, column in vars(batch).items() if column is not None}
    for start in range(0, len(batch.predictions), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        metrics.update(Batch(**{name: column[part] for name, column in columns.items()}))
    return metrics
