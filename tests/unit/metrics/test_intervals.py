"""Intervals: the same for any order, paired, of the right width, and honest about sampling."""

import numpy as np
import pytest

from yt8m.components.metrics import Batch, MetricAccumulator, values_of
from yt8m.components.metrics.intervals import (
    Interval,
    Spread,
    spread_of,
    student_quantile,
    videos_to_decide,
)

METRICS = ("gap", "map", "perr", "hit_at_1")


def model_of(seed, videos=300, *, skill=0.4, order=None, repeat=1):
    rng = np.random.default_rng(seed)
    hot = rng.random((videos, 25)) < 0.12
    scores = (rng.random((videos, 25)) + skill * hot).astype(np.float32)
    return filled(scores, hot, order=order, repeat=repeat)


def filled(scores, hot, *, order=None, repeat=1):
    order = np.arange(len(scores)) if order is None else order
    metrics = MetricAccumulator(25)
    for part in np.array_split(order, 3):
        ids = [f"v{i // repeat}" for i in part]
        metrics.update(Batch(predictions=scores[part], multi_hot=hot[part], ids=ids))
    return metrics


def spread(*models, max_videos=10_000, seed=0):
    return spread_of(models, max_videos=max_videos, seed=seed)


def width(interval):
    return interval.upper - interval.lower


def test_order_and_sharding_change_no_bit():
    shuffled = model_of(0, order=np.random.default_rng(9).permutation(300))
    one, two = (spread(model, max_videos=200, seed=3) for model in (model_of(0), shuffled))
    for metric in METRICS:
        assert one.interval(metric, 0.5) == two.interval(metric, 0.5)


def test_another_seed_samples_otherwise():
    one, two = (spread(model_of(0), max_videos=100, seed=seed) for seed in (1, 2))
    assert one.interval("gap", 0.5) != two.interval("gap", 0.5)


def test_the_difference_to_itself_is_certainly_nothing():
    model = model_of(1)
    for metric in METRICS:
        assert spread(model, model).difference(metric, 0.0) == Interval(lower=0.0, upper=0.0)


def test_pairing_makes_the_difference_surer_than_each_value():
    rng = np.random.default_rng(0)
    hot = rng.random((400, 25)) < 0.12
    scores = (rng.random((400, 25)) + 0.4 * hot).astype(np.float32)
    nearly = scores + rng.normal(0, 0.01, scores.shape).astype(np.float32)
    found = spread(filled(scores, hot), filled(nearly, hot))
    assert width(found.difference("gap", 0.0)) < width(found.interval("gap", 0.5)) / 3


@pytest.fixture(scope="module")
def sampled():
    """What ten large samples are worth, and a hundred small ones with the spread of each."""
    large = [values_of(model_of(seed, videos=3000)) for seed in range(100, 110)]
    small = map(model_of, range(100))
    return large, [(values_of(model), spread(model)) for model in small]


@pytest.mark.parametrize("metric", METRICS)
def test_the_interval_holds_the_truth_about_as_often_as_it_says(metric, sampled):
    large, small = sampled
    truth = np.mean([result[metric] for result in large])
    held = 0
    for result, found in small:
        interval = found.interval(metric, result[metric], level=0.9)
        held += interval.lower <= truth <= interval.upper
    assert 78 <= held <= 98  # 90 expected; outside is less likely than 1 in 1,000


def test_a_sample_gives_about_the_interval_of_the_whole():
    model = model_of(2, videos=2000)
    whole = spread(model).interval("gap", 0.5)
    part = spread(model, max_videos=500).interval("gap", 0.5)
    assert width(part) == pytest.approx(width(whole), rel=0.15)


def test_rows_of_one_video_are_left_out_together():
    """Ten equal rows a video say no more than one."""
    rng = np.random.default_rng(3)
    hot = rng.random((60, 25)) < 0.12
    scores = (rng.random((60, 25)) + 0.4 * hot).astype(np.float32)
    alone = filled(scores, hot)
    ten = filled(np.repeat(scores, 10, axis=0), np.repeat(hot, 10, axis=0), repeat=10)
    for metric in ("gap", "perr", "hit_at_1"):
        one, many = (spread(model).interval(metric, 0.5) for model in (alone, ten))
        assert width(many) == pytest.approx(width(one), rel=0.02)


def test_bounds_of_shares_stay_on_the_scale_and_equal_answers_are_not_certain():
    hot = np.eye(20, 25, dtype=bool)
    perfect = filled(hot.astype(np.float32), hot)
    for metric in METRICS:
        interval = spread(perfect).interval(metric, 1.0)
        assert 0.8 < interval.lower < 0.9
        assert interval.upper == 1.0


def test_the_loss_has_an_interval_that_may_leave_the_scale_of_shares():
    metrics = MetricAccumulator(25)
    rng = np.random.default_rng(0)
    half = rng.normal(5, 1, 100)
    loss = np.concatenate([half, 10 - half])  # symmetric, so that Student's interval is the oracle
    ids = [f"v{i}" for i in range(200)]
    metrics.update(Batch(predictions=rng.random((200, 25)), labels=[[0]] * 200, ids=ids, loss=loss))
    interval = spread(metrics).interval("loss", float(loss.mean()))
    reach = student_quantile(0.975, freedom=199) * loss.std(ddof=1) / np.sqrt(200)
    assert interval.lower == pytest.approx(loss.mean() - reach)
    assert interval.upper == pytest.approx(loss.mean() + reach)


@pytest.mark.parametrize("videos", [0, 1])
def test_fewer_than_two_videos_have_no_interval(videos):
    assert spread(model_of(0, videos=videos)) is None


def test_a_metric_that_some_video_alone_defines_has_no_interval():
    hot = np.zeros((3, 25), bool)
    hot[0, 0] = True
    model = filled(np.random.default_rng(0).random((3, 25)), hot)
    assert spread(model).interval("map", 0.5) is None
    assert spread(model, model).difference("map", 0.0) is None


@pytest.mark.parametrize(
    ("share", "freedom", "expected"),
    [(0.975, 5, 2.57058), (0.975, 30, 2.04227), (0.95, 10, 1.81246), (0.995, 100, 2.62589)],
)
def test_the_quantile_is_student_s(share, freedom, expected):
    assert student_quantile(share, freedom=freedom) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("value", "limit", "expected"),
    [
        (0.02, 0.0, 1000),  # the lower bound touches the limit
        (0.01, 0.0, 4000),  # half the distance: four times the videos
        (0.04, 0.0, 250),
        (-0.01, 0.0, 4000),  # the other side is told apart by the upper bound
        (0.0, 0.0, None),
    ],
)
def test_twice_as_near_a_limit_takes_four_times_the_videos(value, limit, expected):
    interval = Interval(lower=value - 0.02, upper=value + 0.02)
    assert videos_to_decide(1000, interval, value=value, limit=limit) == expected


def mean_spread(values):
    """The spread of the mean of `values`, compared with a model that has 0 everywhere."""
    changes = (values.mean() - values) / (len(values) - 1)  # the mean without each, minus the mean
    nothing = np.zeros_like(values)
    return Spread(
        changes=[{"mean": changes}, {"mean": nothing}], videos=len(values), shares=frozenset()
    )


@pytest.mark.parametrize(("videos", "share"), [(500, 0.015), (1_000, 0.005)])
def test_rare_failures_miss_on_neither_side_more_often_than_asked(videos, share):
    rng = np.random.default_rng(0)
    above = below = 0
    for _ in range(2_000):
        values = rng.normal(0, 0.05, videos) - (rng.random(videos) < share)
        found = mean_spread(values).difference("mean", float(values.mean()))
        above += found.lower > -share
        below += found.upper < -share
    assert above / 2_000 <= 0.035
    assert below / 2_000 <= 0.035


def test_symmetric_changes_have_students_interval():
    values = np.array([-2.0, -1.0, 0.0, 1.0, 2.0] * 20)
    found = mean_spread(values).difference("mean", 0.0)
    reach = student_quantile(0.975, freedom=99) * values.std(ddof=1) / 10
    assert found.lower == pytest.approx(-reach)
    assert found.upper == pytest.approx(reach)


def test_an_interval_reaches_further_to_where_the_tail_is():
    values = np.zeros(500)
    values[:5] = -1.0
    found = mean_spread(values).difference("mean", -0.01)
    assert -0.01 - found.lower > 1.5 * (found.upper + 0.01) > 0
