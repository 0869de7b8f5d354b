"""Networks that bring a loss of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf
import tf_keras

from yt8m.components.models.heads import Head
from yt8m.components.models.network import Network
from yt8m.components.models.trunks import Signal

STRENGTH = 0.3


class SquaresByLabel(Network):
    """Minimises squared errors, divided by what differs from micro-batch to micro-batch."""

    def own_loss(
        self, head: Head, batch: Mapping[str, tf.Tensor], probabilities: tf.Tensor
    ) -> tf.Tensor:
        hot = tf.reduce_max(tf.one_hot(batch["labels"], head.num_classes), axis=1)
        return tf.reduce_sum((probabilities - hot) ** 2)

    def own_normaliser(self, head: Head, batch: Mapping[str, tf.Tensor]) -> tf.Tensor:
        return tf.reduce_sum(tf.cast(tf.maximum(batch["labels"], 0), tf.float32)) + 1e-9


class Activity(tf_keras.layers.Layer):
    """Adds the mean over the rows of what it is shown, squared."""

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        self.add_loss(STRENGTH * tf.reduce_mean(tf.reduce_sum(inputs**2, axis=-1)))
        return inputs


class WithActivity(Network):
    """The loss of its head, and what a layer adds."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.activity = Activity(name="activity")

    def scores(self, signal: Signal, training: bool = False) -> dict[str, tf.Tensor]:
        outputs = super().scores(signal, training=training)
        seen = hasattr(self, "activity")  # the base class builds itself before
        return {name: self.activity(p) if seen else p for name, p in outputs.items()}


class Agreeing(Network):
    """Two outputs for each class, and a loss of both: their products."""

    def scores(self, signal: Signal, training: bool = False) -> dict[str, tf.Tensor]:
        outputs = super().scores(signal, training=training)
        return {**outputs, "other": 1 - outputs["entities"]}

    def joint_loss(
        self, batch: Mapping[str, tf.Tensor], outputs: Mapping[str, tf.Tensor]
    ) -> tf.Tensor:
        return STRENGTH * tf.reduce_sum(outputs["entities"] * outputs["other"])
