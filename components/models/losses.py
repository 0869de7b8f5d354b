"""Losses on probabilities and label ids, summed over the examples.

All are sums over the classes of a term for "not a label", corrected at the labels alone: the dense
targets, which at 3,862 classes are 99.9 % zeros, are never made. With `p` the probabilities:

- cross entropy: -log(1 - p + eps) for classes that are not labels, -log(p + eps) for labels;
- hinge: max(0, m + p), and max(0, m - p) for labels;
- softmax: -log softmax(p) at the labels, divided by their number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import tensorflow as tf

from yt8m.components.models.config import LossConfig, LossName
from yt8m.components.models.heads import Head, Targets, learned_rows, targets

EPSILON = 1e-5  # of the starter code


class _Terms(NamedTuple):
    """Loss of every class were its target 0, and were it 1."""

    negative: Callable[[tf.Tensor], tf.Tensor]
    positive: Callable[[tf.Tensor], tf.Tensor]


def head_loss(head: Head, batch: Mapping[str, tf.Tensor], probabilities: tf.Tensor) -> tf.Tensor:
    """The configured loss of `head` for its `probabilities` [batch, classes], over all examples."""
    losses = example_losses(head.loss, targets(head, batch), probabilities)
    learned = learned_rows(head, batch)
    return tf.reduce_sum(losses if learned is None else losses * learned)


def example_losses(config: LossConfig, wanted: Targets, probabilities: tf.Tensor) -> tf.Tensor:
    """The loss of each example, [batch] float32."""
    probabilities = tf.cast(probabilities, tf.float32)
    if config.name is LossName.SOFTMAX:
        return _softmax(config, wanted, probabilities)
    terms = _smoothed(_TERMS[config.name](config), config.label_smoothing)
    if wanted.counted is not None:
        return _rated(terms, wanted, probabilities)
    return tf.reduce_sum(terms.negative(probabilities), axis=-1) + _at_labels(
        terms, wanted.ids, probabilities
    )


def distillation_loss(
    probabilities: tf.Tensor, teacher: tf.Tensor, *, temperature: float
) -> tf.Tensor:
    """The cross entropy of `probabilities` [batch, classes] under a teacher's, summed.

    Times the square of the temperature, which divides the gradients as often (Hinton et al. 2015).
    """
    predicted, wanted = (_softened(part, temperature) for part in (probabilities, teacher))
    terms = wanted * tf.math.log(predicted + EPSILON) + (1 - wanted) * tf.math.log(
        1 - predicted + EPSILON
    )
    return -tf.reduce_sum(terms) * temperature**2


def _softened(probabilities: tf.Tensor, temperature: float) -> tf.Tensor:
    """The probabilities whose log-odds are so many times smaller."""
    probabilities = tf.cast(probabilities, tf.float32)
    if temperature == 1.0:
        return probabilities
    # Roots of 0 have no gradient.
    probabilities = tf.clip_by_value(probabilities, EPSILON, 1 - EPSILON)
    there, absent = probabilities ** (1 / temperature), (1 - probabilities) ** (1 / temperature)
    return there / (there + absent)


def _cross_entropy(_: LossConfig) -> _Terms:
    return _Terms(
        negative=lambda p: -tf.math.log(1.0 - p + EPSILON),
        positive=lambda p: -tf.math.log(p + EPSILON),
    )


def _hinge(config: LossConfig) -> _Terms:
    return _Terms(
        negative=lambda p: tf.nn.relu(config.margin + p),
        positive=lambda p: tf.nn.relu(config.margin - p),
    )


_TERMS: dict[LossName, Callable[[LossConfig], _Terms]] = {
    LossName.CROSS_ENTROPY: _cross_entropy,
    LossName.HINGE: _hinge,
}


def _smoothed(terms: _Terms, smoothing: float) -> _Terms:
    """The terms for targets drawn towards 1/2; both losses are linear in the target."""
    if not smoothing:
        return terms
    far, near = 1.0 - smoothing / 2, smoothing / 2
    return _Terms(
        negative=lambda p: far * terms.negative(p) + near * terms.positive(p),
        positive=lambda p: far * terms.positive(p) + near * terms.negative(p),
    )


def _at_labels(terms: _Terms, ids: tf.Tensor, probabilities: tf.Tensor) -> tf.Tensor:
    """The labels' change of the sum over all classes, [batch]."""
    chosen, present = _gather(probabilities, ids)
    return tf.reduce_sum(present * (terms.positive(chosen) - terms.negative(chosen)), axis=-1)


def _rated(terms: _Terms, wanted: Targets, probabilities: tf.Tensor) -> tf.Tensor:
    """The sum over the rated classes alone; labels are rated."""
    chosen, present = _gather(probabilities, wanted.counted)
    rest = tf.reduce_sum(present * terms.negative(chosen), axis=-1)
    return rest + _at_labels(terms, wanted.ids, probabilities)


def _softmax(config: LossConfig, wanted: Targets, probabilities: tf.Tensor) -> tf.Tensor:
    if wanted.counted is not None:
        probabilities = _multiply_by_weights(probabilities, wanted.counted)
    log_softmax = tf.nn.log_softmax(probabilities)
    chosen, present = _gather(log_softmax, wanted.ids)
    at_labels = tf.reduce_sum(present * chosen, axis=-1)
    mean = tf.math.divide_no_nan(at_labels, tf.reduce_sum(present, axis=-1))
    if config.label_smoothing:  # towards the uniform distribution: here targets sum to 1
        uniform = tf.reduce_mean(log_softmax, axis=-1)
        mean = (1.0 - config.label_smoothing) * mean + config.label_smoothing * uniform
    return -mean


def _multiply_by_weights(probabilities: tf.Tensor, counted: tf.Tensor) -> tf.Tensor:
    classes = tf.shape(probabilities)[-1]
    return probabilities * tf.reduce_max(tf.one_hot(counted, classes), axis=1)


def _gather(values: tf.Tensor, ids: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """`values` at `ids` [batch, any], and 1 where the id is one, 0 where it is padding."""
    present = tf.cast(ids >= 0, values.dtype)
    return tf.gather(values, tf.maximum(ids, 0), batch_dims=1), present
