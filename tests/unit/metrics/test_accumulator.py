"""The accumulator against a slow oracle, hand-computed values and its own algebra."""

import metric_oracle as oracle
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yt8m.components.metrics import Batch, MetricAccumulator, values_of
from yt8m.components.metrics import average_precision as average_precision_module
from yt8m.schemas.errors import DataError


def scored(predictions, multi_hot, *, k=20, top_n=None, **more):
    predictions = np.asarray(predictions)
    metrics = MetricAccumulator(predictions.shape[1], top_k=k, top_n=top_n)
    metrics.update(Batch(predictions=predictions, multi_hot=np.asarray(multi_hot), **more))
    return values_of(metrics)


def random_case(seed, videos=40, classes=30, *, levels=None, dtype=np.float32):
    rng = np.random.default_rng(seed)
    predictions = rng.random((videos, classes)).astype(dtype)
    if levels:
        predictions = np.floor(predictions * levels) / levels
    return predictions, rng.random((videos, classes)) < 3 / classes


HAND = [
    # One video, best class right, the other label at rank 3: (1/1 + 2/3) / 2.
    ("a miss between two hits", [[0.9, 0.5, 0.4]], [[1, 0, 1]], 1.0, 0.5, (1 + 2 / 3) / 2, 1.0),
    # The second label is outside the top 2, yet it counts among the positives.
    ("a label outside the top k", [[0.9, 0.5, 0.4]], [[1, 0, 1]], 1.0, 0.5, 0.5, 0.5),
    # Pooled: .9 hit, .8 miss, .7 hit, .6 miss.
    (
        "two videos in one pool",
        [[0.9, 0.6], [0.8, 0.7]],
        [[1, 0], [0, 1]],
        0.5,
        0.5,
        (1 + 2 / 3) / 2,
        1.0,
    ),
    # Two tied pairs, one a hit: half of 1/1 and half of 1/2.
    ("a tie", [[0.5, 0.5]], [[0, 1]], 0.0, 0.0, 0.75, 1.0),
    ("no labels at all", [[0.3, 0.2]], [[0, 0]], 0.0, 0.0, 0.0, None),
    ("scores of zero do not count in PERR", [[0.0, 0.0]], [[1, 1]], 1.0, 0.0, 1.0, 1.0),
]


@pytest.mark.parametrize("case", HAND, ids=[case[0] for case in HAND])
def test_values_computed_by_hand(case):
    name, predictions, labels, hit, perr, gap, mean_ap = case
    result = scored(predictions, labels, k=2 if "outside" in name else 20)
    assert result["hit_at_1"] == hit
    assert result["perr"] == perr
    assert result["gap"] == pytest.approx(gap, abs=1e-15)
    assert result["map"] == (None if mean_ap is None else pytest.approx(mean_ap, abs=1e-15))


@pytest.mark.parametrize("k", [1, 5, 20, 50])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equals_the_slow_oracle_without_ties(k, dtype):
    predictions, hot = random_case(k, dtype=dtype)
    result = scored(predictions, hot, k=k, top_n=7)
    lists, labels = predictions.tolist(), oracle.label_sets(hot)
    assert result["hit_at_1"] == oracle.hit_at_1(lists, labels)
    assert result["perr"] == pytest.approx(oracle.perr(lists, labels), abs=1e-12)
    assert result["gap"] == pytest.approx(oracle.gap(lists, labels, k), abs=1e-12)
    assert result["map"] == pytest.approx(oracle.mean_ap(lists, labels, k, top_n=7), abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 2), st.sampled_from([None, 1, 2]))
def test_ties_are_the_mean_over_every_order(seed, k, top_n):
    predictions, hot = random_case(seed, videos=3, classes=4, levels=2)
    result = scored(predictions, hot, k=k, top_n=top_n)
    lists, labels = predictions.tolist(), oracle.label_sets(hot)
    assert result["gap"] == pytest.approx(oracle.gap(lists, labels, k), abs=1e-12)
    expected = oracle.mean_ap(lists, labels, k, top_n=top_n)
    assert result["map"] == (None if expected is None else pytest.approx(expected, abs=1e-12))


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from([None, 3]),
    st.lists(st.integers(0, 30), max_size=5),
)
def test_order_and_sharding_change_no_bit(seed, levels, cuts):
    predictions, hot = random_case(seed, videos=30, levels=levels)
    loss = predictions.sum(axis=1)

    def batch(chosen):
        return Batch(
            predictions=predictions[chosen],
            multi_hot=hot[chosen],
            loss=loss[chosen],
        )

    whole = MetricAccumulator(30)
    whole.update(batch(np.arange(30)))
    order = np.random.default_rng(seed + 1).permutation(30)
    merged = MetricAccumulator(30)
    for piece in np.split(order, sorted(cuts)):
        shard = MetricAccumulator(30)
        shard.update(batch(piece))
        merged.merge(MetricAccumulator.from_bytes(shard.to_bytes()))
    assert values_of(merged) == values_of(whole)


def test_blocks_of_pairs_do_not_change_the_result(monkeypatch):
    predictions, hot = random_case(5, videos=200, levels=50)
    whole = scored(predictions, hot, top_n=9)
    monkeypatch.setattr(average_precision_module, "PAIRS_AT_ONCE", 37)
    parts = scored(predictions, hot, top_n=9)
    assert parts["gap"] == pytest.approx(whole["gap"], abs=1e-14)
    assert parts["map"] == pytest.approx(whole["map"], abs=1e-14)


def test_padded_ids_and_multi_hot_are_the_same_labels():
    predictions, hot = random_case(1)
    width = int(hot.sum(axis=1).max()) + 2
    ids = np.full((40, width), -1)
    for row, labels in zip(ids, hot, strict=True):
        row[: labels.sum()] = np.flatnonzero(labels)[::-1]
    ids[:, -1] = ids[:, 0]  # a label named twice is one label
    metrics = MetricAccumulator(30)
    metrics.update(Batch(predictions=predictions, labels=ids))
    assert values_of(metrics) == scored(predictions, hot)


def test_unrated_classes_of_a_segment_score_zero():
    predictions, hot = random_case(2)
    rated = np.random.default_rng(2).random(hot.shape) < 0.2
    weighted = scored(predictions, hot & rated, label_weights=rated)
    by_hand = scored(np.where(rated, predictions, 0), hot & rated)
    assert weighted == by_hand


def test_a_slice_equals_the_metrics_of_its_videos_alone():
    predictions, hot = random_case(4)
    chosen = hot.sum(axis=1) > 2
    metrics = MetricAccumulator(30)
    metrics.update(Batch(predictions=predictions, multi_hot=hot))
    assert values_of(metrics.select(chosen)) == scored(predictions[chosen], hot[chosen])


def test_more_labels_than_top_k_still_gives_exact_perr():
    predictions, hot = random_case(6, classes=60)
    hot[::4, :45] = True
    expected = oracle.perr(predictions.tolist(), oracle.label_sets(hot))
    assert scored(predictions, hot, k=5)["perr"] == pytest.approx(expected, abs=1e-12)


def test_nothing_accumulated_has_no_means():
    result = values_of(MetricAccumulator(10))
    assert result == {"gap": 0.0, "hit_at_1": None, "perr": None, "map": None, "loss": None}


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_prediction_that_is_no_number_names_the_video(value):
    predictions, hot = random_case(7)
    predictions[11, 3] = value
    names = [f"vid{i:02d}".encode() for i in range(40)]
    with pytest.raises(DataError, match=r"vid11.*predicts"):
        scored(predictions, hot, ids=names)


def test_a_label_outside_the_classes_names_the_video():
    metrics = MetricAccumulator(30)
    labels = np.array([[1, -1], [2, 30]])
    with pytest.raises(DataError, match=r"video b: label 30 is not one of the 30 classes"):
        metrics.update(Batch(predictions=np.ones((2, 30)), labels=labels, ids=["a", "b"]))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"predictions": np.ones((4, 29))}, "expected"),
        ({"multi_hot": np.ones((4, 29))}, "labels have shape"),
        ({"multi_hot": None}, "either labels"),
        ({"loss": np.ones(3)}, "expected"),
        ({"loss": np.array([1, 2, np.nan, 1])}, "finite"),
        ({"label_weights": np.ones((4, 2))}, "label_weights"),
    ],
)
def test_what_does_not_fit_is_refused(change, words):
    batch = {"predictions": np.ones((4, 30)), "multi_hot": np.ones((4, 30)), **change}
    with pytest.raises(DataError, match=words):
        MetricAccumulator(30).update(Batch(**batch))


def test_different_classes_do_not_merge():
    with pytest.raises(ValueError, match="do not merge"):
        MetricAccumulator(30).merge(MetricAccumulator(31))


def test_a_video_takes_at_most_300_bytes_at_full_size():
    rng = np.random.default_rng(0)
    metrics = MetricAccumulator(3862)
    for _ in range(4):
        labels = rng.integers(0, 3862, (256, 4))
        metrics.update(
            Batch(
                predictions=rng.random((256, 3862), np.float32),
                labels=labels,
                loss=rng.random(256),
            )
        )
    assert metrics.rows.nbytes / len(metrics) <= 300


@pytest.mark.parametrize("known", [1, 10, 25])
def test_classes_that_a_model_does_not_score_are_misses_wherever_they_rank(known):
    """As if it were scored on its own classes, with the labels of all in the denominators."""
    predictions, hot = random_case(3)
    predictions[:, known:] = 0
    values = scored(predictions, hot, num_known=known)
    own = scored(predictions[:, :known], hot[:, :known])
    assert values["gap"] == pytest.approx(own["gap"] * hot[:, :known].sum() / hot.sum())
    assert values["hit_at_1"] == own["hit_at_1"]
    classes = [int(hot[:, :n].any(axis=0).sum()) for n in (known, hot.shape[1])]
    assert values["map"] == pytest.approx((own["map"] or 0.0) * classes[0] / classes[1])
