"""Recurrent layers give what Keras's own give, frame by frame, and so do their gradients."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from yt8m.components.models.config import Cell, RnnConfig
from yt8m.components.models.layers import Recipe
from yt8m.components.models.recurrent import Recurrent
from yt8m.components.models.trunks import Signal

STOCK = {Cell.LSTM: tf_keras.layers.LSTM, Cell.GRU: tf_keras.layers.GRU}
FRAMES = np.array([7, 3, 0, 5], np.int32)  # of eight: no video fills its batch


def trunk(cell: Cell, dtype: str = "float32", *, bidirectional: bool = False) -> Recurrent:
    recipe = Recipe(seed=1, compute_dtype=dtype)
    config = RnnConfig(cell=cell, cells=5, layers=2, bidirectional=bidirectional)
    made = Recurrent(config, name="trunk", recipe=recipe)
    made(signal())
    rng = np.random.default_rng(1)  # biases that are not zeros
    for weight in made.trainable_variables:
        weight.assign(rng.normal(scale=0.5, size=weight.shape).astype(np.float32))
    return made


def signal() -> Signal:
    vectors = np.random.default_rng(0).normal(size=(4, 8, 6)).astype(np.float32)
    vectors *= (np.arange(8) < FRAMES[:, None])[..., None]
    return Signal(tf.constant(vectors), tf.constant(FRAMES))


def of_keras(cell: Cell, weights: list[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    layers = [STOCK[cell](5, return_sequences=True), STOCK[cell](5)]
    given = signal()
    values: tf.Tensor = given.vectors
    for layer in layers:
        values = layer(values)
    variables = [weight for layer in layers for weight in layer.trainable_variables]
    for variable, value in zip(variables, weights, strict=True):
        variable.assign(value)
    with tf.GradientTape() as tape:
        values = given.vectors
        for layer in layers:
            values = layer(values, mask=given.mask)
        loss = tf.reduce_sum(tf.sin(values))
    return values.numpy(), [g.numpy() for g in tape.gradient(loss, variables)]


@pytest.mark.parametrize("is_graph", [False, True], ids=["eager", "graph"])
@pytest.mark.parametrize("has_gpu", [False, True], ids=["processor", "GPU"])
@pytest.mark.parametrize("cell", list(Cell), ids=lambda cell: cell.value)
def test_states_and_gradients_are_those_of_keras(
    cell: Cell, has_gpu: bool, is_graph: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = trunk(cell)
    if has_gpu:  # the way that is taken there, on this processor
        monkeypatch.setattr(tf.config, "list_logical_devices", lambda kind: [kind])

    def both() -> tuple[tf.Tensor, list[tf.Tensor]]:
        with tf.GradientTape() as tape:
            state = own(signal())
            loss = tf.reduce_sum(tf.sin(state))
        return state, tape.gradient(loss, own.trainable_variables)

    state, gradients = tf.function(both, autograph=False)() if is_graph else both()
    wanted, slopes = of_keras(cell, [w.numpy() for w in own.trainable_variables])
    np.testing.assert_allclose(state, wanted, rtol=1e-5, atol=1e-6)
    assert not state[2].numpy().any()  # of a video without frames
    for gradient, slope in zip(gradients, slopes, strict=True):
        np.testing.assert_allclose(gradient, slope, rtol=1e-4, atol=1e-6)


def sigmoid(values: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-values))


def lstm(frames: np.ndarray, weights: list[np.ndarray]) -> np.ndarray:
    """The output after each of one video's frames, [frames, size], by the textbook."""
    kernel, recurrent, bias = weights
    output, memory, outputs = np.zeros(5), np.zeros(5), []
    for frame in frames:
        write, keep, candidate, show = np.split(frame @ kernel + output @ recurrent + bias, 4)
        memory = sigmoid(keep) * memory + sigmoid(write) * np.tanh(candidate)
        output = sigmoid(show) * np.tanh(memory)
        outputs.append(output)
    return np.stack(outputs)


@pytest.mark.parametrize("has_gpu", [False, True], ids=["processor", "GPU"])
def test_both_directions_end_where_each_of_them_does(
    has_gpu: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = trunk(Cell.LSTM, bidirectional=True)
    if has_gpu:
        monkeypatch.setattr(tf.config, "list_logical_devices", lambda kind: [kind])
    state = own(signal()).numpy()
    assert state.shape == (4, 10)
    assert not state[2].any()  # of a video without frames
    layers = [
        [[weight.numpy() for weight in layer.trainable_variables] for layer in direction]
        for direction in (own._layers, own._backward_layers)
    ]
    for row, (video, count) in enumerate(zip(signal().vectors.numpy(), FRAMES, strict=True)):
        if not count:
            continue
        values = video[:count].astype(np.float64)
        for forward, backward in zip(*layers, strict=True):
            ends = lstm(values, forward)[-1], lstm(values[::-1], backward)[-1]
            both = lstm(values, forward), lstm(values[::-1], backward)[::-1]
            values = np.concatenate(both, axis=1)
        np.testing.assert_allclose(state[row], np.concatenate(ends), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("cell", list(Cell), ids=lambda cell: cell.value)
def test_products_in_bfloat16_change_the_state_by_little(cell: Cell) -> None:
    exact, near = (trunk(cell, dtype)(signal()).numpy() for dtype in ("float32", "bfloat16"))
    assert not np.array_equal(exact, near)
    np.testing.assert_allclose(near, exact, atol=0.03)


@pytest.mark.parametrize("cell", list(Cell), ids=lambda cell: cell.value)
def test_weights_lie_in_checkpoints_where_those_of_keras_lay(cell: Cell, tmp_path) -> None:
    own = trunk(cell)
    path = tf.train.Checkpoint(trunk=own).save(tmp_path / "checkpoint")
    stock = tf.train.Checkpoint(_layers=[STOCK[cell](5, return_sequences=True), STOCK[cell](5)])
    for number, layer in enumerate(stock._layers):
        layer(tf.zeros([1, 1, 6 if number == 0 else 5]))
    tf.train.Checkpoint(trunk=stock).restore(
        path
    ).expect_partial().assert_existing_objects_matched()
    there = [weight for layer in stock._layers for weight in layer.trainable_variables]
    for weight, value in zip(there, own.trainable_variables, strict=True):
        np.testing.assert_array_equal(weight, value)
