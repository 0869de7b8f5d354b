"""Leaving out each video at once equals scoring the others again, for every metric."""

import numpy as np
import pytest

from yt8m.components.metrics import Batch, MetricAccumulator, values_of
from yt8m.components.metrics.catalogue import leave_one_out

METRICS = ("gap", "map", "perr", "hit_at_1", "loss")


def model_of(videos, *, classes=25, steps=None, repeat=1, seed=1):
    """`repeat` rows a video; scores in `steps`, so that many tie."""
    rng = np.random.default_rng(seed)
    hot = rng.random((videos, classes)) < 0.12
    scores = (rng.random((videos, classes)) + 0.4 * hot).astype(np.float32)
    if steps:
        scores = np.round(scores * steps) / steps
    metrics = MetricAccumulator(classes)
    ids = [f"v{row // repeat}" for row in range(videos)]
    batch = Batch(predictions=scores, multi_hot=hot, ids=ids, loss=rng.random(videos))
    metrics.update(batch)
    return metrics


def sum_of_precisions(scores, hits):
    """Each hit at the precision of everything that scores as much or more, slowly."""
    return sum(hits[scores >= score].mean() for score in scores[hits])


def scored_again(metrics):
    rows = metrics.rows
    positives = np.bincount(rows.labels, minlength=metrics.num_classes)
    of_class = [
        sum_of_precisions(rows.scores[rows.classes == c], rows.hits[rows.classes == c])
        / positives[c]
        for c in np.flatnonzero(positives)
    ]
    result = values_of(metrics)
    return {
        "gap": sum_of_precisions(rows.scores.ravel(), rows.hits.ravel()) / positives.sum(),
        "map": np.mean(of_class),
        "perr": result["perr"],
        "hit_at_1": result["hit_at_1"],
        "loss": result["loss"],
    }


@pytest.mark.parametrize(
    "made",
    [
        {"videos": 30},
        {"videos": 30, "steps": 10},
        {"videos": 40, "steps": 4, "repeat": 3},
        {"videos": 24, "classes": 8, "repeat": 2},
        {"videos": 12, "classes": 60, "steps": 2},
        {"videos": 3, "steps": 3},
    ],
    ids=str,
)
def test_each_value_without_a_video_is_exact(made):
    model = model_of(**made)
    videos = np.unique(model.rows.keys)
    found = leave_one_out(model, videos)
    assert set(found) == set(METRICS)
    whole = scored_again(model)
    for metric in METRICS:
        assert found[metric].value == pytest.approx(whole[metric], abs=1e-12)
    for place, video in enumerate(videos):
        others = scored_again(model.select(model.rows.keys != video))
        for metric in METRICS:
            without = found[metric].without[place]
            assert without == pytest.approx(others[metric], abs=1e-12), metric


def test_other_videos_than_those_asked_for_do_not_count():
    model = model_of(40)
    some = np.unique(model.rows.keys)[::3]
    chosen = model.select(np.isin(model.rows.keys, some))
    asked, alone = leave_one_out(model, some), leave_one_out(chosen, some)
    for metric in METRICS:
        np.testing.assert_array_equal(asked[metric].without, alone[metric].without)


def test_a_set_without_labels_has_gap_zero_and_no_map():
    metrics = MetricAccumulator(4)
    scores = np.random.default_rng(0).random((5, 4))
    metrics.update(Batch(predictions=scores, multi_hot=np.zeros((5, 4)), ids=list("abcde")))
    found = leave_one_out(metrics, np.unique(metrics.rows.keys))
    assert "map" not in found
    assert found["gap"].value == 0.0
    assert not found["gap"].without.any()


def test_the_last_labelled_video_leaves_gap_zero():
    metrics = MetricAccumulator(4)
    hot = np.zeros((3, 4))
    hot[1, 2] = 1
    scores = np.random.default_rng(0).random((3, 4))
    metrics.update(Batch(predictions=scores, multi_hot=hot, ids=list("abc")))
    found = leave_one_out(metrics, np.unique(metrics.rows.keys))
    assert sorted(found["gap"].without)[0] == 0.0
    assert "map" not in found  # without that video there is no class to take a mean of


def test_a_class_with_one_positive_counts_its_chance_once():
    """The jackknife's overstatement of rare classes: its variance against what really happens."""
    rng = np.random.default_rng(3)
    values, variances = [], []
    for _ in range(200):
        hot = np.zeros((60, 120), bool)
        hot[np.arange(60), rng.integers(0, 120, 60)] = True
        scores = rng.random((60, 120)) + 0.9 * hot
        metrics = MetricAccumulator(120)
        metrics.update(Batch(predictions=scores, multi_hot=hot, ids=[f"{i}" for i in range(60)]))
        found = leave_one_out(metrics, np.unique(metrics.rows.keys))["map"]
        values.append(found.value)
        variances.append(found.change.var() * 59)
    assert np.sqrt(np.mean(variances)) == pytest.approx(np.std(values), rel=0.2)
