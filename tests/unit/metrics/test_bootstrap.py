"""Intervals: reproducible, paired, of the right width, and honest about sampling."""

import numpy as np
import pytest

from yt8m.components.metrics import Batch, MetricAccumulator
from yt8m.components.metrics.bootstrap import draw_gap


def model_of(seed, videos=300, *, skill=0.4, order=None, repeat=1):
    rng = np.random.default_rng(seed)
    hot = rng.random((videos, 25)) < 0.12
    scores = (rng.random((videos, 25)) + skill * hot).astype(np.float32)
    return filled(scores, hot, order=order, repeat=repeat)


def filled(scores, hot, *, order=None, repeat=1):
    order = np.arange(len(scores)) if order is None else order
    metrics = MetricAccumulator.empty(25)
    for part in np.array_split(order, 3):
        ids = [f"v{i // repeat}" for i in part]
        metrics.update(Batch(predictions=scores[part], multi_hot=hot[part], ids=ids))
    return metrics


def test_order_and_sharding_change_no_draw():
    shuffled = model_of(0, order=np.random.default_rng(9).permutation(300))
    one = draw_gap([model_of(0)], replicates=20, max_videos=200, seed=3)
    two = draw_gap([shuffled], replicates=20, max_videos=200, seed=3)
    np.testing.assert_allclose(one.deviations, two.deviations, atol=1e-14)


def test_another_seed_draws_otherwise():
    one, two = (
        draw_gap([model_of(0)], replicates=20, max_videos=999, seed=seed) for seed in (1, 2)
    )
    assert not np.allclose(one.deviations, two.deviations)


def test_a_draw_equals_scoring_the_drawn_videos():
    rng = np.random.default_rng(5)
    hot = rng.random((40, 25)) < 0.12
    scores = (rng.random((40, 25)) + 0.3 * hot).astype(np.float64)
    metrics = filled(scores, hot)
    draws = draw_gap([metrics], replicates=20, max_videos=999, seed=7)
    replay = np.random.default_rng(7)
    keys = metrics.rows.keys
    place_of = np.argsort(np.argsort(keys))  # row -> position among the sorted keys
    drawn = np.bincount(replay.integers(0, 40, 40), minlength=40)[place_of]
    copies = np.repeat(np.arange(40), drawn)
    expected = closing_gap(scores[copies], hot[copies]) - closing_gap(scores, hot)
    assert draws.deviations[0, 0] == pytest.approx(expected, abs=1e-12)


def closing_gap(scores, hot):
    """GAP with every tie counted at its closing precision, slowly."""
    pairs = []
    for row, labels in zip(scores, hot, strict=True):
        pairs += [(row[c], labels[c]) for c in np.argsort(-row)[:20]]
    total = 0.0
    for score, hit in pairs:
        if hit:
            at_least = [h for s, h in pairs if s >= score]
            total += sum(at_least) / len(at_least)
    return total / hot.sum()


def test_the_difference_to_itself_is_certainly_nothing():
    model = model_of(1)
    draws = draw_gap([model, model], replicates=30, max_videos=999, seed=0)
    interval = draws.difference(0.0)
    assert interval == (0.0, 0.0)


def test_pairing_makes_the_difference_surer_than_each_value():
    rng = np.random.default_rng(0)
    hot = rng.random((400, 25)) < 0.12
    scores = (rng.random((400, 25)) + 0.4 * hot).astype(np.float32)
    nearly = scores + rng.normal(0, 0.01, scores.shape).astype(np.float32)
    draws = draw_gap(
        [filled(scores, hot), filled(nearly, hot)], replicates=60, max_videos=999, seed=0
    )
    own = draws.interval(0.5)
    both = draws.difference(0.0)
    assert both[1] - both[0] < (own[1] - own[0]) / 3


def test_the_interval_holds_the_truth_about_as_often_as_it_says():
    truth = np.mean([model_of(s, videos=3000).gap() for s in range(100, 104)])
    held = 0
    for seed in range(40):
        model = model_of(seed)
        draws = draw_gap([model], replicates=60, max_videos=999, seed=seed)
        lower, upper = draws.interval(model.gap(), level=0.9)
        held += lower <= truth <= upper
    assert 28 <= held <= 40  # 36 expected; 28 is less likely than 1 in 1,000


def test_a_sample_gives_about_the_interval_of_the_whole():
    model = model_of(2, videos=2000)
    whole = draw_gap([model], replicates=150, max_videos=2000, seed=0)
    part = draw_gap([model], replicates=150, max_videos=500, seed=0)
    assert (part.videos, part.of_videos, whole.videos) == (500, 2000, 2000)
    assert part.deviations.std() == pytest.approx(whole.deviations.std(), rel=0.35)


def test_rows_of_one_video_are_drawn_together():
    alone = draw_gap([model_of(3)], replicates=150, max_videos=999, seed=0)
    grouped = draw_gap([model_of(3, repeat=10)], replicates=150, max_videos=999, seed=0)
    assert (alone.of_videos, grouped.of_videos) == (300, 30)


@pytest.mark.parametrize("videos", [0, 1])
def test_fewer_than_two_videos_have_no_interval(videos):
    assert draw_gap([model_of(0, videos=videos)], replicates=20, max_videos=100, seed=0) is None
