"""Codes of frames normalised, activated and pooled, in few passes over memory.

In TensorFlow's operations each step of it reads and writes every code. Here XLA compiles one
function forward and one for the gradient, which is written out: XLA's own would store all that it
sums up, and keep what lies between the codes and the result.
docs/decisions/0035-few-passes-over-memory.md has the measurement.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import tensorflow as tf

from yt8m.components.models.layers import fused
from yt8m.components.preprocessing.sums import max_in_slices, sum_in_slices

_SLICES = 10  # of the frames: with 30 a step is as quick, and compiling takes three times as long

_Gradients = tuple[tf.Tensor | None, ...]


class PooledCodes(NamedTuple):
    """A vector for each video, and the moments by which its codes were normalised."""

    pooled: tf.Tensor  # [batch, size]
    mean: tf.Tensor  # [size]
    variance: tf.Tensor  # [size]


@dataclass(frozen=True, kw_only=True)
class CodePooling:
    """Batch normalisation over the frames that are there, an activation, then a pooling.

    Arguments of all methods: `codes [batch, frames, size]`, `present [batch, frames, 1]` 1 or 0,
    and the normalisation's `gamma` and `beta` [size].
    """

    activate: Callable[[tf.Tensor], tf.Tensor]
    least: float | None  # of what is activated, where the maximum is taken; None: the mean is
    epsilon: float

    def compiled(self) -> Callable[..., PooledCodes]:
        """A function of codes, `present`, gamma and beta; no gradient goes through the moments."""
        forward, backward = fused(self.pool), fused(self.gradient)

        @tf.custom_gradient
        def pool(*inputs: tf.Tensor) -> tuple[PooledCodes, Callable[..., _Gradients]]:
            made = PooledCodes(*forward(*inputs))

            def gradient(upstream: tf.Tensor, *_: tf.Tensor) -> _Gradients:
                by_codes, by_gamma, by_beta = backward(*inputs, made=made, upstream=upstream)
                return by_codes, None, by_gamma, by_beta

            return made, gradient

        function: Callable[..., PooledCodes] = pool
        return function

    def pool(
        self, codes: tf.Tensor, present: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor
    ) -> PooledCodes:
        """The result, in as many passes as it has sums that depend on each other."""
        count = _some(present)
        mean = _over_rows(tf.multiply, codes, present) / count
        variance = _over_rows(lambda x, p: p * tf.square(x - mean), codes, present) / count
        scale = gamma * tf.math.rsqrt(variance + self.epsilon)
        shift = beta - mean * scale

        def activated(x: tf.Tensor, p: tf.Tensor) -> tf.Tensor:
            return self._activated(x * scale + shift, p)

        if self.least is None:
            total = sum_in_slices(activated, codes, present, axis=-2, slices=_SLICES)
            return PooledCodes(total / _frames(present), mean, variance)
        greatest = max_in_slices(activated, codes, present, axis=-2, slices=_SLICES)
        return PooledCodes(greatest, mean, variance)

    def gradient(
        self,
        codes: tf.Tensor,
        present: tf.Tensor,
        gamma: tf.Tensor,
        beta: tf.Tensor,
        *,
        made: PooledCodes,
        upstream: tf.Tensor,
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """By codes, gamma and beta, of what was `made`; frames that tie share, as in TensorFlow.

        The frame of the maximum is found by its code, which is read and not computed again: two
        compiled functions may round differently, and then no frame would equal the maximum.
        """
        inverse = tf.math.rsqrt(made.variance + self.epsilon)
        scale = gamma * inverse
        shift = beta - made.mean * scale
        direction = tf.sign(scale)  # activations rise

        def standard(x: tf.Tensor) -> tf.Tensor:
            return (x - made.mean) * inverse

        def height(x: tf.Tensor, p: tf.Tensor) -> tf.Tensor:
            return tf.where(p > 0, x * direction, -math.inf)

        def won(x: tf.Tensor, p: tf.Tensor) -> tf.Tensor:
            return tf.cast(height(x, p) == greatest, tf.float32)

        greatest = max_in_slices(height, codes, present, axis=-2, slices=_SLICES)[:, tf.newaxis]
        if self.least is None:
            shares = upstream / _frames(present)
        else:
            shares = upstream / sum_in_slices(won, codes, present, axis=-2, slices=_SLICES)
        shares = shares[:, tf.newaxis]

        def by_normalised(x: tf.Tensor, p: tf.Tensor) -> tf.Tensor:
            normalised = x * scale + shift
            with tf.GradientTape() as tape:
                tape.watch(normalised)
                activated = self._activated(normalised, p)
            slope = tape.gradient(activated, normalised) * shares
            return slope if self.least is None else slope * won(x, p)

        by_beta = _over_rows(by_normalised, codes, present)
        by_gamma = _over_rows(lambda x, p: by_normalised(x, p) * standard(x), codes, present)
        through_moments = (by_beta + standard(codes) * by_gamma) / _some(present)
        by_codes = scale * (by_normalised(codes, present) - present * through_moments)
        return by_codes, by_gamma, by_beta

    def _activated(self, normalised: tf.Tensor, present: tf.Tensor) -> tf.Tensor:
        """Where there is no frame, the least that a code can be: padding never wins."""
        return self.activate(normalised) * present + (self.least or 0.0) * (1.0 - present)


def _some(present: tf.Tensor) -> tf.Tensor:
    """How many frames there are, or one: a replica's part of a batch may have none."""
    return tf.maximum(tf.reduce_sum(present), 1.0)


def _over_rows(
    term: Callable[[tf.Tensor, tf.Tensor], tf.Tensor], codes: tf.Tensor, present: tf.Tensor
) -> tf.Tensor:
    by_video = sum_in_slices(term, codes, present, axis=-2, slices=_SLICES)
    return tf.reduce_sum(by_video, axis=0)


def _frames(present: tf.Tensor) -> tf.Tensor:
    return tf.maximum(tf.reduce_sum(present, axis=1), 1.0)
