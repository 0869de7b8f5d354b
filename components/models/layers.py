"""The few layers that every network is made of, seeded by name and able to compute in bfloat16."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras

from yt8m.components.models.products import product_by_shape


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Settings that all layers of one network share."""

    seed: int
    compute_dtype: str = "float32"  # of the matrix products; weights and sums stay float32
    fuse: bool = False  # compile what lies between the products, see `fused`
    trains: bool = True  # False: no gradients of our own, which an export's graph would hold

    def seed_of(self, name: str) -> int:
        """A seed for `name`, so that a layer's start does not depend on which others exist."""
        digest = hashlib.sha256(f"{self.seed}/{name}".encode()).digest()
        return int.from_bytes(digest[:4], "little") >> 1


class Linear(tf_keras.layers.Layer):
    """`x W + b` over the last axis, the product in the recipe's type, the result in float32."""

    def __init__(
        self,
        units: int,
        *,
        name: str,
        recipe: Recipe,
        l2: float = 0.0,
        use_bias: bool = True,
        stddev: float | None = None,
        bias: float = 0.0,
    ) -> None:
        super().__init__(name=name)
        self._units, self._recipe, self._use_bias = units, recipe, use_bias
        self._start = tf_keras.initializers.Constant(bias)
        # The starter code's regulariser is l2 / 2 times the sum of squares.
        self._regularizer = tf_keras.regularizers.L2(l2 / 2) if l2 else None
        self._stddev = stddev

    def build(self, shape: tf.TensorShape) -> None:
        self.kernel = self.add_weight(
            name="kernel",
            shape=(int(shape[-1]), self._units),
            initializer=_initializer(self._stddev, self._recipe.seed_of(self.name)),
            regularizer=self._regularizer,
        )
        if self._use_bias:
            self.bias = self.add_weight(name="bias", shape=(self._units,), initializer=self._start)
        super().build(shape)

    def call(
        self,
        inputs: tf.Tensor,
        scale: tf.Tensor | np.ndarray | None = None,
        shift: tf.Tensor | None = None,
    ) -> tf.Tensor:
        """`scale` and `shift` [size] are those of the inputs, see `BatchNorm.apart`.

        No gradient goes through the shift of a layer without a bias: the normalisation that follows
        takes both out again, and what is zero need not be summed up.
        """
        dtype = self._recipe.compute_dtype
        rows = tf.reshape(inputs, [-1, inputs.shape[-1]])
        kernel = self.kernel if scale is None else self.kernel * scale[:, tf.newaxis]
        multiply = product_by_shape if self._recipe.trains else tf.matmul
        product = multiply(tf.cast(rows, dtype), tf.cast(kernel, dtype))
        product = tf.cast(product, tf.float32)
        if shift is not None:
            added = tf.linalg.matvec(self.kernel, shift, transpose_a=True)
            product += added if self._use_bias else tf.stop_gradient(added)
        if self._use_bias:
            product = tf.nn.bias_add(product, self.bias)
        if inputs.shape.rank == 2:
            return product
        return tf.reshape(product, tf.concat([tf.shape(inputs)[:-1], [self._units]], axis=0))


class ContextGating(tf_keras.layers.Layer):
    """Each number of a vector weighed by a gate that sees the whole vector."""

    def __init__(
        self, size: int, *, name: str, recipe: Recipe, batch_norm: bool = True, reduction: int = 0
    ) -> None:
        super().__init__(name=name)
        self._squeeze = None
        if reduction:  # a bottleneck first, as squeeze-and-excitation has it
            self._squeeze = Linear(max(1, size // reduction), name=f"{name}_squeeze", recipe=recipe)
            self._squeeze_norm = BatchNorm(name=f"{name}_squeeze_norm", enabled=batch_norm)
        self._gates = Linear(size, name=f"{name}_gates", recipe=recipe)
        self._norm = BatchNorm(name=f"{name}_norm", enabled=batch_norm)

    def call(self, inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
        hidden = inputs
        if self._squeeze is not None:
            squeezed = self._squeeze_norm(self._squeeze(hidden), training=training)
            hidden = tf.nn.relu(squeezed)
        return inputs * tf.sigmoid(self._norm(self._gates(hidden), training=training))


class BatchNorm(tf_keras.layers.Layer):
    """Batch normalisation over all axes but the last; rows that `mask` leaves out do not count.

    Each replica takes its own batch's mean, as the starter code's towers do.
    """

    def __init__(self, *, name: str, enabled: bool = True, momentum: float = 0.99) -> None:
        super().__init__(name=name)
        self._norm = (
            tf_keras.layers.BatchNormalization(name="norm", momentum=momentum) if enabled else None
        )

    def call(
        self, inputs: tf.Tensor, mask: tf.Tensor | None = None, training: bool = False
    ) -> tf.Tensor:
        if self._norm is None:
            return inputs
        return self._norm(inputs, training=training, mask=mask)

    def apart(
        self, inputs: tf.Tensor, mask: tf.Tensor, training: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor | None, tf.Tensor | None]:
        """Standardised inputs that no gradient goes through, their scale and their shift.

        For what was not computed of weights: `Linear` takes scale and shift on its own weights, and
        a product the size of the inputs, for nothing but the gradients of these two, is saved.
        """
        if self._norm is None:
            return inputs, None, None
        norm = self._built(inputs.shape)
        mean, variance = norm.moving_mean, norm.moving_variance
        if training:
            weights = tf.cast(mask, tf.float32)[..., tf.newaxis]
            axes = list(range(inputs.shape.rank - 1))
            mean, variance = tf.nn.weighted_moments(inputs, axes=axes, frequency_weights=weights)
            self._move(mean, variance)
        standard = (inputs - mean) * tf.math.rsqrt(variance + norm.epsilon)
        return tf.stop_gradient(standard), norm.gamma, norm.beta

    @property
    def epsilon(self) -> float:
        """Added to a variance before its root is taken."""
        return self._norm.epsilon if self._norm is not None else 0.0

    def pooled(
        self,
        codes: tf.Tensor,
        mask: tf.Tensor,
        *,
        pool: Callable[..., tuple[tf.Tensor, tf.Tensor, tf.Tensor]],
    ) -> tf.Tensor:
        """`pool` takes codes, their presence, gamma and beta; it gives its result and moments."""
        norm = self._built(codes.shape)
        present = tf.cast(mask, tf.float32)[..., tf.newaxis]
        result, mean, variance = pool(
            codes, present, tf.convert_to_tensor(norm.gamma), tf.convert_to_tensor(norm.beta)
        )
        self._move(mean, variance)
        return result

    def _built(self, shape: tf.TensorShape) -> Any:
        norm: Any = self._norm
        if not norm.built:
            with tf.init_scope(), tf.name_scope(self.name), tf.name_scope(norm.name):
                norm.build(shape)
        return norm

    def _move(self, *moments: tf.Tensor) -> None:
        """The moving averages, towards a batch's mean and variance."""
        norm: Any = self._norm
        for moving, moment in zip((norm.moving_mean, norm.moving_variance), moments, strict=True):
            moving.assign_sub((moving - moment) * (1.0 - norm.momentum))


def dropout(values: tf.Tensor, rate: float, *, noise: tf.Tensor | None, salt: int) -> tf.Tensor:
    """`values` with a share `rate` zeroed, by a mask that only `noise` and `salt` decide.

    Stateless, so that a resumed run drops what the uninterrupted one would have. `noise` is None
    where the network does not train.
    """
    if not rate or noise is None:
        return values
    seed = tf.stack([tf.cast(noise, tf.int64), tf.constant(salt, tf.int64)])
    return tf.nn.experimental.stateless_dropout(values, rate=rate, seed=seed, rng_alg="philox")


def fused(function: Callable[..., Any], *, enabled: bool = True) -> Callable[..., Any]:
    """`function` compiled by XLA, which makes one pass over memory of many small steps.

    For what lies between matrix products, never for the products: TensorFlow's own are faster than
    those of XLA (1.5 times, on a processor with AVX-512).
    """
    if not enabled:
        return function
    compiled: Callable[..., Any] = tf.function(function, jit_compile=True, autograph=False)
    return compiled


def recomputed(function: Callable[..., tf.Tensor], *, enabled: bool = True) -> Callable[..., Any]:
    """`function` of tensors alone, `fused`, with a gradient that computes again what lies between.

    One pass over memory for the gradient, too; a compiled function's own keeps every step of it.
    """
    if not enabled:
        return function

    def gradient(arguments: tuple[tf.Tensor, ...], upstream: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(arguments)
            result = function(*arguments)
        return tape.gradient(result, arguments, upstream)

    forward, backward = fused(function), fused(gradient)

    @tf.custom_gradient
    def call(*arguments: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], Any]]:
        return forward(*arguments), lambda upstream: backward(arguments, upstream)

    # Outside a graph TensorFlow takes no variable of several replicas.
    return lambda *arguments: call(*map(tf.convert_to_tensor, arguments))


def unit_scale(size: int) -> float:
    """The factor that brings an L2-normalised vector of `size` to numbers of about 1."""
    return math.sqrt(size)


def unit_scales(size: int) -> np.ndarray:
    """The same as a scale for `Linear`, whose kernel has fewer numbers than many frames."""
    return np.full(size, unit_scale(size), np.float32)


def _initializer(stddev: float | None, seed: int) -> tf_keras.initializers.Initializer:
    if stddev is None:
        return tf_keras.initializers.GlorotUniform(seed=seed)
    return tf_keras.initializers.RandomNormal(stddev=stddev, seed=seed)
