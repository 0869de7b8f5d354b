"""Interface of every trunk, and the trunks of one vector per video: mean, residual MLP."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import tensorflow as tf
import tf_keras

from yt8m.components.models.config import MlpConfig
from yt8m.components.models.layers import (
    BatchNorm,
    ContextGating,
    Linear,
    Recipe,
    dropout,
    fused,
    unit_scale,
)
from yt8m.components.preprocessing.arithmetic import normalize_apart


class Signal(NamedTuple):
    """A batch, normalised: what trunks look at."""

    vectors: tf.Tensor  # [batch, size] or [batch, frames, size] float32, padding is zeros
    num_frames: tf.Tensor | None = None  # [batch] int32; None at video level
    noise: tf.Tensor | None = None  # [] int64, decides dropout; None where nothing is dropped

    @property
    def mask(self) -> tf.Tensor:
        """`[batch, frames] bool`: which frames are there."""
        return tf.sequence_mask(self.num_frames, tf.shape(self.vectors)[1])


class Mean(tf_keras.layers.Layer):
    """The vector itself; of frames, their mean."""

    def call(self, signal: Signal, training: bool = False) -> tf.Tensor:
        return video_vector(signal)


class ResidualMlp(tf_keras.layers.Layer):
    """A wide layer, then residual blocks."""

    def __init__(
        self, config: MlpConfig, *, sizes: Sequence[int], name: str, recipe: Recipe
    ) -> None:
        super().__init__(name=name)
        self._config = config
        self._scale = fused(
            functools.partial(normalize_apart, sizes=sizes) if config.modality_norm else _scaled,
            enabled=recipe.fuse and config.modality_norm,
        )
        self._salt = recipe.seed_of(f"{name}_dropout")
        self._first = Linear(config.width, name=f"{name}_first", recipe=recipe)
        self._norms = [
            BatchNorm(name=f"{name}_norm{i}", enabled=config.batch_norm)
            for i in range(config.blocks + 1)
        ]
        self._blocks = [
            Linear(config.width, name=f"{name}_block{i}", recipe=recipe)
            for i in range(config.blocks)
        ]
        self._gating = (
            ContextGating(config.width, name=f"{name}_gating", recipe=recipe)
            if config.context_gating
            else None
        )

    def call(self, signal: Signal, training: bool = False) -> tf.Tensor:
        vectors = video_vector(signal)
        vectors = self._scale(vectors)
        hidden = self._first(self._drop(vectors, self._config.input_dropout, signal, 0))
        hidden = tf.nn.relu(self._norms[0](hidden, training=training))
        for number, block in enumerate(self._blocks, start=1):
            dropped = self._drop(hidden, self._config.dropout, signal, number)
            hidden += tf.nn.relu(self._norms[number](block(dropped), training=training))
        hidden = self._drop(hidden, self._config.dropout, signal, len(self._blocks) + 1)
        return hidden if self._gating is None else self._gating(hidden, training=training)

    def _drop(self, values: tf.Tensor, rate: float, signal: Signal, place: int) -> tf.Tensor:
        return dropout(values, rate, noise=signal.noise, salt=self._salt + place)


def _scaled(vectors: tf.Tensor) -> tf.Tensor:
    return vectors * unit_scale(vectors.shape[-1])


def video_vector(signal: Signal) -> tf.Tensor:
    """One vector a video: `[batch, size] float32`."""
    if signal.num_frames is None:
        return signal.vectors
    count = tf.cast(tf.maximum(signal.num_frames, 1), tf.float32)[:, tf.newaxis]
    return tf.reduce_sum(signal.vectors, axis=1) / count
