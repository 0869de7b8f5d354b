"""Precision-recall points and calibration bins against counting."""

import numpy as np
import pytest

from yt8m.components.metrics import Batch, MetricAccumulator
from yt8m.components.metrics.curves import calibration, precision_recall


def case(levels=None):
    rng = np.random.default_rng(0)
    scores = rng.random((50, 30)).astype(np.float32)
    if levels:
        scores = np.floor(scores * levels) / np.float32(levels)
    hot = rng.random((50, 30)) < 0.1
    metrics = MetricAccumulator(30, top_k=30)
    metrics.update(Batch(predictions=scores, multi_hot=hot))
    return metrics, scores, hot


@pytest.mark.parametrize("levels", [None, 4])
def test_every_point_is_what_counting_gives(levels):
    metrics, scores, hot = case(levels)
    points = precision_recall(metrics, points=11)
    assert len(points) >= 3
    for point in points:
        chosen = scores >= np.float32(point.score)
        assert point.precision == pytest.approx(hot[chosen].mean())
        assert point.recall == pytest.approx(hot[chosen].sum() / hot.sum())
    assert points[-1].recall == 1.0
    assert [p.recall for p in points] == sorted(p.recall for p in points)


def test_bins_are_what_counting_gives():
    metrics, scores, hot = case()
    bins = calibration(metrics, bins=5)
    assert sum(b.count for b in bins) == scores.size
    for b in bins:
        inside = (scores >= b.low) & (scores < b.high)
        assert b.count == inside.sum()
        assert b.hit_rate == pytest.approx(hot[inside].mean())
        assert b.mean_score == pytest.approx(scores[inside].mean(), rel=1e-6)


def test_no_videos_have_no_curve():
    metrics = MetricAccumulator(30)
    assert precision_recall(metrics) == []
    assert all(b.count == 0 and b.hit_rate is None for b in calibration(metrics))
