"""A polynomial of what network and neighbours say, against one that is computed by hand."""

import itertools
import math

import numpy as np
import pytest
import tensorflow as tf

from yt8m.components.models.combination import QUANTITIES, Said, combine
from yt8m.components.models.config import COEFFICIENTS, RetrievalConfig
from yt8m.schemas.errors import ConfigError

VIDEOS, CLASSES, MEMBERS = 5, 7, 3


def make_said(seed=0):
    rng = np.random.default_rng(seed)
    # From far below what is seen to nearly sure.
    members = 1 / (1 + np.exp(-rng.normal(-9, 3, size=(MEMBERS, VIDEOS, CLASSES))))
    shares = rng.uniform(size=(VIDEOS, CLASSES)) * (rng.uniform(size=(VIDEOS, CLASSES)) < 0.3)
    similarity, frequency = rng.uniform(-0.2, 0.9, VIDEOS), rng.uniform(0, 0.1, CLASSES)
    arrays = (members.mean(axis=0), members, shares, similarity, frequency)
    return Said(*(tf.constant(array, tf.float32) for array in arrays))


def by_hand(said, coefficients):
    """Video by video and class by class, with Python's own numbers."""
    network, members, shares, similarity, frequency = (part.numpy().astype(float) for part in said)
    scores = 0.1 * network
    for v, c in itertools.product(range(VIDEOS), range(CLASSES)):
        if network[v, c] <= 2e-4 and shares[v, c] <= 0.01:
            continue
        q = {
            "network": (math.log(network[v, c] + 0.001) + 6) / 1.2,
            "neighbours": math.log(shares[v, c] + 0.01) + 4,
            "labels": (math.log(sum(network[v]) + 0.001) - 0.3) / 0.8,
            "frequency": (math.log(frequency[c] + 0.0001) + 6) / 1.5,
            "similarity": (similarity[v] - 0.3) / 0.1,
            "spread": (math.log(np.std(members[:, v, c]) + 0.001) + 6) / 0.9,
        }
        pairs = itertools.combinations_with_replacement(QUANTITIES, 2)
        q = {name: min(max(value, -3.0), 5.0) for name, value in q.items()}
        values = [1.0, *(q[name] for name in QUANTITIES), *(q[a] * q[b] for a, b in pairs)]
        logit = sum(a * b for a, b in zip(coefficients, values, strict=True))
        scores[v, c] = 1 / (1 + math.exp(-logit))
    return scores


def coefficients(seed=1):
    return np.random.default_rng(seed).normal(size=COEFFICIENTS).round(2).tolist()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_probability_is_that_of_the_polynomial(seed):
    said = make_said(seed)
    scores = combine(said, coefficients()).numpy()
    np.testing.assert_allclose(scores, by_hand(said, coefficients()), rtol=2e-4, atol=1e-6)
    unseen = (said.network.numpy() <= 2e-4) & (said.neighbours.numpy() <= 0.01)
    assert 0 < unseen.sum() < unseen.size


def test_videos_are_scored_alike_alone_and_together():
    said = make_said()
    together = combine(said, coefficients()).numpy()
    for v in range(VIDEOS):
        one = Said(
            network=said.network[v : v + 1],
            members=said.members[:, v : v + 1],
            neighbours=said.neighbours[v : v + 1],
            similarity=said.similarity[v : v + 1],
            frequency=said.frequency,
        )
        np.testing.assert_allclose(combine(one, coefficients())[0], together[v], rtol=1e-4)


def test_nothing_that_is_said_gives_a_score_that_is_no_probability():
    extremes = tf.constant([[0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]])
    said = Said(
        network=extremes,
        members=tf.stack([extremes] * MEMBERS),
        neighbours=extremes[:, ::-1],
        similarity=tf.zeros([1]),
        frequency=tf.zeros([CLASSES]),
    )
    scores = combine(said, coefficients()).numpy()
    assert ((scores >= 0) & (scores <= 1)).all()
    none = combine(said._replace(network=0 * extremes, neighbours=0 * extremes), coefficients())
    assert (none.numpy() == 0).all()


@pytest.mark.parametrize("count", [1, COEFFICIENTS - 1, COEFFICIENTS + 1])
def test_another_number_of_coefficients_is_refused(count):
    with pytest.raises(ConfigError, match=r"combination.*must be 28 numbers or none"):
        RetrievalConfig(combination=(0.0,) * count)


@pytest.mark.parametrize("name", ["weight", "exponent"])
def test_what_a_polynomial_takes_the_place_of_is_refused_beside_it(name):
    with pytest.raises(ConfigError, match=rf"{name} = 0.5: must be omitted with combination"):
        RetrievalConfig(combination=(0.0,) * COEFFICIENTS, **{name: 0.5})
    RetrievalConfig(**{name: 0.5})
