"""A network as a user writes it first: Keras's own layers, without names or seeds."""

from __future__ import annotations

import gc
import threading
import time

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


class Misnamed(Network):
    def scores(self, signal: Signal, training: bool = False) -> dict[str, tf.Tensor]:
        return {"entitys": super().scores(signal, training=training)["entities"]}


class Logits(Network):
    """Scores that are no probabilities: the sigmoid is missing."""

    def scores(self, signal: Signal, training: bool = False) -> dict[str, tf.Tensor]:
        of_all = super().scores(signal, training=training)
        return {name: tf.math.log(p) - tf.math.log1p(-p) for name, p in of_all.items()}


class TooFewClasses(Network):
    def scores(self, signal: Signal, training: bool = False) -> dict[str, tf.Tensor]:
        return {n: p[:, 1:] for n, p in super().scores(signal, training=training).items()}


class NoTrunk(Network):
    def create_trunk(self, name: str) -> None:
        """Forgets to return it."""


class Misspelt(Network):
    def create_trunk(self, name: str) -> tf_keras.layers.Layer:
        return tf_keras.layers.Dense(3, activation="rleu", name=name)


class OtherKeras(Network):
    """Keras 3 does not tell tf_keras about its weights."""

    def create_trunk(self, name: str) -> tf_keras.layers.Layer:
        trunk = Trunk(name)
        trunk.hidden = tf.keras.layers.Dense(16)
        return trunk


class Place:
    """Something in which tf_keras looks for no layers."""

    def __init__(self) -> None:
        self.hidden = tf_keras.layers.Dense(16, name="hidden")

    def __call__(self, vectors: tf.Tensor) -> tf.Tensor:
        return self.hidden(vectors)


class Hidden(Plain):
    def create_trunk(self, name: str) -> Trunk:
        trunk = Trunk(name)
        trunk.hidden = Place()
        return trunk


class Borrowing(Plain):
    """Looks at another model, which nothing keeps."""

    def create_trunk(self, name: str) -> Trunk:
        other = tf_keras.Sequential([tf_keras.layers.Dense(3, input_shape=(2,))])
        assert len(other.get_weights()) == 2
        return Trunk(name)


class Slow:
    """Takes its time to go, in a collection of another thread."""

    def __init__(self, goes: threading.Event) -> None:
        self.itself = self
        self.goes = goes

    def __del__(self) -> None:
        self.goes.set()
        time.sleep(0.5)


class BorrowingMeanwhile(Borrowing):
    def create_trunk(self, name: str) -> Trunk:
        goes = threading.Event()
        Slow(goes)

        def collect() -> None:
            while not goes.is_set():
                gc.collect()

        threading.Thread(target=collect).start()
        assert goes.wait(60)
        return super().create_trunk(name)
