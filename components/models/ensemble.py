"""Several networks side by side in one model; a class's probability is the mean of theirs.

While they train each answers for itself, so that each has the gradients that it would have alone.
Trained on the loss of their mean they come to lean on one another, and an average gains little.
"""

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
    """Outputs of each classifier for its own trunk's vector: the mean.

    While training, and with `each`, those of all, one after the other.
    """

    def __init__(self, members: list[tf_keras.layers.Layer], *, name: str) -> None:
        super().__init__(name=name)
        self._members = members

    def call(
        self,
        vectors: tf.Tensor,
        training: bool = False,
        noise: tf.Tensor | None = None,
        each: bool = False,
    ) -> tf.Tensor:
        parts = tf.unstack(vectors, num=len(self._members))
        members = zip(self._members, parts, strict=True)
        scores = [member(part, training=training, noise=noise) for member, part in members]
        apart = training or each
        return tf.concat(scores, axis=0) if apart else tf.add_n(scores) / len(scores)
