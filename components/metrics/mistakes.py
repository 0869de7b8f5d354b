"""A model's mistakes: confused labels, and classes by threshold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from yt8m.components.metrics.accumulator import MetricAccumulator
from yt8m.components.metrics.curves import CurvePoint
from yt8m.components.metrics.rows import Rows

_ROWS_AT_ONCE = 1 << 15
THRESHOLDS = 20  # 0, 0.05, ... 0.95


class Confusion(NamedTuple):
    """So many videos have the label `missed`, and `instead` ranks where it should."""

    missed: int
    instead: int
    videos: int


def class_thresholds(
    metrics: MetricAccumulator, classes: np.ndarray
) -> dict[int, tuple[CurvePoint, ...]]:
    """Precision and recall of each of `classes` when its predictions from a score up count.

    Of the top k alone, as everything here; thresholds that no prediction reaches are left out.
    """
    place = np.full(metrics.num_classes, -1)
    place[classes] = np.arange(len(classes))
    cells = len(classes) * THRESHOLDS
    predicted, good = np.zeros(cells, np.int64), np.zeros(cells, np.int64)
    rows = metrics.rows
    for part in _parts(len(rows)):
        wanted = place[rows.classes[part]]
        score = np.clip((rows.scores[part] * THRESHOLDS).astype(np.int64), 0, THRESHOLDS - 1)
        cell, known = wanted * THRESHOLDS + score, wanted >= 0
        predicted += np.bincount(cell[known], minlength=cells)
        good += np.bincount(cell[known & rows.hits[part]], minlength=cells)
    from_above = [
        counts.reshape(-1, THRESHOLDS)[:, ::-1].cumsum(axis=1)[:, ::-1]
        for counts in (predicted, good)
    ]
    positives = metrics.class_precision().positives
    return {
        int(c): tuple(
            CurvePoint(score=at / THRESHOLDS, precision=g / n, recall=g / int(positives[c]))
            for at, (n, g) in enumerate(zip(seen.tolist(), hit.tolist(), strict=True))
            if n
        )
        for c, seen, hit in zip(classes, *from_above, strict=True)
        if positives[c]
    }


def confusions(metrics: MetricAccumulator, *, most: int) -> list[Confusion]:
    """The pairs of a label that is not among a video's n best classes (n its number of labels)
    and a class that is and should not be: those of the `most` videos first."""
    classes = metrics.num_classes
    keys, counts = np.empty(0, np.int64), np.empty(0, np.int64)
    for missed, instead in _pairs(metrics.rows):
        pairs, times = np.unique(missed * classes + instead, return_counts=True)
        together = np.concatenate([keys, pairs])
        keys, where = np.unique(together, return_inverse=True)
        counts = np.bincount(where, weights=np.concatenate([counts, times])).astype(np.int64)
    best = np.lexsort((keys, -counts))[:most]
    return [
        Confusion(int(key // classes), int(key % classes), int(count))
        for key, count in zip(keys[best], counts[best], strict=True)
    ]


def _pairs(rows: Rows) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    ends = np.cumsum(rows.label_counts, dtype=np.int64)
    rank = np.arange(rows.classes.shape[1])
    for part in _parts(len(rows)):
        counts = rows.label_counts[part].astype(np.int64)
        first = int(ends[part.start - 1]) if part.start else 0
        labels = rows.labels[first : first + int(counts.sum())].astype(np.int64)
        ranked = rank < counts[:, None]
        video = np.repeat(np.arange(len(counts)), counts)
        shown = rows.classes[part].astype(np.int64)
        seen = ((shown[video] == labels[:, None]) & ranked[video]).any(axis=1)
        false_video, place = np.nonzero(ranked & ~rows.hits[part] & (rows.scores[part] > 0))
        falses = shown[false_video, place]
        # Each missed label with each false class of its video.
        missed, missed_video = labels[~seen], video[~seen]
        starts = np.searchsorted(false_video, missed_video, side="left")
        several = np.searchsorted(false_video, missed_video, side="right") - starts
        offsets = np.arange(several.sum()) - np.repeat(several.cumsum() - several, several)
        yield np.repeat(missed, several), falses[np.repeat(starts, several) + offsets]


def _parts(rows: int) -> Iterator[slice]:
    for start in range(0, rows, _ROWS_AT_ONCE):
        yield slice(start, start + _ROWS_AT_ONCE)
