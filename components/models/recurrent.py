"""LSTM and GRU over frames, with the weights of Keras's layers and large products, not many small.

A step needs the state before it for one product alone. What enters a layer is multiplied with its
weights for all frames together, and so are the gradients of all weights. On a processor Keras's
layers take them frame by frame, two and a half times as long with 32 videos of 300 frames.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import tensorflow as tf
import tf_keras

from yt8m.components.models.config import Cell, RnnConfig
from yt8m.components.models.layers import Recipe
from yt8m.components.models.trunks import Signal

States = tuple[tf.Tensor, ...]  # each [rows, units]; the first is the layer's output
# Of a frame: the product with the state, and what enters beside it; the states before and after.
Step = Callable[[tf.Tensor, tf.Tensor, States], States]


class Entering(NamedTuple):
    """Input of a layer, frame by frame."""

    added: tf.Tensor  # [frames, rows, gates], to the product of the state and its weights
    aside: tf.Tensor  # [frames, rows, ...], what that product is not added to


class Recurrent(tf_keras.layers.Layer):
    """The uppermost layer's state after the last real frame; of both directions on request."""

    def __init__(self, config: RnnConfig, *, name: str, recipe: Recipe) -> None:
        super().__init__(name=name)
        self._unit = _UNITS[config.cell]
        self._dtype_of_products, self._cells = recipe.compute_dtype, config.cells
        self._layers = [self._layer(config, f"{name}_{n}", recipe) for n in range(config.layers)]
        backward = range(config.layers if config.bidirectional else 0)
        self._backward_layers = [
            self._layer(config, f"{name}_backward_{n}", recipe) for n in backward
        ]

    def _layer(self, config: RnnConfig, name: str, recipe: Recipe) -> tf_keras.layers.Layer:
        policy = "float32" if recipe.compute_dtype == "float32" else "mixed_bfloat16"
        return self._unit.layer(
            config.cells,
            return_sequences=True,
            kernel_initializer=tf_keras.initializers.GlorotUniform(
                seed=recipe.seed_of(f"{name}/kernel")
            ),
            recurrent_initializer=tf_keras.initializers.Orthogonal(
                seed=recipe.seed_of(f"{name}/recurrent")
            ),
            dtype=tf_keras.mixed_precision.Policy(policy),
            name=name,
        )

    def call(self, signal: Signal, training: bool = False) -> tf.Tensor:
        num_frames = tf.convert_to_tensor(signal.num_frames)
        last = tf.maximum(num_frames, 1) - 1
        if tf.config.list_logical_devices("GPU"):  # for which Keras has kernels of whole layers
            mask = signal.mask

            def states_of(layer: tf_keras.layers.Layer, values: tf.Tensor) -> tf.Tensor:
                return layer(values, mask=mask, training=training)

            states = self._last_layer(states_of, signal.vectors, num_frames, time_axis=1)
            states = tf.cast(states, tf.float32)
        else:
            # Nothing after a video's last frame reaches the state that is taken.
            values = signal.vectors[:, : tf.reduce_max(last) + 1]
            values = tf.transpose(values, [1, 0, 2])
            values = self._last_layer(self._states, values, num_frames, time_axis=0)
            states = tf.transpose(values, [1, 0, 2])
        state = tf.gather(states, last, axis=1, batch_dims=1)
        if self._backward_layers:  # which end where the video begins
            state = tf.concat([state[:, : self._cells], states[:, 0, self._cells :]], axis=-1)
        return tf.where(num_frames[:, tf.newaxis] > 0, state, tf.zeros_like(state))

    def _last_layer(
        self,
        states_of: Callable[[tf_keras.layers.Layer, tf.Tensor], tf.Tensor],
        values: tf.Tensor,
        num_frames: tf.Tensor,
        *,
        time_axis: int,
    ) -> tf.Tensor:
        """The uppermost layer's states after each frame; of both directions side by side."""
        turned = partial(
            tf.reverse_sequence,
            seq_lengths=num_frames,
            seq_axis=time_axis,
            batch_axis=1 - time_axis,
        )
        for number, layer in enumerate(self._layers):
            parts = [states_of(layer, values)]
            if self._backward_layers:
                parts.append(turned(states_of(self._backward_layers[number], turned(values))))
            values = parts[0] if len(parts) == 1 else tf.concat(parts, axis=-1)
        return values

    def _states(self, layer: tf_keras.layers.Layer, values: tf.Tensor) -> tf.Tensor:
        """The states of `layer` for `values` [frames, rows, size]."""
        if not layer.built:
            with tf.init_scope(), tf.name_scope(layer.name):
                layer.build(tf.TensorShape([None, None, values.shape[-1]]))
        weights = layer.cell
        kernel = tf.convert_to_tensor(weights.kernel)
        flat = tf.reshape(values, [-1, values.shape[-1]])
        product = _product(flat, kernel, self._dtype_of_products)
        return sweep(
            self._unit.enter(
                tf.reshape(product, [*tf.unstack(tf.shape(values)[:2]), kernel.shape[-1]]),
                tf.convert_to_tensor(weights.bias),
            ),
            tf.convert_to_tensor(weights.recurrent_kernel),
            step=self._unit.step,
            states=self._unit.states,
            dtype=self._dtype_of_products,
        )


def sweep(
    entering: Entering, kernel: tf.Tensor, *, step: Step, states: int, dtype: str
) -> tf.Tensor:
    """The first of so many `states` after each frame, `[frames, rows, units]`, from zeros on.

    The gradient of what is added to a product is the product's own, so that the one of `kernel`
    is taken of all frames together.
    """

    @tf.custom_gradient
    def all_frames(*arguments: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], Any]]:
        *parts, weights = arguments
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(parts)
            after = _loop(Entering(*parts), weights, step, states, dtype)

        def gradient(upstream: tf.Tensor) -> Sequence[tf.Tensor]:
            added, aside = tape.gradient(after, parts, output_gradients=upstream)
            units, gates = weights.shape
            before = tf.concat([tf.zeros_like(after[:1]), after[:-1]], axis=0)
            before, flat = tf.reshape(before, [-1, units]), tf.reshape(added, [-1, gates])
            of_weights = _product(before, flat, dtype, transpose_a=True)
            return added, tf.zeros_like(parts[1]) if aside is None else aside, of_weights

        return after, gradient

    return all_frames(*entering, kernel)


def _loop(entering: Entering, kernel: tf.Tensor, step: Step, states: int, dtype: str) -> tf.Tensor:
    units = kernel.shape[0]
    weights = tf.cast(kernel, dtype)
    turned = tf.transpose(weights)  # once: a product with a turned matrix takes three times as long

    @tf.custom_gradient
    def product(state: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
        result = tf.matmul(tf.cast(state, dtype), weights)
        return tf.cast(result, tf.float32), lambda upstream: tf.cast(
            tf.matmul(tf.cast(upstream, dtype), turned), tf.float32
        )

    frames, rows = tf.shape(entering.added)[0], tf.shape(entering.added)[1]
    added, aside = (
        tf.TensorArray(tf.float32, frames, element_shape=[None, part.shape[-1]]).unstack(part)
        for part in entering
    )
    after = tf.TensorArray(tf.float32, frames, element_shape=[None, units])

    def one_frame(number: tf.Tensor, before: States, after: tf.TensorArray) -> Any:
        reached = step(product(before[0]) + added.read(number), aside.read(number), before)
        return number + 1, reached, after.write(number, reached[0])

    _, _, after = tf.while_loop(
        lambda number, *_: number < frames,
        one_frame,
        (tf.constant(0), (tf.zeros([rows, units]),) * states, after),
        parallel_iterations=1,
    )
    return after.stack()


def _product(
    left: tf.Tensor, right: tf.Tensor, dtype: str, *, transpose_a: bool = False
) -> tf.Tensor:
    left, right = tf.cast(left, dtype), tf.cast(right, dtype)
    return tf.cast(tf.matmul(left, right, transpose_a=transpose_a), tf.float32)


def _enter_lstm(product: tf.Tensor, bias: tf.Tensor) -> Entering:
    return Entering(added=product + bias, aside=product[..., :0])


def _step_lstm(product: tf.Tensor, _: tf.Tensor, states: States) -> States:
    to_write, to_keep, candidate, to_show = tf.split(product, 4, axis=-1)
    memory = tf.sigmoid(to_keep) * states[1] + tf.sigmoid(to_write) * tf.tanh(candidate)
    return tf.sigmoid(to_show) * tf.tanh(memory), memory


def _enter_gru(product: tf.Tensor, bias: tf.Tensor) -> Entering:
    """The candidate's product with the state is weighed by a gate before the other is added."""
    of_gates, candidate = tf.split(product + bias[0], [2 * product.shape[-1] // 3, -1], axis=-1)
    none = tf.zeros_like(candidate)
    return Entering(added=tf.concat([of_gates, none], axis=-1) + bias[1], aside=candidate)


def _step_gru(product: tf.Tensor, candidate: tf.Tensor, states: States) -> States:
    to_keep, to_see, of_state = tf.split(product, 3, axis=-1)
    kept = tf.sigmoid(to_keep)
    new = tf.tanh(candidate + tf.sigmoid(to_see) * of_state)
    return (kept * states[0] + (1.0 - kept) * new,)


class _Unit(NamedTuple):
    layer: Any  # Keras's, which holds the weights
    enter: Callable[[tf.Tensor, tf.Tensor], Entering]
    step: Step
    states: int


_UNITS = {
    Cell.LSTM: _Unit(tf_keras.layers.LSTM, _enter_lstm, _step_lstm, 2),
    Cell.GRU: _Unit(tf_keras.layers.GRU, _enter_gru, _step_gru, 1),
}
