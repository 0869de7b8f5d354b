"""Stacked LSTM or GRU layers over the frames."""

from __future__ import annotations

import tensorflow as tf
import tf_keras

from yt8m.components.models.config import Cell, RnnConfig
from yt8m.components.models.layers import Recipe
from yt8m.components.models.trunks import Signal

_LAYERS = {Cell.LSTM: tf_keras.layers.LSTM, Cell.GRU: tf_keras.layers.GRU}


class Recurrent(tf_keras.layers.Layer):
    """The uppermost layer's state after the last real frame."""

    def __init__(self, config: RnnConfig, *, name: str, recipe: Recipe) -> None:
        super().__init__(name=name)
        policy = "float32" if recipe.compute_dtype == "float32" else "mixed_bfloat16"
        self._layers = []
        for number in range(config.layers):
            layer = f"{name}_{number}"
            seeds = recipe.seed_of(f"{layer}/kernel"), recipe.seed_of(f"{layer}/recurrent")
            self._layers.append(
                _LAYERS[config.cell](
                    config.cells,
                    return_sequences=number < config.layers - 1,
                    kernel_initializer=tf_keras.initializers.GlorotUniform(seed=seeds[0]),
                    recurrent_initializer=tf_keras.initializers.Orthogonal(seed=seeds[1]),
                    dtype=tf_keras.mixed_precision.Policy(policy),
                    name=layer,
                )
            )

    def call(self, signal: Signal, training: bool = False) -> tf.Tensor:
        mask = signal.mask
        values = signal.vectors
        for layer in self._layers:
            values = layer(values, mask=mask, training=training)
        return tf.cast(values, tf.float32)
