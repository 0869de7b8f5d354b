"""NetVLAD and NeXtVLAD: a video as the sum of its frames' differences to learned centres."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import tensorflow as tf
import tf_keras

from yt8m.components.models.config import NetVladConfig, NextVladConfig
from yt8m.components.models.layers import (
    BatchNorm,
    ContextGating,
    Linear,
    Recipe,
    dropout,
    recomputed,
    unit_scales,
)
from yt8m.components.models.trunks import Signal
from yt8m.components.preprocessing.arithmetic import l2_normalize_twice
from yt8m.schemas.errors import ConfigError


class NetVlad(tf_keras.layers.Layer):
    """Soft assignment of each frame to clusters (Arandjelovic et al. 2016, Miech et al. 2017)."""

    def __init__(self, config: NetVladConfig, *, size: int, name: str, recipe: Recipe) -> None:
        super().__init__(name=name)
        self._scales = unit_scales(size)
        self._assign = Linear(config.clusters, name=f"{name}_assign", recipe=recipe)
        self._assign_norm = BatchNorm(name=f"{name}_assign_norm", enabled=config.batch_norm)
        self._centres = self.add_weight(
            name=f"{name}/centres",
            shape=(config.clusters, size),
            initializer=_normal(size, name, recipe),
        )
        self._differences = _differences_of(recipe)
        self._hidden = _Hidden(config, name=f"{name}_hidden", recipe=recipe)

    def call(self, signal: Signal, training: bool = False) -> tf.Tensor:
        mask = signal.mask
        logits = self._assign(signal.vectors, scale=self._scales)
        logits = self._assign_norm(logits, mask=mask, training=training)
        weights = tf.nn.softmax(logits) * tf.cast(mask, tf.float32)[..., tf.newaxis]
        residuals = _residuals(weights, signal.vectors, self._centres, self._differences)
        return self._hidden(residuals, signal.noise, training=training)


class GroupedVlad(tf_keras.layers.Layer):
    """NetVLAD's residuals on groups of an expanded vector, each group with its attention."""

    def __init__(
        self, config: NextVladConfig, *, size: int, name: str, recipe: Recipe, share: float = 1.0
    ) -> None:
        super().__init__(name=name)
        expanded = size * config.expansion
        self._groups = _shared_out("groups", config.groups, share)
        self._clusters = _shared_out("clusters", config.clusters, share)
        if expanded % self._groups:
            raise ConfigError(
                f"model.groups = {config.groups}: {self._groups} must divide the expanded size, "
                f"{size} x {config.expansion} = {expanded}"
            )
        self._part = expanded // self._groups
        self._differences = _differences_of(recipe)
        self._scales = unit_scales(size)
        self._expand = Linear(expanded, name=f"{name}_expand", recipe=recipe)
        self._attend = Linear(self._groups, name=f"{name}_attend", recipe=recipe)
        self._assign = Linear(
            self._groups * self._clusters, name=f"{name}_assign", recipe=recipe, use_bias=False
        )
        self._assign_norm = BatchNorm(name=f"{name}_assign_norm", enabled=config.batch_norm)
        self._centres = self.add_weight(
            name=f"{name}/centres",
            shape=(self._clusters, self._part),
            initializer=_normal(self._part, name, recipe),
        )

    def pool(self, vectors: tf.Tensor, mask: tf.Tensor, *, training: bool) -> tf.Tensor:
        """`[batch, frames, size]` to `[batch, clusters x expanded size / groups]`."""
        expanded = self._expand(vectors, scale=self._scales)
        attention = tf.sigmoid(self._attend(expanded))  # [batch, frames, groups]
        attention *= tf.cast(mask, tf.float32)[..., tf.newaxis]
        logits = self._assign_norm(self._assign(expanded), mask=mask, training=training)
        parts = tf.shape(attention)[1] * self._groups
        weights = tf.nn.softmax(tf.reshape(logits, [-1, parts, self._clusters]))
        weights *= tf.reshape(attention, [-1, parts, 1])
        grouped = tf.reshape(expanded, [-1, parts, self._part])
        return _residuals(weights, grouped, self._centres, self._differences)


class NextVlad(GroupedVlad):
    """Its own groups pool the whole vector, or its first feature and others the further ones.

    Lin et al. 2018 pool rgb and audio so, audio with half the clusters and groups.
    """

    def __init__(
        self, config: NextVladConfig, *, sizes: Sequence[int], name: str, recipe: Recipe
    ) -> None:
        self._sizes = list(sizes) if config.apart else [sum(sizes)]
        super().__init__(config, size=self._sizes[0], name=name, recipe=recipe)
        self._further = [
            GroupedVlad(config, size=size, name=f"{name}_{number}", recipe=recipe, share=0.5)
            for number, size in enumerate(self._sizes[1:], start=1)
        ]
        self._hidden = _Hidden(
            config, name=f"{name}_hidden", recipe=recipe, reduction=config.gating_reduction
        )

    def call(self, signal: Signal, training: bool = False) -> tf.Tensor:
        vectors = tf.split(signal.vectors, self._sizes, axis=-1)
        pooled = [
            groups.pool(part, signal.mask, training=training)
            for groups, part in zip([self, *self._further], vectors, strict=True)
        ]
        return self._hidden(tf.concat(pooled, axis=-1), signal.noise, training=training)


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


def _differences(
    summed: tf.Tensor, mass: tf.Tensor, centres: tf.Tensor, *, compiled: bool = False
) -> tf.Tensor:
    """Of each centre, at length 1, and then all of them together: `[batch, clusters, size]`."""
    differences = l2_normalize_twice(summed - mass * centres, compiled=compiled)
    return differences * math.sqrt(centres.shape[0])


def _differences_of(recipe: Recipe) -> Callable[..., tf.Tensor]:
    function = functools.partial(_differences, compiled=recipe.fuse)
    return recomputed(function, enabled=recipe.fuse)


def _residuals(
    weights: tf.Tensor,
    vectors: tf.Tensor,
    centres: tf.Tensor,
    differences: Callable[..., tf.Tensor] = _differences,
) -> tf.Tensor:
    """Weighted differences to each centre, normalised by centre and then all, flat.

    `weights [batch, n, clusters]`, `vectors [batch, n, size]`, `centres [clusters, size]`.
    """
    summed = tf.matmul(weights, vectors, transpose_a=True)  # [batch, clusters, size]
    mass = tf.reduce_sum(weights, axis=1)[..., tf.newaxis]
    normalised = differences(summed, mass, centres)
    return tf.reshape(normalised, [-1, centres.shape[0] * centres.shape[1]])


def _shared_out(key: str, count: int, share: float) -> int:
    if count * share % 1:
        raise ConfigError(f"model.{key} = {count}: must be even where model.apart is true")
    return int(count * share)


def _normal(size: int, name: str, recipe: Recipe) -> tf_keras.initializers.Initializer:
    return tf_keras.initializers.RandomNormal(
        stddev=1 / math.sqrt(size), seed=recipe.seed_of(f"{name}/centres")
    )
