"""Operating points: from which score up a class's predictions are right as often as is asked.

A fit counts predictions and hits by class and bin of scores, so that its memory does not grow with
the videos. A class with few predictions leans on all classes together, and what the fit expects is
corrected by what such fits reach on videos that they have not seen: see docs/decisions/0142.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from yt8m.components.metrics.accumulator import MetricAccumulator
from yt8m.components.metrics.rows import Rows

LEVELS = tuple(level / 100 for level in (*range(5, 50, 5), *range(50, 100)))
ASKED = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)  # the precisions that are checked
MIN_HITS = 500  # fewer say too little of any score
_BINS = 128
_ROUNDS = 25
_LENT = 1  # predictions that all classes together lend each class
_FOLDS = 5  # parts of the videos, each decided by a fit of the others
_ENOUGH = 200  # accepted predictions whose share of hits says something
_ROWS_AT_ONCE = 1 << 16
_TOLERANCE = 1e-6  # of a precision that a client had as float32


@dataclass(frozen=True, kw_only=True, eq=False)
class OperatingPoints:
    """Of each class the lowest score from which it reaches a precision; inf where none does."""

    levels: tuple[float, ...]  # the precisions, ascending
    classes: np.ndarray  # [K] int64: those that were predicted at least once
    of_class: np.ndarray  # [K, levels]
    of_others: np.ndarray  # [levels]: thresholds of all other classes

    def thresholds(self, precision: float, num_classes: int) -> np.ndarray:
        """[C]: at the lowest level that is not below `precision`."""
        place = int(np.searchsorted(self.levels, precision - _TOLERANCE))
        if place == len(self.levels):
            return np.full(num_classes, np.inf)
        thresholds = np.full(num_classes, self.of_others[place])
        thresholds[self.classes] = self.of_class[:, place]
        return thresholds


@dataclass(frozen=True, kw_only=True)
class OperatingPoint:
    """What the decisions at an asked precision came to, on videos that their fit had not seen."""

    asked: float
    predictions: int  # accepted
    precision: float | None  # of these; None without any
    recall: float  # of all labels
    classes: int  # with an accepted prediction


@dataclass(frozen=True, kw_only=True, eq=False)
class _Counts:
    seen: np.ndarray  # [K, B] predictions
    hits: np.ndarray  # [K, B]

    def __add__(self, other: _Counts) -> _Counts:
        return _Counts(seen=self.seen + other.seen, hits=self.hits + other.hits)

    def __sub__(self, other: _Counts) -> _Counts:
        return _Counts(seen=self.seen - other.seen, hits=self.hits - other.hits)


def fit(metrics: MetricAccumulator) -> OperatingPoints | None:
    """The operating points of these videos; None where they have too few hits."""
    if np.count_nonzero(metrics.rows.hits) < MIN_HITS:
        return None
    classes, edges = np.unique(metrics.rows.classes).astype(np.int64), _edges(metrics.rows)
    folds = metrics.rows.keys % _FOLDS
    parts = [_count(metrics.select(folds == i), classes, edges) for i in range(_FOLDS)]
    counts = functools.reduce(operator.add, parts)
    expected, reached = _reached(counts, parts)
    precision = np.interp(_precision(counts), expected, reached, left=0)
    thresholds = _thresholds(edges, precision)
    return OperatingPoints(
        levels=LEVELS, classes=classes, of_class=thresholds[:-1], of_others=thresholds[-1]
    )


def cross_check(metrics: MetricAccumulator) -> tuple[OperatingPoint, ...]:
    """Each half of the videos decided by a fit of the other; empty where they have too few hits."""
    first = metrics.rows.keys % 2 == 0
    halves = (metrics.select(first), metrics.select(~first))
    fits = [points for half in reversed(halves) if (points := fit(half)) is not None]
    if len(fits) < len(halves):
        return ()
    decided = [
        {asked: _accepted(half, points, asked) for asked in ASKED}
        for half, points in zip(halves, fits, strict=True)
    ]
    return tuple(_point(asked, decided, len(metrics.rows.labels)) for asked in ASKED)


def _accepted(metrics: MetricAccumulator, points: OperatingPoints, asked: float) -> np.ndarray:
    """[2, C]: accepted predictions, and the hits among them."""
    rows, classes = metrics.rows, metrics.num_classes
    thresholds, counts = points.thresholds(asked, classes), np.zeros((2, classes), np.int64)
    for part in _parts(len(rows)):
        yes = rows.scores[part] >= thresholds[rows.classes[part]]
        for count, chosen in zip(counts, (yes, yes & rows.hits[part]), strict=True):
            count += np.bincount(rows.classes[part][chosen], minlength=classes)
    return counts


def _point(
    asked: float, decided: Sequence[Mapping[float, np.ndarray]], labels: int
) -> OperatingPoint:
    by_class = decided[0][asked] + decided[1][asked]
    predictions, hits = by_class.sum(axis=1).tolist()
    return OperatingPoint(
        asked=asked,
        predictions=predictions,
        precision=hits / predictions if predictions else None,
        recall=hits / labels,
        classes=int(np.count_nonzero(by_class[0])),
    )


def _count(metrics: MetricAccumulator, classes: np.ndarray, edges: np.ndarray) -> _Counts:
    """Counts of `classes`, with a last row of a class that was not predicted."""
    rows = metrics.rows
    place = np.zeros(metrics.num_classes, np.int64)
    place[classes] = np.arange(len(classes))
    shape = (len(classes) + 1, len(edges))
    seen, hits = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    for part in _parts(len(rows)):
        bins = np.searchsorted(edges, rows.scores[part], side="right") - 1
        cell = place[rows.classes[part]] * len(edges) + bins
        for counted, cells in ((seen, cell.ravel()), (hits, cell[rows.hits[part]])):
            counted += np.bincount(cells, minlength=seen.size).reshape(shape).astype(np.int32)
    return _Counts(seen=seen, hits=hits)


def _edges(rows: Rows) -> np.ndarray:
    """About as many hits in each bin, and among low scores as many predictions."""
    everything, hits = np.sort(rows.scores, axis=None), np.sort(rows.scores[rows.hits])
    ends = [
        values[np.linspace(0, len(values) - 1, count, endpoint=False).astype(np.int64)]
        for values, count in ((everything, _BINS // 4), (hits, _BINS))
    ]
    return np.unique(np.concatenate(ends))


def _reached(counts: _Counts, parts: list[_Counts]) -> tuple[np.ndarray, np.ndarray]:
    """Precisions that fits expect, ascending, and those that they reach on parts held out.

    A threshold stands where a class looked good, so that its videos flatter it; others do not.
    """
    expected, seen, hits = [], [], []
    for part in parts:
        there = part.seen > 0
        expected.append(_precision(counts - part)[there])
        seen.append(part.seen[there])
        hits.append(part.hits[there])
    order = np.argsort(-np.concatenate(expected), kind="stable")
    predictions = np.concatenate(seen)[order].cumsum()
    share = np.concatenate(hits)[order].cumsum() / predictions
    enough = predictions >= _ENOUGH
    falling = np.minimum.accumulate(share[enough])
    return np.concatenate(expected)[order][enough][::-1], falling[::-1]


def _precision(counts: _Counts) -> np.ndarray:
    """[C, B]: expected share of hits among a class's predictions in a bin and those above."""
    curve = _logit(_rising(counts.hits.sum(axis=0), counts.seen.sum(axis=0)))
    rates = _rates(counts, curve)
    right = _from_top(counts.seen * rates) + _LENT * _above(rates, counts.seen)
    return np.maximum.accumulate(right / (_from_top(counts.seen) + _LENT), axis=1)


def _rates(counts: _Counts, curve: np.ndarray) -> np.ndarray:
    """[C, B]: the share of hits in a bin of a class: all classes' curve, moved and tilted.

    A class's move and tilt are normally distributed, with moments from the data (empirical Bayes).
    Each round is a Newton step of the classes, and then the moments of where they are.
    """
    classes, bins = np.nonzero(counts.seen)
    seen, hits = counts.seen[classes, bins], counts.hits[classes, bins]
    terms = np.stack([np.ones(len(bins)), curve[bins]])  # [2, cells with predictions]
    sums = lambda of: np.bincount(classes, of, minlength=len(counts.seen))  # noqa: E731
    known = sums(seen) > 0
    mean, variance = np.array([[0.0], [1.0]]), np.array([[1.0], [0.1]])
    place = np.tile(mean, len(counts.seen))  # [2, C]
    spread = np.zeros((2, *place.shape))  # [2, 2, C]: what is not known of it
    for _ in range(_ROUNDS):
        rates = _sigmoid((place[:, classes] * terms).sum(axis=0))
        slope = np.stack([sums((hits - seen * rates) * term) for term in terms])
        spread = _inverse([sums(seen * rates * (1 - rates) * x) for x in _squares(terms)], variance)
        step = (spread * (slope - (place - mean) / variance)).sum(axis=1)
        place = place + np.clip(step, -1, 1)
        mean = place[:, known].mean(axis=1, keepdims=True)
        off = (place - mean) ** 2 + spread[[0, 1], [0, 1]]
        variance = np.maximum(off[:, known].mean(axis=1, keepdims=True), 1e-4)
    # The mean of a sigmoid over what the parameters may be, and not its value at the likeliest.
    move, tilt = place[..., np.newaxis]
    doubt = sum(
        entry[:, np.newaxis] * square
        for entry, square in zip(
            (spread[0, 0], 2 * spread[0, 1], spread[1, 1]),
            _squares(np.stack([np.ones_like(curve), curve])),
            strict=True,
        )
    )
    return _sigmoid((move + tilt * curve) / np.sqrt(1 + np.pi / 8 * doubt))


def _squares(terms: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return terms[0] ** 2, terms[0] * terms[1], terms[1] ** 2


def _inverse(curvature: Sequence[np.ndarray], variance: np.ndarray) -> np.ndarray:
    """[2, 2, C]: of the classes' curvatures, with that of the prior of this variance."""
    first, mixed, last = curvature
    first, last = first + 1 / variance[0], last + 1 / variance[1]
    inverse: np.ndarray = np.stack([[last, -mixed], [-mixed, first]]) / (first * last - mixed**2)
    return inverse


def _rising(hits: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """The shares of hits nearest to those counted that never fall (pool adjacent violators)."""
    blocks: list[list[float]] = []  # hits, predictions, bins
    for hit, count in zip(hits.tolist(), seen.tolist(), strict=True):
        blocks.append([hit + 0.5 / len(hits), count + 1 / len(hits), 1])
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] >= blocks[-1][0] * blocks[-2][1]:
            last = blocks.pop()
            blocks[-1] = [a + b for a, b in zip(blocks[-1], last, strict=True)]
    return np.concatenate([np.full(int(bins), hit / count) for hit, count, bins in blocks])


def _above(rates: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """[C, B]: the mean rate of all classes' predictions whose rate is no lower."""
    order = np.argsort(-rates, axis=None, kind="stable")
    rate, weight = rates.ravel()[order], seen.ravel()[order] + 1e-9
    mean = np.empty(rates.size)
    mean[order] = np.cumsum(rate * weight) / np.cumsum(weight)
    return mean.reshape(rates.shape)


def _thresholds(edges: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """[C, LEVELS]: where the rising `precision` reaches each level, between two edges."""
    edges, row = edges.astype(np.float64), np.arange(len(precision))
    thresholds = np.full((len(precision), len(LEVELS)), np.inf)
    for i, level in enumerate(LEVELS):
        place = (precision < level).sum(axis=1)
        upper, lower = np.minimum(place, len(edges) - 1), np.maximum(place - 1, 0)
        high, low = precision[row, upper], precision[row, lower]
        share = np.where(high > low, (level - low) / np.where(high > low, high - low, 1), 1)
        between = edges[lower] + np.clip(share, 0, 1) * (edges[upper] - edges[lower])
        thresholds[:, i] = np.where(place < len(edges), between, np.inf)
    return thresholds


def _from_top(values: np.ndarray) -> np.ndarray:
    return values[:, ::-1].cumsum(axis=1)[:, ::-1]


def _logit(rate: np.ndarray) -> np.ndarray:
    return np.log(rate) - np.log1p(-rate)


def _sigmoid(value: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-value))


def _parts(rows: int) -> Iterator[slice]:
    for start in range(0, rows, _ROWS_AT_ONCE):
        yield slice(start, start + _ROWS_AT_ONCE)
