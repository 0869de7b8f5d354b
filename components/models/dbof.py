"""Deep bag of frames (Abu-El-Haija et al. 2016)."""

from __future__ import annotations

import math
from collections.abc import Callable

import tensorflow as tf
import tf_keras

from yt8m.components.models.codes import CodePooling
from yt8m.components.models.config import Activation, DbofConfig, Pooling
from yt8m.components.models.layers import BatchNorm, ContextGating, Linear, Recipe
from yt8m.components.models.trunks import Signal
from yt8m.components.preprocessing.arithmetic import evenly_spaced

_ACTIVATIONS: dict[Activation, Callable[[tf.Tensor], tf.Tensor]] = {
    Activation.RELU6: tf.nn.relu6,
    Activation.SIGMOID: tf.sigmoid,
    Activation.RELU: tf.nn.relu,
    Activation.TANH: tf.tanh,
}


class Dbof(tf_keras.layers.Layer):
    """Each frame to a sparse code over many clusters; codes are pooled, then projected."""

    def __init__(self, config: DbofConfig, *, size: int, name: str, recipe: Recipe) -> None:
        super().__init__(name=name)
        self._config, self._activate = config, _ACTIVATIONS[config.activation]
        norms = config.batch_norm
        self._input_norm = BatchNorm(name=f"{name}_input_norm", enabled=norms)
        self._clusters = Linear(
            config.clusters,
            name=f"{name}_clusters",
            recipe=recipe,
            use_bias=not norms,
            stddev=1 / math.sqrt(size),
        )
        self._cluster_norm = BatchNorm(name=f"{name}_cluster_norm", enabled=norms)
        pooling = CodePooling(
            activate=self._activate,
            least=self._least if config.pooling is Pooling.MAX else None,
            epsilon=self._cluster_norm.epsilon,
        )
        # Without a normalisation there is little to save.
        self._compiled = pooling.compiled() if recipe.fuse and norms else None
        self._hidden = Linear(
            config.hidden,
            name=f"{name}_hidden",
            recipe=recipe,
            use_bias=not norms,
            stddev=1 / math.sqrt(config.clusters),
        )
        self._hidden_norm = BatchNorm(name=f"{name}_hidden_norm", enabled=norms)
        self._gating = (
            ContextGating(config.hidden, name=f"{name}_gating", recipe=recipe)
            if config.context_gating
            else None
        )

    def call(self, signal: Signal, training: bool = False) -> tf.Tensor:
        signal = sample_frames(signal, self._config.frames)
        mask = signal.mask
        frames, scale, shift = self._input_norm.apart(signal.vectors, mask, training=training)
        codes = self._clusters(frames, scale=scale, shift=shift)
        pooled = self._pooled(codes, mask, signal, training=training)
        hidden = self._hidden_norm(self._hidden(pooled), training=training)
        hidden = self._activate(hidden)
        return hidden if self._gating is None else self._gating(hidden, training=training)

    def _pooled(
        self, codes: tf.Tensor, mask: tf.Tensor, signal: Signal, *, training: bool
    ) -> tf.Tensor:
        if training and self._compiled is not None:
            return self._cluster_norm.pooled(codes, mask, pool=self._compiled)
        codes = self._activate(self._cluster_norm(codes, mask=mask, training=training))
        is_there = tf.cast(mask, tf.float32)[..., tf.newaxis]
        if self._config.pooling is Pooling.MAX:
            return tf.reduce_max(codes * is_there + self._least * (1.0 - is_there), axis=1)
        codes *= is_there
        count = tf.cast(tf.maximum(signal.num_frames, 1), tf.float32)
        return tf.reduce_sum(codes, axis=1) / count[:, tf.newaxis]

    @property
    def _least(self) -> float:
        """The least that a code can be: where there is no frame, padding never wins."""
        return -1.0 if self._config.activation is Activation.TANH else 0.0


def sample_frames(signal: Signal, wanted: int) -> Signal:
    """At most `wanted` frames of each video, spread over its length.

    The input pipeline has sampled already where it trains or scores; a server passes whole
    videos, and gets the same answer every time.
    """
    if signal.vectors.shape[1] is not None and signal.vectors.shape[1] <= wanted:
        return signal
    indices = spread(signal.num_frames, wanted)
    return signal._replace(
        vectors=tf.gather(signal.vectors, indices, batch_dims=1),
        num_frames=tf.minimum(signal.num_frames, wanted),
    )


def spread(num_frames: tf.Tensor, wanted: int) -> tf.Tensor:
    """`[batch, wanted] int32` indices: all frames where there are few, else evenly spaced ones."""
    step = tf.range(wanted)[tf.newaxis, :]
    length = num_frames[:, tf.newaxis]
    spaced = evenly_spaced(step, of=length, taken=tf.minimum(length, wanted))
    return tf.minimum(spaced, tf.maximum(length - 1, 0))  # padding repeats the last
