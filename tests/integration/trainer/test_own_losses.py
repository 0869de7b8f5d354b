"""A model's own loss and its own additions to it, against numpy; however a batch is cut up."""

import json
import sys

import numpy as np
import pytest
import tensorflow as tf
import warm_processes
from one_step import RATE, make_batch, one_step
from own_losses import STRENGTH, Agreeing, SquaresByLabel, WithActivity

from yt8m.schemas.errors import ConfigError

OWN = {
    "network": "own_losses.SquaresByLabel",
    "heads": [{"name": "entities", "loss": {"name": "own"}}],
    "clip_gradient_norm": 0,
}


@pytest.fixture(params=[False, True], ids=["plain", "xla"])
def use_xla(request):
    return request.param


@pytest.fixture(params=[(8, 1), (4, 2), (2, 4)], ids=str)
def cut(request, use_xla):
    """How the batch is cut into micro-batches, compiled and not."""
    batch_size, accumulate = request.param
    return {"batch_size": batch_size, "accumulate": accumulate, "use_xla": use_xla, "l2": 0.0}


def forward(batch, before):
    kernel, bias = (w.astype(np.float64) for w in before)
    x = batch["rgb"] / np.linalg.norm(batch["rgb"], axis=1, keepdims=True)
    p = 1 / (1 + np.exp(-(x @ kernel + bias)))
    hot = np.zeros_like(p)
    for row, ids in enumerate(batch["labels"]):
        hot[row, ids[ids >= 0]] = 1
    return x, p, hot


def assert_moved(update, batch, slope):
    """The weights went down a loss whose gradient by the logits is `slope`."""
    x = forward(batch, update.before)[0]
    for old, new, gradient in zip(
        update.before, update.after, [x.T @ slope, slope.sum(axis=0)], strict=True
    ):
        np.testing.assert_allclose(new, old - RATE * gradient, rtol=1e-4, atol=1e-6)


def test_a_loss_of_its_own_is_divided_once_by_its_own_normaliser(cut):
    batch = make_batch()
    update = one_step(batch, network_type=SquaresByLabel, **OWN, **cut)
    _, p, hot = forward(batch, update.before)
    normaliser = np.maximum(batch["labels"], 0).sum()
    assert_moved(update, batch, 2 * (p - hot) * p * (1 - p) / normaliser)
    expected = ((p - hot) ** 2).sum() / normaliser
    assert float(update.told.losses.by_head[0]) == pytest.approx(expected, rel=1e-5)


class LossByRow(SquaresByLabel):
    def own_loss(self, head, batch, probabilities):
        return 1 - probabilities


class NoLoss(SquaresByLabel):
    def own_loss(self, head, batch, probabilities):
        """Forgets to return it."""


@pytest.mark.parametrize(
    ("network", "returned"), [(LossByRow, r"returned \(8, 5\)"), (NoLoss, "returned NoneType")]
)
def test_a_loss_that_is_no_number_is_the_users_mistake(network, returned, use_xla):
    with pytest.raises(
        ConfigError, match=rf"own_loss must return one number, a sum; it {returned}"
    ):
        one_step(make_batch(), network_type=network, use_xla=use_xla, **OWN)


class OfTheBestClass(SquaresByLabel):
    def own_loss(self, head, batch, probabilities):
        best = tf.argmax(probabilities, axis=1)
        return tf.reduce_sum(tf.cast(best != batch["labels"][:, 0], tf.float32))


def test_a_loss_without_a_gradient_is_the_users_mistake(use_xla):
    with pytest.raises(ConfigError, match=r"OfTheBestClass\.own_loss does not depend on"):
        one_step(make_batch(), network_type=OfTheBestClass, use_xla=use_xla, **OWN)


def test_what_layers_add_is_minimised_and_told(cut):
    batch = make_batch()
    trainer = {"clip_gradient_norm": 0, "regularisation_penalty": 2.0}
    update = one_step(batch, network_type=WithActivity, **trainer, **cut)
    _, p, hot = forward(batch, update.before)
    rows, epsilon = len(p), 1e-5
    of_head = -hot / (p + epsilon) + (1 - hot) / (1 - p + epsilon)
    slope = (of_head + 2.0 * STRENGTH * 2 * p) * p * (1 - p) / rows
    assert_moved(update, batch, slope)
    added = 2.0 * STRENGTH * (p**2).sum() / rows
    assert float(update.told.losses.regularisation) == pytest.approx(added, rel=1e-5)


def test_a_loss_of_several_outputs_is_minimised_beside_those_of_the_heads(cut):
    batch = make_batch()
    update = one_step(batch, network_type=Agreeing, clip_gradient_norm=0, **cut)
    _, p, hot = forward(batch, update.before)
    rows, epsilon = len(p), 1e-5
    of_head = -hot / (p + epsilon) + (1 - hot) / (1 - p + epsilon)
    assert_moved(update, batch, (of_head + STRENGTH * (1 - 2 * p)) * p * (1 - p) / rows)
    joint = STRENGTH * (p * (1 - p)).sum() / rows
    assert float(update.told.losses.regularisation) == pytest.approx(joint, rel=1e-5)


def test_a_head_learns_from_the_rows_of_its_splits_alone(cut):
    batch = {**make_batch(), "split": np.array([0, 1, 0, 0, 2, 1, 0, 2], np.int32)}
    mixture = [{"split": "own", "share": 0.25}, {"split": "other", "share": 0.25}]
    heads = [{"name": "entities", "splits": ["own", "other"]}]
    update = one_step(batch, heads=heads, mixture=mixture, clip_gradient_norm=0, **cut)
    _, p, hot = forward(batch, update.before)
    learned, epsilon = batch["split"][:, np.newaxis] > 0, 1e-5
    of_head = -hot / (p + epsilon) + (1 - hot) / (1 - p + epsilon)
    assert_moved(update, batch, learned * of_head * p * (1 - p) / learned.sum())
    losses = -hot * np.log(p + epsilon) - (1 - hot) * np.log(1 - p + epsilon)
    expected = (learned * losses).sum() / learned.sum()
    assert float(update.told.losses.by_head[0]) == pytest.approx(expected, rel=1e-5)


# In a process of its own: a device is divided before TensorFlow first looks at it.
_BOTH = """
import json, sys
sys.path[:0] = json.loads(sys.argv[2])
import tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
from own_losses import SquaresByLabel, WithActivity
from one_step import make_batch, one_step
found = []
for network_type, trainer in ((SquaresByLabel, json.loads(sys.argv[1])), (WithActivity, {})):
    for devices in (1, 2):
        settings = {**trainer, "batch_size": 8 // devices, "devices": devices}
        update = one_step(make_batch(), network_type=network_type, **settings)
        told = [float(update.told.losses.by_head[0]), float(update.told.losses.regularisation)]
        found.append([*(w.ravel().tolist() for w in update.after), told])
print(json.dumps(found), flush=True)
"""


def test_two_devices_do_as_one():
    words = ("-c", _BOTH, json.dumps(OWN), json.dumps(sys.path))
    done = warm_processes.run(*words, timeout=200)
    assert done.returncode == 0, done.stderr[-3000:]
    squares_alone, squares, activity_alone, activity = json.loads(done.stdout.splitlines()[-1])
    for alone, shared in ((squares_alone, squares), (activity_alone, activity)):
        for one, two in zip(alone, shared, strict=True):
            np.testing.assert_allclose(two, one, rtol=1e-5, atol=1e-7)
