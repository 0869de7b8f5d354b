"""Retrieval: the labels of the most similar training videos, blended into a network's scores.

The index is a part of an export: its variables are saved with the weights. Videos are compared by
the cosine of their vectors, features normalised apart; keys are held as they are configured, bytes
or floats, and compared in float32, block by block, so that memory stays bounded however many there
are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from yt8m.components.models.combination import Said, combine
from yt8m.components.models.config import KeyStorage, RetrievalConfig
from yt8m.components.models.layers import unit_scale
from yt8m.components.preprocessing.arithmetic import normalize_apart
from yt8m.schemas.batch import NO_LABEL

_BLOCK = 8192  # keys that are compared at a time: 38 MB of float32
_INT8_MAX = 127.0


class Index(NamedTuple):
    """Videos to be found, row by row."""

    keys: np.ndarray  # [videos, size] int8 or float32
    scales: np.ndarray  # [videos] float32: what a row of keys is multiplied by
    labels: np.ndarray  # [videos, any] int32, padded with -1

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self)


def joined(parts: Sequence[Index]) -> Index:
    """The videos of all `parts`, one after the other."""
    width = max(part.labels.shape[1] for part in parts)
    labels = [
        np.pad(part.labels, [(0, 0), (0, width - part.labels.shape[1])], constant_values=NO_LABEL)
        for part in parts
    ]
    return Index(
        keys=np.concatenate([part.keys for part in parts]),
        scales=np.concatenate([part.scales for part in parts]),
        labels=np.concatenate(labels),
    )


def unit_vectors(vectors: tf.Tensor, sizes: Sequence[int]) -> tf.Tensor:
    """`vectors` whose products are cosines: each feature's, weighed by its size."""
    return normalize_apart(vectors, sizes) / unit_scale(sum(sizes))


def encode(units: np.ndarray, storage: KeyStorage) -> tuple[np.ndarray, np.ndarray]:
    """Keys and scales of `unit_vectors`."""
    if storage is KeyStorage.FLOAT32:
        return units, np.ones(len(units), np.float32)
    scales = np.maximum(np.abs(units).max(axis=1), np.finfo(np.float32).tiny) / _INT8_MAX
    return np.rint(units / scales[:, np.newaxis]).astype(np.int8), scales.astype(np.float32)


class Neighbours(tf.Module):
    """An index, and how much it has to say."""

    def __init__(
        self, config: RetrievalConfig, index: Index, *, sizes: Sequence[int], num_classes: int
    ) -> None:
        super().__init__(name="neighbours")
        self._config, self._sizes, self._num_classes = config, tuple(sizes), num_classes
        # Of no fixed length, so that videos are added to an export without making it again.
        self.keys = _variable(index.keys, "keys", [None, sum(sizes)])
        self.scales = _variable(index.scales, "scales", [None])
        self.labels = _variable(index.labels, "labels", [None, None])

    @property
    def asks_members(self) -> bool:
        """Whether it matters what each member of a network says."""
        return bool(self._config.combination)

    def blend(self, vectors: tf.Tensor, probabilities: tf.Tensor) -> tf.Tensor:
        """`probabilities` [batch, classes] of videos whose normalised vectors are [batch, size]."""
        weight, raised = self._config.weight, probabilities**self._config.exponent
        return (1.0 - weight) * raised + weight * self.probabilities(vectors)

    def combine(self, vectors: tf.Tensor, members: tf.Tensor) -> tf.Tensor:
        """The same from those of each member, [members, batch, classes], by the polynomial."""
        return combine(self.said(vectors, members), self._config.combination)

    def said(self, vectors: tf.Tensor, members: tf.Tensor) -> Said:
        """What the polynomial is computed from."""
        cosines, rows = self._nearest(unit_vectors(vectors, self._sizes))
        return Said(
            members=members,
            network=tf.reduce_mean(members, axis=0),
            neighbours=self._shares(cosines, rows),
            similarity=_mean_of_finite(cosines),
            frequency=self._frequency(),
        )

    def probabilities(self, vectors: tf.Tensor) -> tf.Tensor:
        """For each class the share of the neighbours that have it, the more similar the more."""
        return self._shares(*self._nearest(unit_vectors(vectors, self._sizes)))

    def _frequency(self) -> tf.Tensor:
        """[classes]: the share of the index's videos that have the class."""
        labels = tf.reshape(self.labels, [-1])
        ones = tf.ones_like(labels, tf.float32)
        counts = tf.math.unsorted_segment_sum(ones, labels, self._num_classes)  # no label is -1
        return counts / tf.cast(tf.maximum(tf.shape(self.labels)[0], 1), tf.float32)

    def _shares(self, cosines: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        says = tf.nn.softmax(cosines / self._config.temperature)
        labels = tf.cast(tf.gather(self.labels, rows), tf.int64)  # [batch, neighbours, any]
        batch = tf.shape(rows, tf.int64)[0]
        first = tf.range(batch)[:, tf.newaxis, tf.newaxis] * self._num_classes
        total = tf.math.unsorted_segment_sum(
            tf.broadcast_to(says[..., tf.newaxis], tf.shape(labels)),
            tf.where(labels < 0, labels, first + labels),  # what is below 0 is left out
            batch * self._num_classes,
        )
        return tf.reshape(total, [-1, self._num_classes])

    def _nearest(self, units: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The cosines and the rows of the nearest keys, [batch, neighbours] each.

        Where the index has fewer, the rest has the cosine of minus infinity, which says nothing.
        """
        keys, scales, count = self.keys.read_value(), self.scales.read_value(), self._config.count
        videos, batch = tf.shape(keys)[0], tf.shape(units)[0]

        def nearer(start: tf.Tensor, cosines: tf.Tensor, rows: tf.Tensor) -> list[tf.Tensor]:
            block = tf.cast(keys[start : start + _BLOCK], tf.float32)
            block_cosines = (
                tf.matmul(units, block, transpose_b=True) * scales[start : start + _BLOCK]
            )
            numbers = tf.range(start, start + tf.shape(block)[0])
            best = tf.math.top_k(tf.concat([cosines, block_cosines], axis=1), k=count)
            wide = tf.broadcast_to(numbers, tf.shape(block_cosines))
            candidates = tf.concat([rows, wide], axis=1)
            return [start + _BLOCK, best.values, tf.gather(candidates, best.indices, batch_dims=1)]

        _, cosines, rows = tf.while_loop(
            lambda start, *_: start < videos,
            nearer,
            [tf.constant(0), tf.fill([batch, count], -np.inf), tf.zeros([batch, count], tf.int32)],
            shape_invariants=[tf.TensorShape([]), *[tf.TensorShape([None, count])] * 2],
            parallel_iterations=1,
        )
        return cosines, rows


def _mean_of_finite(cosines: tf.Tensor) -> tf.Tensor:
    """[batch]: the mean of the neighbours' cosines; there may be fewer neighbours than asked."""
    there = tf.math.is_finite(cosines)
    count = tf.reduce_sum(tf.cast(there, tf.float32), axis=1)
    total = tf.reduce_sum(tf.where(there, cosines, 0.0), axis=1)
    return tf.math.divide_no_nan(total, count)


def _variable(values: np.ndarray, name: str, shape: list[int | None]) -> tf.Variable:
    return tf.Variable(values, trainable=False, name=name, shape=shape)
