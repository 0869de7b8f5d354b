"""Operating points against data whose probabilities are known."""

from __future__ import annotations

import numpy as np
import pytest

from yt8m.components.artifacts.operating_points import EMPTY_TABLE, parse_table, table_text
from yt8m.components.metrics.accumulator import MetricAccumulator
from yt8m.components.metrics.operating_points import ASKED, LEVELS, cross_check, fit
from yt8m.components.metrics.rows import Rows

CLASSES, TOP_K = 300, 20
FREQUENT = 30  # the classes that most predictions are of


def world(videos: int, *, moved: float, tilted: float) -> tuple[MetricAccumulator, np.ndarray]:
    """Predictions, and the probability [N, K] that each is right.

    Scores are wrong in a way of each class's own: logits are moved and tilted by so much.
    """
    rng = np.random.default_rng(videos)
    move, tilt = rng.normal(0, moved, CLASSES), np.exp(rng.normal(0, tilted, CLASSES))
    chance = -np.log(np.arange(1, CLASSES + 1)) + rng.gumbel(size=(videos, CLASSES))
    classes = np.argsort(-chance, axis=1)[:, :TOP_K]
    logits = -np.sort(-rng.normal(-2, 2.5, (videos, TOP_K)), axis=1)
    right = 1 / (1 + np.exp(-(tilt[classes] * logits + move[classes])))
    hits = rng.random(right.shape) < right
    counts = hits.sum(axis=1)
    rows = Rows(
        scores=(1 / (1 + np.exp(-logits))).astype(np.float32),
        classes=classes.astype(np.uint16),
        hits=hits,
        label_counts=counts.astype(np.uint16),
        labels=classes[hits].astype(np.uint16),
        recalled=counts.astype(np.uint16),
        keys=rng.integers(0, 2**63, videos).astype(np.uint64),
    )
    return MetricAccumulator(CLASSES, rows), right


@pytest.mark.parametrize(("moved", "tilted"), [(0.0, 0.0), (1.0, 0.0), (1.0, 0.3)])
def test_one_half_decides_the_other_at_the_precision_that_was_asked(moved, tilted):
    metrics, _ = world(4000, moved=moved, tilted=tilted)
    points = cross_check(metrics)
    assert [point.asked for point in points] == list(ASKED)
    for point in points:
        assert point.precision == pytest.approx(point.asked, abs=0.02)
    assert points[0].recall > 0.8 > points[-1].recall > 0.05


@pytest.mark.parametrize("asked", [0.5, 0.7, 0.9])
def test_frequent_and_rare_classes_reach_what_is_asked(asked):
    metrics, right = world(4000, moved=1.0, tilted=0.3)
    points = fit(metrics)
    assert points is not None
    accepted = metrics.rows.scores >= points.thresholds(asked, CLASSES)[metrics.rows.classes]
    frequent = metrics.rows.classes < FREQUENT
    for some in (frequent, ~frequent):
        assert right[accepted & some].mean() == pytest.approx(asked, abs=0.02)
    # One threshold for all classes is off by far more, for some class.
    above = metrics.rows.scores > asked
    alike = [right[above & (metrics.rows.classes == c)].mean() for c in range(FREQUENT)]
    assert max(abs(rate - right[above].mean()) for rate in alike) > 0.05


def test_three_positives_make_no_threshold():
    metrics, _ = world(2000, moved=0.0, tilted=0.0)
    rows = metrics.rows
    rare = np.flatnonzero(rows.scores[:, -1] < 0.01)[:3]
    before = fit(metrics)
    rows.classes[rare, -1], rows.hits[rare, -1] = CLASSES, True
    points = fit(MetricAccumulator(CLASSES + 1, rows))
    assert before is not None
    assert points is not None
    assert CLASSES in points.classes
    place = LEVELS.index(0.8)
    assert points.of_class[points.classes.tolist().index(CLASSES), place] > 0.5
    assert points.of_others[place] == pytest.approx(before.of_others[place], abs=0.05)
    unseen = points.thresholds(0.8, CLASSES + 10)[-1]
    assert unseen == points.of_others[place]


def test_the_order_of_the_videos_changes_no_bit():
    metrics, _ = world(1000, moved=1.0, tilted=0.3)
    order = np.random.default_rng(0).permutation(1000)
    halves = [metrics.select(np.isin(np.arange(1000), order[part])) for part in np.split(order, 2)]
    merged = MetricAccumulator(CLASSES)
    for half in halves:
        merged.merge(half)
    one, other = fit(metrics), fit(merged)
    assert one is not None
    assert other is not None
    np.testing.assert_array_equal(one.of_class, other.of_class)


def test_a_higher_precision_needs_a_higher_score():
    points = fit(world(1000, moved=1.0, tilted=0.3)[0])
    assert points is not None
    assert (points.of_class[:, 1:] >= points.of_class[:, :-1]).all()
    between, upper = points.thresholds(0.42, CLASSES), points.thresholds(0.45, CLASSES)
    np.testing.assert_array_equal(between, upper)
    # What a client has as float32 is the level itself.
    nine = points.thresholds(float(np.float32(0.9)), CLASSES)
    np.testing.assert_array_equal(nine, points.thresholds(0.9, CLASSES))
    assert np.isinf(points.thresholds(0.995, CLASSES)).all()


def test_too_few_hits_are_no_fit():
    metrics, _ = world(60, moved=0.0, tilted=0.0)
    assert fit(metrics) is None
    assert cross_check(metrics) == ()


def test_the_table_as_text_is_the_table():
    points = fit(world(1000, moved=1.0, tilted=0.3)[0])
    assert points is not None
    again = parse_table(table_text(points))
    assert again is not None
    assert again.levels == points.levels
    np.testing.assert_array_equal(again.classes, points.classes)
    np.testing.assert_allclose(again.of_class, points.of_class, rtol=1e-4)
    np.testing.assert_allclose(again.of_others, points.of_others, rtol=1e-4)
    assert parse_table(EMPTY_TABLE) is None
    with pytest.raises(ValueError, match="no line -2"):
        parse_table("-1\t0.5,0.9\n3\t0.1,0.2\n")


def test_a_table_without_any_class_has_the_levels_all_the_same():
    text = "-1\t0.5,0.9\n-2\t0.1,0.2\n"
    points = parse_table(text)
    assert points is not None
    assert points.of_class.shape == (0, 2)
    assert table_text(points) == text
