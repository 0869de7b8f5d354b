"""What XLA makes of the steps between products: the numbers of the layers it stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from batches import FEATURES, make_batch, make_network

from yt8m.components.models.codes import CodePooling
from yt8m.components.models.layer_norm import LayerNorm
from yt8m.components.models.layers import BatchNorm, Recipe, recomputed
from yt8m.components.models.network import Network
from yt8m.schemas.features import Level

VIDEOS, FRAMES, SIZE = 5, 7, 6
_MODELS = ("dbof", "dbof_average_gated", "netvlad", "nextvlad", "transformer")


def _codes(seed: int = 0) -> tuple[tf.Tensor, tf.Tensor]:
    """Codes and which are there; of two frames that are equal both may have the maximum."""
    rng = np.random.default_rng(seed)
    codes = rng.normal(1.0, 2.0, size=(VIDEOS, FRAMES, SIZE)).astype(np.float32)
    codes[:, 1] = codes[:, 0]
    return tf.constant(codes), tf.sequence_mask([7, 2, 1, 3, 5], FRAMES)


def _plain(
    codes: tf.Tensor, mask: tf.Tensor, norm: BatchNorm, activate: Any, least: float | None
) -> tf.Tensor:
    """In TensorFlow's and Keras's operations."""
    there = tf.cast(mask, tf.float32)[..., tf.newaxis]
    activated = activate(norm(codes, mask=mask, training=True))
    if least is None:
        return tf.reduce_sum(activated * there, axis=1) / tf.reduce_sum(there, axis=1)
    return tf.reduce_max(tf.where(there > 0, activated, least), axis=1)


@pytest.mark.parametrize(
    ("activate", "least"),
    [(tf.nn.relu6, 0.0), (tf.tanh, -1.0), (tf.nn.relu6, None), (tf.sigmoid, None)],
    ids=["greatest relu6", "greatest tanh", "mean relu6", "mean sigmoid"],
)
def test_pooled_codes_have_values_gradients_and_averages_of_single_operations(
    activate: Callable[[tf.Tensor], tf.Tensor], least: float | None
) -> None:
    codes, mask = _codes()
    chance = np.random.default_rng(1)
    upstream = tf.constant(chance.normal(size=(VIDEOS, SIZE)).astype(np.float32))
    start = [chance.uniform(0.5, 2.0, size=SIZE).astype(np.float32) for _ in range(4)]
    start[0][1] *= -1.0  # where the least code becomes the greatest

    def made(pool: Callable[[BatchNorm, tf.Tensor], tf.Tensor]) -> list[np.ndarray]:
        norm = BatchNorm(name="norm")
        norm(codes, mask=mask)
        norm.set_weights(start)
        with tf.GradientTape() as tape:
            tape.watch(codes)
            pooled = pool(norm, codes)
        gradients = tape.gradient(pooled, [codes, *norm.trainable_variables], upstream)
        return [np.array(part) for part in (pooled, *gradients, *norm.weights)]

    def compiled(norm: BatchNorm, codes: tf.Tensor) -> tf.Tensor:
        pooling = CodePooling(activate=activate, least=least, epsilon=norm.epsilon)
        return norm.pooled(codes, mask, pool=pooling.compiled())

    wanted = made(lambda norm, codes: _plain(codes, mask, norm, activate, least))
    for found, exact in zip(made(compiled), wanted, strict=True):
        np.testing.assert_allclose(found, exact, rtol=2e-5, atol=2e-6 * np.abs(exact).max())


@pytest.mark.parametrize("shape", [(1, 8), (3, 8), (2, 5, 12), (2, 3, 41, 8)])
def test_layer_normalisation_has_values_and_gradients_of_keras(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(shape))
    inputs, upstream = (
        tf.constant(rng.normal(loc, 2.0, size=shape).astype(np.float32)) for loc in (3.0, 0.0)
    )
    weights = [rng.uniform(0.5, 2.0, size=shape[-1]).astype(np.float32) for _ in range(2)]

    def made(layer: tf_keras.layers.Layer) -> list[np.ndarray]:
        layer(inputs)
        layer.set_weights(weights)
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            values = layer(inputs)
        gradients = tape.gradient(values, [inputs, *layer.trainable_variables], upstream)
        return [np.array(part) for part in (values, *gradients)]

    compiled = LayerNorm(name="norm", recipe=Recipe(seed=1, fuse=True))
    keras = tf_keras.layers.LayerNormalization(epsilon=1e-6, name="norm")
    assert [w.name for w in compiled.weights] == [w.name for w in keras.weights]
    for found, exact in zip(made(compiled), made(keras), strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-5 * np.abs(exact).max())


def test_what_is_recomputed_has_the_gradients_of_each_argument() -> None:
    def function(one: tf.Tensor, other: tf.Tensor, none: tf.Tensor) -> tf.Tensor:
        return tf.tanh(one) * other + tf.cast(none > 0.0, tf.float32)

    arguments = [tf.constant([0.5, -1.0, 2.0]) * n for n in (1.0, 2.0, 3.0)]
    found = []
    for enabled in (False, True):
        call = recomputed(function, enabled=enabled)
        with tf.GradientTape() as tape:
            tape.watch(arguments)
            result = call(*arguments)
        *some, none = tape.gradient(result, arguments, tf.constant([1.0, 2.0, 3.0]))
        assert none is None
        found.append([np.array(part) for part in (result, *some)])
    for plain, compiled in zip(*found, strict=True):
        np.testing.assert_allclose(compiled, plain, rtol=1e-6)


@pytest.mark.parametrize("name", _MODELS)
def test_a_network_has_the_same_gradients_with_xla(name: str) -> None:
    """Frames of a length that is padded for the compiler."""
    batch = make_batch(Level.FRAME, rows=8, frames=23)
    plain, compiled = (_gradients(make_network(name, fuse=fuse), batch) for fuse in (False, True))
    for key, exact in plain.items():
        size = max(np.abs(exact).max(), 1e-2)  # a bias before a normalisation has rounding alone
        np.testing.assert_allclose(compiled[key], exact, rtol=1e-3, atol=1e-4 * size, err_msg=key)


@pytest.mark.parametrize("name", ["dbof", "dbof_average_gated"])
def test_videos_without_frames_alone_move_nothing_but_by_numbers(name: str) -> None:
    """A replica's part of a batch, or a part of `accumulate`, may have no others."""
    batch = make_batch(Level.FRAME, rows=8, frames=5)
    batch |= {key: tf.zeros_like(batch[key]) for key in (*FEATURES.names, "num_frames")}
    plain, compiled = (_gradients(make_network(name, fuse=fuse), batch) for fuse in (False, True))
    for key, exact in plain.items():
        assert np.isfinite(exact).all(), key
        np.testing.assert_allclose(compiled[key], exact, rtol=1e-3, atol=1e-5, err_msg=key)


@pytest.mark.parametrize("name", _MODELS)
def test_hooks_may_call_a_network_of_several_replicas(name: str) -> None:
    with tf.distribute.MirroredStrategy(["CPU:0"]).scope():
        network = make_network(name, fuse=True)
    batch = make_batch(Level.FRAME, frames=10)
    plain = make_network(name)
    head = network.heads[0].name
    found, exact = (n(batch, training=False)[head].numpy() for n in (network, plain))
    np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-6)


def _gradients(network: Network, batch: dict[str, tf.Tensor]) -> dict[str, np.ndarray]:
    """Of the loss by all weights, and what moving averages became; frames of unknown number."""
    head = network.heads[0]
    spec = {
        key: tf.TensorSpec([8, None, *value.shape[2:]], value.dtype)
        if key in FEATURES.names
        else tf.TensorSpec(value.shape, value.dtype)
        for key, value in batch.items()
    }

    @tf.function(autograph=False, input_signature=[spec])
    def step(batch: dict[str, tf.Tensor]) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            outputs = network(batch, training=True)
            loss = network.head_loss(head, network.for_members(batch), outputs[head.name])
        return tape.gradient(
            loss,
            network.trainable_variables,
            unconnected_gradients=tf.UnconnectedGradients.ZERO,
        )

    gradients = step(batch)
    found = {v.name: g.numpy() for v, g in zip(network.trainable_variables, gradients, strict=True)}
    return found | {v.name: v.numpy() for v in network.non_trainable_variables}
