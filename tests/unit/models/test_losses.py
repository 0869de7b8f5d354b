"""Losses against numpy, written densely from the starter code's definitions."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from batches import CLASSES, FEATURES, make_batch, make_network, random_ids
from hypothesis import given, settings
from hypothesis import strategies as st
from own_losses import SquaresByLabel

from yt8m.components.models.config import LossConfig, LossName, SegmentsHeadConfig
from yt8m.components.models.heads import Head, Targets, create_heads
from yt8m.components.models.losses import distillation_loss, example_losses, head_loss
from yt8m.components.models.network import Network, find_network_type
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.features import Level

ROWS = 5


def _dense(ids: np.ndarray) -> np.ndarray:
    hot = np.zeros((len(ids), CLASSES))
    for row, row_ids in zip(hot, ids, strict=True):
        row[row_ids[row_ids >= 0]] = 1.0
    return hot


def _oracle(config: LossConfig, y: np.ndarray, p: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The starter code's three losses on dense targets `y`, probabilities `p`, weights `w`."""
    s, eps = config.label_smoothing, 1e-5
    if config.name is LossName.SOFTMAX:
        p = p * w
        total = np.maximum(y.sum(1, keepdims=True), 1e-7)
        target = (1 - s) * y / total + s / CLASSES
        return -(target * np.log(np.exp(p) / np.exp(p).sum(1, keepdims=True))).sum(1)
    y = y * (1 - s) + s / 2
    if config.name is LossName.CROSS_ENTROPY:
        each = -(y * np.log(p + eps) + (1 - y) * np.log(1 - p + eps))
    else:
        hinge = np.maximum(0, config.margin - p), np.maximum(0, config.margin + p)
        each = y * hinge[0] + (1 - y) * hinge[1]
    return (each * w).sum(1)


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    name=st.sampled_from([LossName.CROSS_ENTROPY, LossName.HINGE, LossName.SOFTMAX]),
    smoothing=st.sampled_from([0.0, 0.1, 0.5]),
    extreme=st.booleans(),
    rated=st.booleans(),
)
def test_sparse_losses_equal_the_dense_definitions(
    seed: int, name: LossName, smoothing: float, extreme: bool, rated: bool
) -> None:
    rng = np.random.default_rng(seed)
    config = LossConfig(name=name, label_smoothing=smoothing)
    labels = random_ids(rng, ROWS)
    p = rng.integers(0, 2, (ROWS, CLASSES)) if extreme else rng.random((ROWS, CLASSES))
    p = p.astype(np.float32)
    weights, counted = np.ones((ROWS, CLASSES)), None
    if rated:  # labels are rated, and others may be
        others = random_ids(rng, ROWS)
        counted = np.array(
            [np.pad(u := np.unique([*a, *b, -1]), (0, 9 - len(u)), constant_values=-1)
             for a, b in zip(labels, others, strict=True)]
        )  # fmt: skip
        weights = _dense(counted)
    wanted = Targets(
        ids=tf.constant(labels), counted=None if counted is None else tf.constant(counted)
    )
    found = example_losses(config, wanted, tf.constant(p)).numpy()
    expected = _oracle(config, _dense(labels), p.astype(np.float64), weights)
    if name is LossName.SOFTMAX and not smoothing:
        expected = np.where(_dense(labels).sum(1) > 0, expected, 0.0)
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-4)


def test_a_loss_is_a_sum_and_the_number_of_rows() -> None:
    batch = make_batch(Level.VIDEO, rows=7)
    network = make_network("logistic")
    head = network.heads[0]
    total = network.head_loss(head, batch, network(batch)[head.name])
    each = example_losses(head.loss, Targets(ids=batch["labels"]), network(batch)[head.name])
    assert network.normaliser(head, batch).numpy() == 7
    assert total.numpy() == pytest.approx(each.numpy().sum(), rel=1e-6)


def test_classes_that_are_not_rated_get_no_gradient() -> None:
    (head,) = create_heads((SegmentsHeadConfig(),), features=FEATURES, level=Level.SEGMENT)
    batch = {"labels": tf.constant([[3]], tf.int64), "rated": tf.constant([[3, 5]], tf.int64)}
    probabilities = tf.fill([1, CLASSES], 0.5)
    with tf.GradientTape() as tape:
        tape.watch(probabilities)
        total = head_loss(head, batch, probabilities)
    gradient = tf.convert_to_tensor(tape.gradient(total, probabilities)).numpy()[0]
    assert set(np.flatnonzero(gradient)) == {3, 5}
    assert gradient[3] < 0 < gradient[5]


class _OwnLoss(Network):
    """A model that minimises something of its own: here the sum of its probabilities."""

    def own_loss(self, head, batch, probabilities):  # type: ignore[no-untyped-def]
        return tf.reduce_sum(probabilities)


def test_a_model_may_bring_its_own_loss() -> None:
    plain = make_network("logistic")
    own = dataclasses.replace(plain.heads[0], loss=LossConfig(name=LossName.OWN))
    batch = make_batch(Level.VIDEO)
    network = _OwnLoss(
        plain.model_config, features=FEATURES, level=Level.VIDEO, heads=[own],
        sharing=plain.sharing, recipe=plain.recipe,
    )  # fmt: skip
    found = network.head_loss(own, batch, plain(batch)["entities"])
    assert found.numpy() == pytest.approx(plain(batch)["entities"].numpy().sum(), rel=1e-6)


OWN_HEAD = Head(name="entities", num_classes=CLASSES, loss=LossConfig(name=LossName.OWN))


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("", r"heads\.entities\.loss\.name = 'own': .*Network has no own_loss"),
        (
            "no_such_package.Network",
            "network = 'no_such_package.Network': cannot be imported",
        ),
        ("yt8m.components.models.network.Nothing", "cannot be imported"),
        ("yt8m.components.models.heads.Head", "must be a subclass of yt8m"),
        ("yt8m.components.models.network.Network", "has no own_loss"),
    ],
)
def test_a_network_that_cannot_be_had_or_has_no_loss_of_its_own_is_refused(
    path: str, said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        find_network_type(path, [OWN_HEAD])


def test_a_network_is_found_by_its_dotted_path() -> None:
    assert find_network_type("own_losses.SquaresByLabel", [OWN_HEAD]) is SquaresByLabel
    assert find_network_type("", []) is Network


@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_distillation_is_the_cross_entropy_of_softened_probabilities(temperature):
    rng = np.random.default_rng(0)
    found, wanted = (rng.uniform(0.01, 0.99, (4, 6)).astype(np.float32) for _ in range(2))

    def softened(p):
        return 1 / (1 + np.exp(-np.log(p / (1 - p)) / temperature))

    p, q = softened(found), softened(wanted)
    expected = -(q * np.log(p + 1e-5) + (1 - q) * np.log(1 - p + 1e-5)).sum() * temperature**2
    loss = distillation_loss(tf.constant(found), tf.constant(wanted), temperature=temperature)
    assert loss.numpy() == pytest.approx(expected, rel=1e-5)


def test_distillation_from_certain_teachers_has_finite_gradients():
    found = tf.constant([[0.0, 1.0, 0.5]])
    with tf.GradientTape() as tape:
        tape.watch(found)
        loss = distillation_loss(found, tf.constant([[0.0, 1.0, 1.0]]), temperature=3.0)
    assert np.isfinite(tape.gradient(loss, found).numpy()).all()
