"""Several networks side by side in one model; a class's probability is the mean of theirs."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf
import tf_keras

from yt8m.components.models.trunks import Signal

Create = Callable[[str], tf_keras.layers.Layer]  # from a name, which decides the first weights


def create_trunks(create: Create, members: int, *, name: str) -> tf_keras.layers.Layer:
    """One trunk, or the trunks of all members."""
    if members == 1:
        return create(name)
    return _Trunks([create(f"{name}_{number}") for number in range(members)], name=name)


def create_classifiers(create: Create, members: int, *, name: str) -> tf_keras.layers.Layer:
    """The classifier on what `create_trunks` gives for as many members."""
    if members == 1:
        return create(name)
    return _Classifiers([create(f"{name}_{number}") for number in range(members)], name=name)


class _Trunks(tf_keras.layers.Layer):
    """A vector from each trunk, [members, batch, width]."""

    def __init__(self, members: list[tf_keras.layers.Layer], *, name: str) -> None:
        super().__init__(name=name)
        self._members = members

    def call(self, signal: Signal, training: bool = False) -> tf.Tensor:
        return tf.stack([member(signal, training=training) for member in self._members])


class _Classifiers(tf_keras.layers.Layer):
    """The mean of what each classifier makes of its own trunk's vector."""

    def __init__(self, members: list[tf_keras.layers.Layer], *, name: str) -> None:
        super().__init__(name=name)
        self._members = members

    def call(self, vectors: tf.Tensor, training: bool = False) -> tf.Tensor:
        parts = tf.unstack(vectors, num=len(self._members))
        members = zip(self._members, parts, strict=True)
        return tf.add_n([m(part, training=training) for m, part in members]) / len(self._members)
