"""A normalisation whose scale and shift the next layer takes is the normalisation itself."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from yt8m.components.models.layers import BatchNorm, Linear, Recipe

FRAMES = np.array([7, 3, 1, 5])


@pytest.mark.parametrize("is_training", [True, False], ids=["training", "scoring"])
def test_a_normalisation_taken_apart_gives_values_gradients_and_averages_of_the_whole(
    is_training: bool,
) -> None:
    rng = np.random.default_rng(0)
    inputs = tf.constant(rng.normal(2.0, 3.0, size=(4, 7, 6)).astype(np.float32))
    mask = tf.sequence_mask(FRAMES, 7)
    norm, linear = BatchNorm(name="norm"), Linear(5, name="linear", recipe=Recipe(seed=1))
    linear(norm(inputs, mask=mask))
    for weight in [*norm.weights, *linear.weights]:
        weight.assign(rng.uniform(0.5, 2.0, size=weight.shape).astype(np.float32))
    at_first = [weight.numpy() for weight in norm.weights]

    def result(*, apart: bool) -> list[np.ndarray]:
        for weight, value in zip(norm.weights, at_first, strict=True):
            weight.assign(value)
        with tf.GradientTape() as tape:
            if apart:
                frames, scale, shift = norm.apart(inputs, mask, training=is_training)
                values = linear(frames, scale=scale, shift=shift)
            else:
                values = linear(norm(inputs, mask=mask, training=is_training))
            values *= tf.cast(mask, tf.float32)[..., tf.newaxis]
            loss = tf.reduce_sum(tf.sin(values))
        variables = [*norm.trainable_variables, *linear.trainable_variables]
        gradients = tape.gradient(loss, variables)
        return [np.array(part) for part in (values, *gradients, *norm.weights)]

    for whole, apart in zip(result(apart=False), result(apart=True), strict=True):
        # Sums over 28 frames of terms as large as the largest come in another order: their rounding
        # is a share of that, whatever is left of a sum that almost cancels.
        np.testing.assert_allclose(apart, whole, rtol=1e-4, atol=1e-5 * np.abs(whole).max())
