"""Keras's layer normalisation over the last axis, compiled where a network's recipe says so.

Its dozen operations each read and write all vectors, its gradient's two dozen too. Compiled, each
direction takes two passes (docs/decisions/0035-few-passes-over-memory.md).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf
import tf_keras

from yt8m.components.models.layers import Recipe, fused
from yt8m.components.preprocessing.sums import sum_in_slices

_VECTOR_SLICES, _ROW_SLICES = 4, 20


class LayerNorm(tf_keras.layers.LayerNormalization):
    """The same weights by the same names as Keras's layer."""

    def __init__(self, *, name: str, recipe: Recipe, epsilon: float = 1e-6) -> None:
        super().__init__(epsilon=epsilon, name=name)
        self._compiled = _compiled(epsilon) if recipe.fuse else None

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        if self._compiled is None:
            return super().call(inputs)
        rows = tf.reshape(inputs, [-1, inputs.shape[-1]])
        # Outside a graph TensorFlow takes no variable of several replicas.
        weights = map(tf.convert_to_tensor, (self.gamma, self.beta))
        return tf.reshape(self._compiled(rows, *weights), tf.shape(inputs))


class _Moments(NamedTuple):
    """Of each row: [rows, 1]."""

    mean: tf.Tensor
    inverse: tf.Tensor  # one over the standard deviation


def _compiled(epsilon: float) -> Callable[[tf.Tensor, tf.Tensor, tf.Tensor], tf.Tensor]:
    """A function of `rows [n, size]` and the scale and shift, with its own gradient."""

    def normalised(
        rows: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor
    ) -> tuple[tf.Tensor, _Moments]:
        mean = _mean(tf.identity, rows)
        inverse = tf.math.rsqrt(_mean(tf.square, rows - mean) + epsilon)
        return (rows - mean) * inverse * gamma + beta, _Moments(mean, inverse)

    def gradient(
        rows: tf.Tensor, gamma: tf.Tensor, moments: _Moments, upstream: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        standard = (rows - moments.mean) * moments.inverse
        scaled = upstream * gamma
        along = _mean(tf.multiply, scaled, standard)
        by_rows = moments.inverse * (scaled - _mean(tf.identity, scaled) - standard * along)
        by_gamma = sum_in_slices(tf.multiply, upstream, standard, axis=-2, slices=_ROW_SLICES)
        by_beta = sum_in_slices(tf.identity, upstream, axis=-2, slices=_ROW_SLICES)
        return by_rows, by_gamma, by_beta

    forward, backward = fused(normalised), fused(gradient)

    @tf.custom_gradient
    def call(
        rows: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor
    ) -> tuple[tf.Tensor, Callable[[tf.Tensor], tuple[tf.Tensor, ...]]]:
        made, moments = forward(rows, gamma, beta)
        return made, lambda upstream: backward(rows, gamma, _Moments(*moments), upstream)

    function: Callable[[tf.Tensor, tf.Tensor, tf.Tensor], tf.Tensor] = call
    return function


def _mean(term: Callable[..., tf.Tensor], *arrays: tf.Tensor) -> tf.Tensor:
    total = sum_in_slices(term, *arrays, axis=-1, slices=_VECTOR_SLICES)
    return total[:, tf.newaxis] / arrays[0].shape[-1]
