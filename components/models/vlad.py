"""NetVLAD and NeXtVLAD: a video as the sum of its frames' differences to learned centres."""

from __future__ import annotations

import math

import tensorflow as tf
import tf_keras

from yt8m.components.models.config import NetVladConfig, NextVladConfig
from yt8m.components.models.layers import (
    BatchNorm,
    ContextGating,
    Linear,
    Recipe,
    dropout,
    unit_scale,
)
from yt8m.components.models.trunks import Signal
from yt8m.components.preprocessing.arithmetic import l2_normalize
from yt8m.schemas.errors import ConfigError


class NetVlad(tf_keras.layers.Layer):
    """Soft assignment of each frame to clusters (Arandjelovic et al. 2016, Miech et al. 2017)."""

    def __init__(self, config: NetVladConfig, *, size: int, name: str, recipe: Recipe) -> None:
        super().__init__(name=name)
        self._scale = unit_scale(size)
        self._assign = Linear(config.clusters, name=f"{name}_assign", recipe=recipe)
        self._assign_norm = BatchNorm(name=f"{name}_assign_norm", enabled=config.batch_norm)
        self._centres = self.add_weight(
            name=f"{name}/centres",
            shape=(config.clusters, size),
            initializer=_normal(size, name, recipe),
        )
        self._hidden = _Hidden(config, name=f"{name}_hidden", recipe=recipe)

    def call(self, signal: Signal, training: bool = False) -> tf.Tensor:
        mask = signal.mask
        logits = self._assign(signal.vectors * self._scale)
        logits = self._assign_norm(logits, mask=mask, training=training)
        weights = tf.nn.softmax(logits) * tf.cast(mask, tf.float32)[..., tf.newaxis]
        residuals = _residuals(weights, signal.vectors, self._centres)
        return self._hidden(residuals, signal.noise, training=training)


class NextVlad(tf_keras.layers.Layer):
    """The same on groups of an expanded vector, each group with its attention (Lin et al. 2018)."""

    def __init__(self, config: NextVladConfig, *, size: int, name: str, recipe: Recipe) -> None:
        super().__init__(name=name)
        expanded = size * config.expansion
        if expanded % config.groups:
            raise ConfigError(
                f"model.groups = {config.groups}: must divide the expanded size, "
                f"{size} x {config.expansion} = {expanded}"
            )
        self._groups, self._clusters = config.groups, config.clusters
        self._part = expanded // config.groups
        self._scale = unit_scale(size)
        self._expand = Linear(expanded, name=f"{name}_expand", recipe=recipe)
        self._attend = Linear(config.groups, name=f"{name}_attend", recipe=recipe)
        self._assign = Linear(
            config.groups * config.clusters, name=f"{name}_assign", recipe=recipe, use_bias=False
        )
        self._assign_norm = BatchNorm(name=f"{name}_assign_norm", enabled=config.batch_norm)
        self._centres = self.add_weight(
            name=f"{name}/centres",
            shape=(config.clusters, self._part),
            initializer=_normal(self._part, name, recipe),
        )
        self._hidden = _Hidden(
            config, name=f"{name}_hidden", recipe=recipe, reduction=config.gating_reduction
        )

    def call(self, signal: Signal, training: bool = False) -> tf.Tensor:
        mask = signal.mask
        expanded = self._expand(signal.vectors * self._scale)
        attention = tf.sigmoid(self._attend(expanded))  # [batch, frames, groups]
        attention *= tf.cast(mask, tf.float32)[..., tf.newaxis]
        logits = self._assign_norm(self._assign(expanded), mask=mask, training=training)
        parts = tf.shape(attention)[1] * self._groups
        weights = tf.nn.softmax(tf.reshape(logits, [-1, parts, self._clusters]))
        weights *= tf.reshape(attention, [-1, parts, 1])
        grouped = tf.reshape(expanded, [-1, parts, self._part])
        residuals = _residuals(weights, grouped, self._centres)
        return self._hidden(residuals, signal.noise, training=training)


class _Hidden(tf_keras.layers.Layer):
    """From the residuals to the vector that the classifier sees."""

    def __init__(
        self,
        config: NetVladConfig | NextVladConfig,
        *,
        name: str,
        recipe: Recipe,
        reduction: int = 0,
    ) -> None:
        super().__init__(name=name)
        self._rate, self._salt = config.dropout, recipe.seed_of(f"{name}_dropout")
        self._project = Linear(
            config.hidden, name=f"{name}_project", recipe=recipe, use_bias=not config.batch_norm
        )
        self._norm = BatchNorm(name=f"{name}_norm", enabled=config.batch_norm)
        self._gating = (
            ContextGating(
                config.hidden,
                name=f"{name}_gating",
                recipe=recipe,
                batch_norm=config.batch_norm,
                reduction=reduction,
            )
            if config.context_gating
            else None
        )

    def call(
        self, residuals: tf.Tensor, noise: tf.Tensor | None, training: bool = False
    ) -> tf.Tensor:
        residuals = dropout(residuals, self._rate, noise=noise, salt=self._salt)
        hidden = self._norm(self._project(residuals), training=training)
        if self._gating is None:
            return tf.nn.relu6(hidden)
        return self._gating(hidden, training=training)


def _residuals(weights: tf.Tensor, vectors: tf.Tensor, centres: tf.Tensor) -> tf.Tensor:
    """Weighted differences to each centre, normalised by centre and then all, flat.

    `weights [batch, n, clusters]`, `vectors [batch, n, size]`, `centres [clusters, size]`.
    """
    summed = tf.matmul(weights, vectors, transpose_a=True)  # [batch, clusters, size]
    mass = tf.reduce_sum(weights, axis=1)[..., tf.newaxis]
    by_cluster = l2_normalize(summed - mass * centres)
    flat = tf.reshape(by_cluster, [-1, centres.shape[0] * centres.shape[1]])
    return l2_normalize(flat) * math.sqrt(centres.shape[0])


def _normal(size: int, name: str, recipe: Recipe) -> tf_keras.initializers.Initializer:
    return tf_keras.initializers.RandomNormal(
        stddev=1 / math.sqrt(size), seed=recipe.seed_of(f"{name}/centres")
    )
