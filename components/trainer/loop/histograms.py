"""Distributions for TensorBoard: weights, their updates and gradients, layers' outputs, inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras

from yt8m.components.models.network import Network
from yt8m.components.trainer.config import Histogram, LogConfig
from yt8m.components.trainer.loop.hook import Hook, Steps, Training
from yt8m.components.trainer.loop.training_log import TrainingLog

Batch = Mapping[str, tf.Tensor]
_OF_ROWS = {Histogram.INPUTS, Histogram.ACTIVATIONS, Histogram.GRADIENTS}


class Histograms(Hook):
    """Histograms that `trainer.log.histograms` names, every `histograms_every_steps`."""

    def __init__(
        self,
        config: LogConfig,
        log: TrainingLog,
        *,
        rows: Callable[[], Batch],  # a few of the training's, always the same
        network: Callable[[], Network],  # one without compiled parts, whose weights are set here
    ) -> None:
        self._kinds, self.every_steps = set(config.histograms), config.histograms_every_steps
        self._log, self._rows, self._network = log, rows, network
        self._before: list[np.ndarray] = []

    def before_steps(self, training: Training, count: int) -> None:
        every = self.every_steps
        if every and Histogram.UPDATES in self._kinds and (training.step + count) % every == 0:
            self._before = [array for _, array in _weights(training.network)]

    def after_steps(self, training: Training, steps: Steps) -> None:
        if not self.is_due(training):
            return
        names = [variable.name for variable in training.network.trainable_variables]
        norms = dict(zip(names, steps.result.losses.gradient_norms.numpy().tolist(), strict=True))
        self._log.scalars(training.step, {f"gradient_norm/{k}": v for k, v in norms.items()})
        self._log.histograms(training.step, self._values(training))

    def _values(self, training: Training) -> Iterator[tuple[str, np.ndarray]]:
        """One array after the other, so that no copy of all weights is made."""
        if Histogram.WEIGHTS in self._kinds:
            yield from _weights(training.network)
        if Histogram.UPDATES in self._kinds:
            pairs = zip(_weights(training.network), self._before, strict=True)
            yield from ((f"update/{name}", now - before) for (name, now), before in pairs)
        if self._kinds & _OF_ROWS:
            network = self._network()
            network.set_weights(training.network.get_weights())
            yield from self._of_rows(network, self._rows()).items()

    def _of_rows(self, network: Network, rows: Batch) -> dict[str, np.ndarray]:
        with _recording(network) as outputs, tf.GradientTape() as tape:
            predictions = network(rows, training=False)
            losses = [network.head_loss(h, rows, predictions[h.name]) for h in network.heads]
        tensors: dict[str, np.ndarray] = {}
        if Histogram.INPUTS in self._kinds:
            tensors |= {f"input/{k}": v.numpy() for k, v in rows.items() if v.dtype.is_floating}
        if Histogram.ACTIVATIONS in self._kinds:
            tensors |= {f"activation/{name}": value.numpy() for name, value in outputs.items()}
        if Histogram.GRADIENTS in self._kinds:
            variables = network.trainable_variables
            gradients = tape.gradient(losses, variables, unconnected_gradients="zero")
            pairs = zip(variables, map(tf.convert_to_tensor, gradients), strict=True)
            tensors |= {f"gradient/{v.name}": gradient.numpy() for v, gradient in pairs}
        return tensors


def _weights(network: Any) -> Iterator[tuple[str, np.ndarray]]:
    for variable in network.trainable_variables:
        yield variable.name, variable.numpy()


@contextmanager
def _recording(network: Network) -> Iterator[dict[str, tf.Tensor]]:
    """Note the output of each layer that gives one tensor of numbers, by the layer's name."""
    outputs: dict[str, tf.Tensor] = {}
    layers = [m for m in network.submodules if isinstance(m, tf_keras.layers.Layer)]
    for layer in layers:
        vars(layer)["call"] = _noting(layer, outputs)
    try:
        yield outputs
    finally:
        for layer in layers:
            del vars(layer)["call"]


def _noting(layer: Any, outputs: dict[str, tf.Tensor]) -> Callable[..., Any]:
    call = layer.call

    def noted(*args: Any, **arguments: Any) -> Any:
        output = call(*args, **arguments)
        if isinstance(output, tf.Tensor) and output.dtype.is_floating:
            outputs[layer.name] = output
        return output

    return noted
