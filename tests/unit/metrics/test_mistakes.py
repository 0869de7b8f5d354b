"""Confusions and thresholds against the obvious way to count them."""

from collections import Counter

import numpy as np
import pytest

from yt8m.components.metrics import Batch, MetricAccumulator, mistakes
from yt8m.components.metrics.mistakes import class_thresholds, confusions


@pytest.fixture
def scored(monkeypatch):
    monkeypatch.setattr(mistakes, "_ROWS_AT_ONCE", 7)  # several parts, the last one short
    rng = np.random.default_rng(3)
    predictions, labels = rng.random((40, 9)), rng.random((40, 9)) < 0.25
    metrics = MetricAccumulator(9, top_k=9)
    metrics.update(Batch(predictions=predictions, multi_hot=labels))
    return metrics, predictions, labels


def test_confusions_are_missed_labels_with_what_ranks_in_their_place(scored):
    metrics, predictions, labels = scored
    expected: Counter = Counter()
    for scores, hot in zip(predictions, labels, strict=True):
        best = set(np.argsort(-scores)[: hot.sum()])
        wanted = set(np.flatnonzero(hot))
        expected.update((m, f) for m in wanted - best for f in best - wanted)
    found = confusions(metrics, most=1000)
    assert {(one.missed, one.instead): one.videos for one in found} == dict(expected)
    assert [one.videos for one in found] == sorted(expected.values(), reverse=True)
    assert confusions(metrics, most=3) == found[:3]


def test_thresholds_of_a_class_are_its_precision_and_recall_from_there_up(scored):
    metrics, predictions, labels = scored
    found = class_thresholds(metrics, np.array([5, 2]))
    assert list(found) == [5, 2]
    for c, points in found.items():
        for point in points:
            counted = predictions[:, c] >= point.score
            assert point.precision == pytest.approx(labels[counted, c].mean())
            assert point.recall == pytest.approx(labels[counted, c].sum() / labels[:, c].sum())


def test_nothing_scored_is_no_mistake():
    metrics = MetricAccumulator(4)
    assert confusions(metrics, most=5) == []
    assert class_thresholds(metrics, np.array([1])) == {}
