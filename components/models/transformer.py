"""A transformer's encoder over the frames (Vaswani et al. 2017, normalised before each part)."""

from __future__ import annotations

import math

import tensorflow as tf
import tf_keras

from yt8m.components.models.config import SequencePooling, TransformerConfig
from yt8m.components.models.layer_norm import LayerNorm
from yt8m.components.models.layers import Linear, Recipe, dropout, recomputed, unit_scales
from yt8m.components.models.trunks import Signal, video_vector

_LONGEST = 10000.0  # of the positions' wavelengths, over 2 pi
_ABSENT = -1e9  # added to what attention must not see: its share becomes exactly 0


class Transformer(tf_keras.layers.Layer):
    """Frames that look at one another, then their mean, or what a token beside them has seen."""

    def __init__(self, config: TransformerConfig, *, size: int, name: str, recipe: Recipe) -> None:
        super().__init__(name=name)
        self._rate, self._salt = config.dropout, recipe.seed_of(f"{name}_dropout")
        self._scales, self._width = unit_scales(size), config.width
        self._project = Linear(config.width, name=f"{name}_project", recipe=recipe)
        self._token = None
        if config.pooling is SequencePooling.CLS:
            seed = recipe.seed_of(f"{name}/token")
            self._token = self.add_weight(
                name=f"{name}/token",
                shape=(1, 1, config.width),
                initializer=tf_keras.initializers.RandomNormal(stddev=0.02, seed=seed),
            )
        self._layers = [
            _EncoderLayer(config, name=f"{name}_{number}", recipe=recipe)
            for number in range(config.layers)
        ]
        self._norm = LayerNorm(name=f"{name}_norm", recipe=recipe)

    def call(self, signal: Signal, training: bool = False) -> tf.Tensor:
        mask = signal.mask
        values = self._project(signal.vectors, scale=self._scales)
        values += positions(tf.shape(values)[1], self._width)
        if self._token is not None:
            rows = tf.shape(values)[0]
            values = tf.concat([tf.tile(self._token, [rows, 1, 1]), values], axis=1)
            mask = tf.concat([tf.ones([rows, 1], tf.bool), mask], axis=1)
        values = dropout(values, self._rate, noise=signal.noise, salt=self._salt)
        for layer in self._layers:
            values = layer(values, mask, signal.noise)
        values = self._norm(values)
        if self._token is not None:
            return values[:, 0]
        there = tf.cast(mask, tf.float32)[..., tf.newaxis]
        return video_vector(signal._replace(vectors=values * there))


class _EncoderLayer(tf_keras.layers.Layer):
    """Attention, then a layer for each frame; each is added to what it has seen."""

    def __init__(self, config: TransformerConfig, *, name: str, recipe: Recipe) -> None:
        super().__init__(name=name)
        self._heads, self._width = config.heads, config.width
        self._dtype_of_products = recipe.compute_dtype
        self._rate, self._salt = config.dropout, recipe.seed_of(f"{name}_dropout")
        self._attention_norm = LayerNorm(name=f"{name}_attention_norm", recipe=recipe)
        self._project = Linear(3 * config.width, name=f"{name}_attention", recipe=recipe)
        self._join = Linear(config.width, name=f"{name}_join", recipe=recipe)
        self._forward_norm = LayerNorm(name=f"{name}_forward_norm", recipe=recipe)
        self._activate = recomputed(_gelu, enabled=recipe.fuse)
        self._widen = Linear(config.feed_forward, name=f"{name}_widen", recipe=recipe)
        self._narrow = Linear(config.width, name=f"{name}_narrow", recipe=recipe)

    def call(self, values: tf.Tensor, mask: tf.Tensor, noise: tf.Tensor | None) -> tf.Tensor:
        seen = self._join(self._attend(self._attention_norm(values), mask))
        values += dropout(seen, self._rate, noise=noise, salt=self._salt)
        hidden = self._activate(self._widen(self._forward_norm(values)))
        hidden = self._narrow(hidden)
        return values + dropout(hidden, self._rate, noise=noise, salt=self._salt + 1)

    def _attend(self, values: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """`[batch, frames, width]`: of each head a mean of the frames that are there, joined."""
        each, dtype = self._width // self._heads, self._dtype_of_products
        shape = tf.shape(values)
        parts = tf.reshape(self._project(values), [shape[0], shape[1], 3, self._heads, each])
        queries, keys, contents = tf.unstack(
            tf.transpose(tf.cast(parts, dtype), [2, 0, 3, 1, 4])
        )  # [batch, heads, frames, each]
        queries /= math.sqrt(each)  # of which there are fewer than of their products
        logits = tf.cast(tf.matmul(queries, keys, transpose_b=True), tf.float32)
        absent = tf.cast(tf.logical_not(mask), tf.float32)[:, tf.newaxis, tf.newaxis, :]
        shares = tf.nn.softmax(logits + _ABSENT * absent)
        means = tf.cast(tf.matmul(tf.cast(shares, dtype), contents), tf.float32)
        return tf.reshape(tf.transpose(means, [0, 2, 1, 3]), [shape[0], shape[1], self._width])


def positions(count: tf.Tensor, width: int) -> tf.Tensor:
    """`[count, width] float32`: sines and cosines of each frame's number, of many wavelengths."""
    numbers = tf.cast(tf.range(count), tf.float32)[:, tf.newaxis]
    halves = tf.range(width // 2, dtype=tf.float32)
    angles = numbers * tf.exp(halves * (-2.0 * math.log(_LONGEST) / width))
    return tf.concat([tf.sin(angles), tf.cos(angles)], axis=1)


def _gelu(values: tf.Tensor) -> tf.Tensor:
    return tf.nn.gelu(values, approximate=True)
