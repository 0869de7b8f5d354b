"""How likely a class is, by what a network and the neighbours say of a video: a polynomial.

A weighted mean cannot tell members that agree from members that differ, neighbours that are close
from neighbours that are far, or a frequent class from a rare one. Here the logit is a polynomial of
degree two in six quantities, so that each counts more or less by what the others are.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import NamedTuple

import tensorflow as tf

from yt8m.components.models.config import COEFFICIENTS

QUANTITIES = ("network", "neighbours", "labels", "frequency", "similarity", "spread")
_PAIRS = tuple(combinations_with_replacement(range(len(QUANTITIES)), 2))
assert 1 + len(QUANTITIES) + len(_PAIRS) == COEFFICIENTS
# About the means and standard deviations of the quantities, for coefficients of like size; and the
# range that they then have on real videos, beyond which a polynomial means nothing.
_CENTRES = (-6.0, -4.0, 0.3, -6.0, 0.3, -6.0)
_SCALES = (1.2, 1.0, 0.8, 1.5, 0.1, 0.9)
_LOWEST, _HIGHEST = -3.0, 5.0
# What is below both is of no interest; the coefficients are fitted on the rest, 2 % of all.
_NETWORK_SEES, _NEIGHBOURS_SEE = 2e-4, 1e-2
BEHIND = 0.1


class Said(NamedTuple):
    """What is known of a batch of videos."""

    network: tf.Tensor  # [batch, classes]: the mean of the members' probabilities
    members: tf.Tensor  # [members, batch, classes]
    neighbours: tf.Tensor  # [batch, classes]: the share of the neighbours that have the class
    similarity: tf.Tensor  # [batch]: the mean of the neighbours' cosines
    frequency: tf.Tensor  # [classes]: the share of all videos that have the class


def seen(said: Said) -> tf.Tensor:
    """[any, 2]: video and class wherever the network or the neighbours see something."""
    return tf.where((said.network > _NETWORK_SEES) | (said.neighbours > _NEIGHBOURS_SEE))


def quantities(said: Said, places: tf.Tensor) -> list[tf.Tensor]:
    """In the order of `QUANTITIES`, [any] each, of what `seen` gives.

    Logarithms are of a little more than the values, so that all are bounded.
    """
    video, of_class = places[:, 0], places[:, 1]
    labels = tf.reduce_sum(said.network, axis=1)  # how many the network expects
    spread = [tf.gather_nd(member, places) for member in tf.unstack(said.members)]
    raw = (
        tf.math.log(tf.gather_nd(said.network, places) + 1e-3),
        tf.math.log(tf.gather_nd(said.neighbours, places) + 1e-2),
        tf.gather(tf.math.log(labels + 1e-3), video),
        tf.gather(tf.math.log(said.frequency + 1e-4), of_class),
        tf.gather(said.similarity, video),
        tf.math.log(tf.math.reduce_std(tf.stack(spread), axis=0) + 1e-3),
    )
    return [
        tf.clip_by_value((q - c) / s, _LOWEST, _HIGHEST)
        for q, c, s in zip(raw, _CENTRES, _SCALES, strict=True)
    ]


def terms(values: Sequence[tf.Tensor]) -> tf.Tensor:
    """[any, COEFFICIENTS] from `quantities`: one, each of them, and their products by twos."""
    products = [values[i] * values[j] for i, j in _PAIRS]
    return tf.stack([tf.ones_like(values[0]), *values, *products], axis=1)


def combine(said: Said, coefficients: Sequence[float]) -> tf.Tensor:
    """The probabilities, [batch, classes]."""
    places = seen(said)
    logits = tf.linalg.matvec(terms(quantities(said, places)), tf.constant(coefficients))
    return tf.tensor_scatter_nd_update(BEHIND * said.network, places, tf.sigmoid(logits))
