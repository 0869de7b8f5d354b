"""A network as a user writes it first: Keras's own layers, without names or seeds."""

from __future__ import annotations

import tensorflow as tf
import tf_keras

from yt8m.components.models.network import Network
from yt8m.components.models.trunks import Signal


class Trunk(tf_keras.layers.Layer):
    def __init__(self, name: str) -> None:
        super().__init__(name=name)
        self.hidden = tf_keras.layers.Dense(16, activation="relu")
        self.drop = tf_keras.layers.Dropout(0.3)

    def call(self, signal: Signal, training: bool = False) -> tf.Tensor:
        return self.drop(self.hidden(signal.vectors), training=training)


class Plain(Network):
    def create_trunk(self, name: str) -> Trunk:
        return Trunk(name)


class OfFrames(Plain):
    looks_at_frames = True


class Bare(Network):
    def scores(self, signal: Signal, training: bool = False) -> tf.Tensor:
        return signal.vectors
