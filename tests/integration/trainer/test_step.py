"""One update against numpy: loss, gradient, clipping, regulariser, learning rate."""

import functools
import typing

import numpy as np
import pytest
import tensorflow as tf
from one_step import RATE, ROWS, make_batch, one_step

from yt8m.components.models.config import MlpConfig
from yt8m.components.trainer.optimizers import (
    NamedOptimizer,
    OwnOptimizerConfig,
    create_optimizer,
)
from yt8m.schemas.config_tree import to_dict

EPSILON = 1e-5
NAMED = [config for config in typing.get_args(NamedOptimizer) if config is not OwnOptimizerConfig]


@pytest.fixture
def batch():
    return make_batch()


@pytest.fixture(params=[False, True], ids=["plain", "xla"])
def update(request):
    return functools.partial(one_step, use_xla=request.param)


def oracle(batch, weights, l2=1e-8, penalty=1.0):
    """Mean loss over the rows and its gradient, dense and obvious."""
    kernel, bias = (w.astype(np.float64) for w in weights)
    x = batch["rgb"] / np.linalg.norm(batch["rgb"], axis=1, keepdims=True)
    y = np.zeros([ROWS, 5])
    for row, ids in enumerate(batch["labels"]):
        y[row, ids[ids >= 0]] = 1
    p = 1 / (1 + np.exp(-(x @ kernel + bias)))
    loss = -(y * np.log(p + EPSILON) + (1 - y) * np.log(1 - p + EPSILON)).sum() / ROWS
    slope = (-y / (p + EPSILON) + (1 - y) / (1 - p + EPSILON)) * p * (1 - p) / ROWS
    gradients = [x.T @ slope + penalty * l2 * kernel, slope.sum(axis=0)]
    return loss, gradients


def clipped(gradient, limit):
    return gradient * min(1.0, limit / np.linalg.norm(gradient))


def assert_moved(before, after, gradients):
    for old, new, gradient in zip(before, after, gradients, strict=True):
        np.testing.assert_allclose(new, old - RATE * gradient, rtol=1e-4, atol=1e-6)


def test_without_clipping_the_step_is_the_rate_times_the_gradient_of_the_mean(batch, update):
    before, after, told = update(batch, clip_gradient_norm=0)
    loss, gradients = oracle(batch, before)
    assert float(told.losses.by_head[0]) == pytest.approx(loss, rel=1e-5)
    norm = np.sqrt(sum((g**2).sum() for g in gradients))
    assert float(told.losses.gradient_norm) == pytest.approx(norm, rel=1e-4)
    assert_moved(before, after, gradients)


def test_each_variables_gradient_is_clipped_to_its_norm(batch, update):
    before, after, _ = update(batch, clip_gradient_norm=0.1)
    gradients = oracle(batch, before)[1]
    assert min(np.linalg.norm(g) for g in gradients) > 0.1
    assert_moved(before, after, [clipped(g, 0.1) for g in gradients])


def test_all_gradients_together_are_clipped_on_request(batch, update):
    before, after, _ = update(batch, clip_gradient_norm=0.1, clip="global")
    gradients = oracle(batch, before)[1]
    norm = np.sqrt(sum((g**2).sum() for g in gradients))
    assert_moved(before, after, [g * 0.1 / norm for g in gradients])


def test_elements_are_clipped_on_request(batch, update):
    before, after, _ = update(batch, clip_gradient_norm=0.05, clip="value")
    gradients = oracle(batch, before)[1]
    assert_moved(before, after, [np.clip(g, -0.05, 0.05) for g in gradients])


def test_regularisation_penalty_scales_the_regulariser_alone(batch, update):
    before, after, told = update(batch, l2=0.3, regularisation_penalty=2.0, clip_gradient_norm=0)
    loss, gradients = oracle(batch, before, l2=0.3, penalty=2.0)
    assert float(told.losses.by_head[0]) == pytest.approx(loss, rel=1e-5)
    expected = 2.0 * 0.3 * (before[0] ** 2).sum() / 2
    assert float(told.losses.regularisation) == pytest.approx(expected, rel=1e-4)
    assert_moved(before, after, gradients)


def test_gradients_of_sums_on_request(batch, update):
    before, after, _ = update(batch, normalize_gradients=False, clip_gradient_norm=0, l2=0.0)
    gradients = oracle(batch, before, l2=0.0)[1]
    assert_moved(before, after, [ROWS * g for g in gradients])


@pytest.mark.parametrize(("batch_size", "accumulate"), [(4, 2), (2, 4)])
def test_micro_batches_give_the_gradient_of_the_whole(batch, update, batch_size, accumulate):
    before, after, told = update(
        batch, batch_size=batch_size, accumulate=accumulate, clip_gradient_norm=0.1, l2=0.1
    )
    loss, gradients = oracle(batch, before, l2=0.1)
    assert float(told.losses.by_head[0]) == pytest.approx(loss, rel=1e-5)
    assert_moved(before, after, [clipped(g, 0.1) for g in gradients])


def loss_alone(batch, first, first_bias, kernel, bias):
    """The mean loss of one MLP over the rows."""
    x = batch["rgb"] / np.linalg.norm(batch["rgb"], axis=1, keepdims=True) * np.sqrt(6)
    p = tf.sigmoid(tf.nn.relu(x @ first + first_bias) @ kernel + bias)
    y = tf.reduce_max(tf.one_hot(batch["labels"], 5), axis=1)
    terms = y * tf.math.log(p + EPSILON) + (1 - y) * tf.math.log(1 - p + EPSILON)
    return -tf.reduce_sum(terms) / ROWS


@pytest.mark.parametrize(("batch_size", "accumulate"), [(8, 1), (2, 4)])
def test_each_member_of_an_ensemble_moves_as_it_would_alone(batch, update, batch_size, accumulate):
    model = MlpConfig(members=3, width=4, blocks=0, dropout=0.0)
    settings = {"batch_size": batch_size, "accumulate": accumulate, "clip_gradient_norm": 0}
    before, after, told = update(batch, model=model, **settings)
    trunks, classifiers, losses = range(0, 6, 2), range(6, 12, 2), []
    for trunk, classifier in zip(trunks, classifiers, strict=True):
        own = [trunk, trunk + 1, classifier, classifier + 1]
        weights = [tf.Variable(before[i]) for i in own]
        with tf.GradientTape() as tape:
            loss = loss_alone(batch, *weights)
        gradients = [gradient.numpy() for gradient in tape.gradient(loss, weights)]
        assert_moved([before[i] for i in own], [after[i] for i in own], gradients)
        losses.append(float(loss))
    assert float(told.losses.by_head[0]) == pytest.approx(np.mean(losses), rel=1e-5)
    assert told.scores.shape == [*told.shown["labels"].shape[:1], 5]


@pytest.mark.parametrize(
    "update",
    [pytest.param(False, id="plain"), pytest.param(True, id="xla", marks=pytest.mark.slow)],
    indirect=True,
)
def test_each_registered_optimiser_takes_a_step(batch, update):
    for config in NAMED:
        name = config().name
        before, after, _ = update(batch, optimizer={"name": name, "learning_rate": 0.1})
        assert not np.array_equal(before[0], after[0]), name
        assert np.isfinite(after[0]).all(), name


def test_each_optimiser_has_arguments_and_defaults_of_kerass_own():
    import inspect

    for config in NAMED:
        keras = inspect.signature(type(create_optimizer(config()))).parameters
        own = to_dict(config())
        for argument in own.keys() - {"name", "learning_rate"}:
            assert own[argument] == keras[argument].default, (config, argument)
