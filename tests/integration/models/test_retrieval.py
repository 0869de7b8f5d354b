"""The nearest videos of an index, and what they say beside a network."""

import numpy as np
import pytest
import tensorflow as tf

from yt8m.components.models import retrieval
from yt8m.components.models.config import KeyStorage, RetrievalConfig
from yt8m.components.models.retrieval import Index, Neighbours, encode, unit_vectors

SIZES, CLASSES = (16, 8), 9


def make_vectors(rows, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, sum(SIZES))).astype(np.float32)


def make_index(vectors, labels, storage=KeyStorage.FLOAT32):
    units = unit_vectors(tf.constant(vectors), SIZES).numpy()
    return Index(*encode(units, storage), np.asarray(labels, np.int32))


def make_labels(rows, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.full((rows, 3), -1)
    for row in labels:
        count = rng.integers(0, 4)
        row[:count] = rng.choice(CLASSES, count, replace=False)
    return labels


def neighbours(vectors, labels, storage=KeyStorage.FLOAT32, **config):
    config = RetrievalConfig(storage=storage, **config)
    index = make_index(vectors, labels, storage)
    return Neighbours(config, index, sizes=SIZES, num_classes=CLASSES)


def by_hand(queries, vectors, labels, *, count, temperature):
    """The same with sorted lists: the cosine of rgb and that of audio, weighed by their sizes."""

    def cosines(a, b):
        parts = zip(np.split(a, [SIZES[0]]), np.split(b, [SIZES[0]]), strict=True)
        each = [x @ y / np.linalg.norm(x) / np.linalg.norm(y) for x, y in parts]
        return np.dot(each, SIZES) / sum(SIZES)

    scores = np.zeros((len(queries), CLASSES))
    for row, query in enumerate(queries):
        similar = np.array([cosines(query, vector) for vector in vectors])
        nearest = np.argsort(-similar)[:count]
        says = np.exp(similar[nearest] / temperature)
        for one, weight in zip(nearest, says / says.sum(), strict=True):
            for label in labels[one]:
                if label >= 0:
                    scores[row, label] += weight
    return scores


@pytest.mark.parametrize("block", [7, 100])
def test_a_class_has_the_weight_of_the_nearest_videos_that_have_it(block, monkeypatch):
    monkeypatch.setattr(retrieval, "_BLOCK", block)
    vectors, labels, queries = make_vectors(40), make_labels(40), make_vectors(5, seed=1)
    found = neighbours(vectors, labels, count=6, temperature=0.2).probabilities(queries)
    wanted = by_hand(queries, vectors, labels, count=6, temperature=0.2)
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_an_index_of_fewer_videos_than_are_asked_asks_them_all():
    vectors, labels, queries = make_vectors(3), make_labels(3), make_vectors(4, seed=1)
    found = neighbours(vectors, labels, count=20, temperature=0.2).probabilities(queries)
    wanted = by_hand(queries, vectors, labels, count=3, temperature=0.2)
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_bytes_say_what_floats_say_in_a_quarter_of_the_memory():
    vectors, labels, queries = make_vectors(200), make_labels(200), make_vectors(20, seed=1)
    exact, quantised = (
        neighbours(vectors, labels, storage).probabilities(queries)
        for storage in (KeyStorage.FLOAT32, KeyStorage.INT8)
    )
    np.testing.assert_allclose(quantised, exact, atol=0.03)
    sizes = {s: make_index(vectors, labels, s).keys.nbytes for s in KeyStorage}
    assert sizes[KeyStorage.FLOAT32] == 4 * sizes[KeyStorage.INT8] == 4 * 200 * sum(SIZES)


@pytest.mark.parametrize("exponent", [1.0, 0.6])
def test_the_network_has_what_the_neighbours_leave(exponent):
    vectors, labels, queries = make_vectors(30), make_labels(30), make_vectors(5, seed=1)
    head = neighbours(vectors, labels, weight=0.25, exponent=exponent)
    network = tf.constant(np.random.default_rng(2).uniform(size=(5, CLASSES)), tf.float32)
    blended = head.blend(queries, network)
    expected = 0.75 * network**exponent + 0.25 * head.probabilities(queries)
    np.testing.assert_allclose(blended, expected, rtol=1e-6)


def test_a_video_whose_features_are_zeros_is_answered_with_finite_numbers():
    head = neighbours(make_vectors(30), make_labels(30))
    scores = head.probabilities(np.zeros((2, sum(SIZES)), np.float32)).numpy()
    assert np.isfinite(scores).all()


def test_videos_that_are_added_are_found_at_once():
    vectors, labels = make_vectors(30), make_labels(30)
    labels[labels == 8] = -1
    head = neighbours(vectors, labels, KeyStorage.INT8)
    new = make_vectors(1, seed=5)
    ask = tf.function(head.probabilities)
    assert ask(tf.constant(new)).numpy()[0, 8] == 0
    more = make_index(new, [[8, -1, -1, -1]], KeyStorage.INT8)
    head.keys.assign(np.concatenate([head.keys.numpy(), more.keys]))
    head.scales.assign(np.concatenate([head.scales.numpy(), more.scales]))
    wider = np.pad(head.labels.numpy(), [(0, 0), (0, 1)], constant_values=-1)
    head.labels.assign(np.concatenate([wider, more.labels]))
    assert ask(tf.constant(new)).numpy()[0, 8] > 0.5
