"""Averaging of weights: beside each weight its exponential moving average, which is what ships.

The averages are tf_keras's own (`use_ema`), so they are created, placed, updated, summed over
replicas and saved as the optimiser's other variables are, under every strategy. What differs is the
momentum, which here grows to what is configured: with a constant one the random first weights would
still be a part of a short training's averages.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf
import tf_keras

from yt8m.components.compat import averages_of

_RAMP = 10.0  # as in tf.train.ExponentialMovingAverage with num_updates


class _GrowingMomentum:
    """The momentum of a step: what is configured, but (1 + t) / (10 + t) at most."""

    iterations: tf.Variable

    @property
    def ema_momentum(self) -> tf.Tensor:
        taken = tf.cast(self.iterations, tf.float32)
        return tf.minimum(self._limit, (1.0 + taken) / (_RAMP + taken))

    @ema_momentum.setter
    def ema_momentum(self, limit: float) -> None:  # tf_keras sets it
        self._limit = limit


def averaging(optimizer_type: type[Any]) -> type[Any]:
    """The tf_keras optimiser `optimizer_type`, whose averages have the growing momentum."""
    return type(optimizer_type.__name__, (_GrowingMomentum, optimizer_type), {})


def start_averages(network: tf_keras.Model, optimizer: Any) -> None:
    """The averages begin at the weights as they are: a warm start has changed them."""
    for average, weight in _pairs(network, optimizer):
        average.assign(weight)


def shipped_weights(network: tf_keras.Model, optimizer: Any) -> list[Any]:
    """The weights to score and export, as `network.get_weights` gives them: averages where there
    are.
    """
    average_of = {weight.ref(): average for average, weight in _pairs(network, optimizer)}
    variables = [average_of.get(weight.ref(), weight) for weight in network.weights]
    values: list[Any] = tf_keras.backend.batch_get_value(variables)
    return values


def restore_averages(path: str, network: tf_keras.Model) -> None:
    """Put the averages of the checkpoint at `path` where the network has its weights."""
    averages = tf.train.Checkpoint(_model_variables_moving_average=network.trainable_variables)
    checkpoint = tf.train.Checkpoint(optimizer=averages)
    checkpoint.restore(path).expect_partial().assert_existing_objects_matched()


def _pairs(network: tf_keras.Model, optimizer: Any) -> list[tuple[Any, Any]]:
    averages = averages_of(optimizer)
    return list(zip(averages, network.trainable_variables, strict=True)) if averages else []
