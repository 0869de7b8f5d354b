"""The contract of every model, and what single models promise."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from batches import (
    CLASSES,
    FEATURES,
    FRAME_MODELS,
    MODELS,
    VIDEO_MODELS,
    create_network,
    level_of,
    make_batch,
    make_network,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from yt8m.components.models import vlad
from yt8m.components.models.config import LogisticConfig, NextVladConfig, TransformerConfig
from yt8m.components.models.dbof import spread
from yt8m.components.models.heads import create_heads
from yt8m.components.models.network import Network
from yt8m.components.models.trunks import Signal, video_vector
from yt8m.pipeline.presets import load_config
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.features import FeatureConfig, Level

Step = tuple[float, list[tf.Tensor]]


def _cases(names: Iterable[str]) -> list[Any]:
    """The gated units are the long short-term memory's, but for cell and layers: endurance.

    And so are a transformer's with a token, whose numbers have a test of their own.
    """
    slow = ("gru", "transformer_token")
    return [pytest.param(n, marks=pytest.mark.slow if n in slow else ()) for n in names]


def _step(network: Network, batch: dict[str, tf.Tensor]) -> Step:
    """Loss, and the gradient of every variable: what a trainer asks of a network."""

    @tf.function(autograph=False)
    def step() -> tuple[tf.Tensor, list[tf.Tensor]]:
        with tf.GradientTape() as tape:
            head = network.heads[0]
            outputs = network(batch, training=True)
            total = network.head_loss(head, network.for_members(batch), outputs[head.name])
            loss = total / network.normaliser(head, batch)
            if network.losses:
                loss += tf.add_n(network.losses)
        return loss, tape.gradient(
            loss,
            network.trainable_variables,
            unconnected_gradients=tf.UnconnectedGradients.ZERO,
        )

    loss, gradients = step()
    return float(loss), gradients


def _scores(network: Network, batch: dict[str, tf.Tensor]) -> np.ndarray:
    return np.asarray(network(batch)[network.heads[0].name])


@pytest.mark.parametrize("name", _cases(MODELS))
def test_builds_trains_a_step_saves_and_reloads_with_the_same_output(
    name: str, tmp_path: Path
) -> None:
    network, batch = make_network(name, seed=1), make_batch(level_of(name), rows=8)
    before = _scores(network, batch)
    assert before.shape == (8, CLASSES)
    assert ((before >= 0) & (before <= 1)).all()
    first, gradients = _step(network, batch)
    unmoved = [
        variable.name
        for variable, gradient in zip(network.trainable_variables, gradients, strict=True)
        if not np.any(tf.convert_to_tensor(gradient))
    ]
    # A normalisation takes out again by what its input is shifted: such gradients are rounding
    # alone, and on some processors zero. What probabilities say of each other starts behind
    # weights of zero.
    shifts = ("input_norm/norm/beta:0", "_squeeze/bias:0", "_gates/bias:0")
    at_first = (*shifts, "co_occurrence_said/kernel:0")
    assert all(name.endswith(at_first) for name in unmoved), unmoved
    optimizer = tf_keras.optimizers.SGD(0.01)
    optimizer.apply_gradients(zip(gradients, network.trainable_variables, strict=True))
    assert _step(network, batch)[0] < first
    after = _scores(network, batch)
    assert np.abs(after - before).max() > 0

    tf.train.Checkpoint(model=network).write(str(tmp_path / "weights"))
    again = make_network(name, seed=2)
    assert np.abs(_scores(again, batch) - after).max() > 0
    tf.train.Checkpoint(model=again).read(str(tmp_path / "weights")).assert_consumed()
    np.testing.assert_array_equal(_scores(again, batch), after)


@pytest.mark.parametrize("name", _cases(MODELS))
def test_the_seed_alone_decides_the_weights(name: str) -> None:
    one, same, other = (make_network(name, seed=seed) for seed in (3, 3, 4))
    for a, b in zip(one.weights, same.weights, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert any(
        np.abs(a.numpy() - b.numpy()).max() > 0
        for a, b in zip(one.weights, other.weights, strict=True)
    )


@pytest.mark.parametrize("name", ["dbof", "nextvlad", "moe_gated", "frame_logistic", "transformer"])
def test_xla_and_bfloat16_change_the_loss_by_little(name: str) -> None:
    batch = make_batch(level_of(name), rows=8)
    plain, _ = _step(make_network(name), batch)
    assert _step(make_network(name, fuse=True), batch)[0] == pytest.approx(plain, rel=1e-4)
    low = make_network(name, compute_dtype="bfloat16", fuse=True)
    loss, gradients = _step(low, batch)
    assert loss == pytest.approx(plain, rel=0.05)
    assert {v.dtype for v in low.weights} == {tf.float32}
    assert {g.dtype for g in gradients} == {tf.float32}


@pytest.mark.parametrize("name", _cases(FRAME_MODELS))
@settings(deadline=None, max_examples=3)
@given(more=st.integers(1, 7), seed=st.integers(0, 100))
def test_more_padding_changes_nothing(name: str, more: int, seed: int) -> None:
    network = _NETWORKS.setdefault(name, make_network(name))
    batch = make_batch(Level.FRAME, seed=seed)
    padded = dict(batch)
    for feature in FEATURES.names:
        padded[feature] = tf.pad(batch[feature], [[0, 0], [0, more], [0, 0]], constant_values=seed)
    np.testing.assert_allclose(_scores(network, padded), _scores(network, batch), atol=2e-6)


_NETWORKS: dict[str, Network] = {}


@pytest.mark.parametrize("name", _cases(n for n in FRAME_MODELS if n != "netvlad_gated"))
def test_padding_has_no_part_in_a_training_step(name: str) -> None:
    batch = make_batch(Level.FRAME, rows=8)
    padded = dict(batch)
    for feature in FEATURES.names:
        padded[feature] = tf.pad(batch[feature], [[0, 0], [0, 5], [0, 0]])
    network, twin = make_network(name), make_network(name)
    loss, gradients = _step(network, batch)
    padded_loss, padded_gradients = _step(twin, padded)
    assert padded_loss == pytest.approx(loss, rel=1e-5)
    for one, other in zip(gradients, padded_gradients, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), atol=1e-4)
    for one, other in zip(network.weights, twin.weights, strict=True):  # moving averages too
        np.testing.assert_allclose(one.numpy(), other.numpy(), atol=1e-5)


@pytest.mark.parametrize("name", ["lstm", "gru", "transformer", "transformer_token"])
def test_models_of_sequences_see_the_order_of_the_frames(name: str) -> None:
    network, batch = make_network(name), make_batch(Level.FRAME)
    batch["num_frames"] = tf.fill([6], 10)
    turned = {k: v[:, ::-1] if k in FEATURES.names else v for k, v in batch.items()}
    assert np.abs(_scores(network, turned) - _scores(network, batch)).max() > 1e-5


def test_dropout_is_decided_by_the_position_in_the_stream() -> None:
    network, batch = make_network("mlp"), make_batch(Level.VIDEO)
    later = {**batch, "position": batch["position"] + 6}

    def train(rows: dict[str, tf.Tensor]) -> np.ndarray:
        return np.asarray(network(rows, training=True)["entities"])

    np.testing.assert_array_equal(train(batch), train(batch))
    assert np.abs(train(later) - train(batch)).max() > 0
    np.testing.assert_array_equal(_scores(network, later), _scores(network, batch))


@pytest.mark.parametrize("name", VIDEO_MODELS)
def test_models_of_vectors_take_the_mean_of_frames(name: str) -> None:
    network = make_network(name, Level.SEGMENT)
    assert _scores(network, make_batch(Level.SEGMENT)).shape == (6, CLASSES)


@pytest.mark.parametrize("frames", [5, 20, 23, 57])
def test_padding_for_the_compiler_changes_no_mean_of_frames(frames: int) -> None:
    batch = make_batch(Level.FRAME, frames=frames)
    plain, compiled = (make_network("frame_logistic", fuse=fuse) for fuse in (False, True))
    for head in plain.heads:
        np.testing.assert_allclose(compiled(batch)[head.name], plain(batch)[head.name], rtol=1e-5)


@pytest.mark.parametrize("name", FRAME_MODELS)
def test_models_of_frames_are_refused_at_video_level(name: str) -> None:
    with pytest.raises(ConfigError, match=r"needs frames .* data\.level is video"):
        make_network(name, Level.VIDEO)


def test_groups_that_do_not_divide_are_refused() -> None:
    heads = create_heads((), features=FEATURES, level=Level.FRAME)
    with pytest.raises(ConfigError, match=r"model\.groups = 7: 7 must divide .* 24 x 2 = 48"):
        create_network(NextVladConfig(groups=7), features=FEATURES, level=Level.FRAME, heads=heads)
    apart = NextVladConfig(groups=32, apart=True)  # 16 x 2 divided by 32, and 8 x 2 by 16
    create_network(apart, features=FEATURES, level=Level.FRAME, heads=heads)
    apart = NextVladConfig(clusters=7, apart=True)
    with pytest.raises(ConfigError, match=r"model\.clusters = 7: must be even where model\.apart"):
        create_network(apart, features=FEATURES, level=Level.FRAME, heads=heads)


def test_residuals_are_those_of_the_definition() -> None:
    chance = np.random.default_rng(3)
    weights, vectors = chance.random((2, 7, 3)), chance.normal(size=(2, 7, 5))
    centres = chance.normal(size=(3, 5))
    expected = []
    for shares, frames in zip(weights, vectors, strict=True):
        pairs = list(zip(shares, frames, strict=True))
        sums = [sum(share[k] * (frame - centres[k]) for share, frame in pairs) for k in range(3)]
        flat = np.concatenate([one / np.linalg.norm(one) for one in sums])
        expected.append(flat / np.linalg.norm(flat) * 3**0.5)
    given = (tf.constant(values, tf.float32) for values in (weights, vectors, centres))
    np.testing.assert_allclose(vlad._residuals(*given), expected, rtol=1e-5, atol=1e-6)


def test_nextvlad_of_the_preset_has_the_published_size() -> None:
    model = load_config("frame_nextvlad").trainer.model
    features = FeatureConfig()
    heads = create_heads((), features=features, level=Level.FRAME)
    network = create_network(model, features=features, level=Level.FRAME, heads=heads)
    rgb = 1024 * 2048 + 2048 * (8 * 112) + 112 * (2048 // 8)
    audio = 128 * 256 + 256 * (4 * 56) + 56 * (256 // 4)
    pooled = 112 * 256 + 56 * 64
    matrices = rgb + audio + pooled * 2048 + 2 * 2048 * 256 + 2048 * 3862
    biases_attention_and_norms = 60_000
    assert 0 < network.count_params() - matrices < biases_attention_and_norms
    assert network.count_params() < 80_000_000  # "less than 80M", Lin et al. 2018


def test_the_regulariser_is_the_starter_codes_half_of_the_squares() -> None:
    network = make_network("logistic")
    (penalty,) = network.losses
    kernel = network.trainable_variables[0].numpy().astype(np.float64)
    assert float(penalty) == pytest.approx(1e-8 * (kernel**2).sum() / 2, rel=1e-5)


def test_moe_is_a_gated_mixture_that_may_choose_nothing() -> None:
    network, batch = make_network("moe"), make_batch(Level.VIDEO)
    gates, experts, bias = (w.numpy().astype(np.float64) for w in network.weights)
    joined = np.concatenate([batch[name].numpy() for name in FEATURES.names], axis=1)
    unit = joined / np.linalg.norm(joined, axis=1, keepdims=True)
    gate = np.exp((unit @ gates).reshape(6, 3, CLASSES))
    gate /= gate.sum(1, keepdims=True)
    expert = 1 / (1 + np.exp(-(unit @ experts + bias).reshape(6, 2, CLASSES)))
    np.testing.assert_allclose(_scores(network, batch), (gate[:, :2] * expert).sum(1), atol=1e-5)


def test_co_occurrence_begins_as_nothing_and_shifts_each_logit_by_all_probabilities() -> None:
    heads = create_heads((), features=FEATURES, level=Level.VIDEO)
    model = LogisticConfig(co_occurrence=4)
    plain = make_network("logistic")
    network = create_network(model, features=FEATURES, level=Level.VIDEO, heads=heads)
    batch = make_batch(Level.VIDEO)
    np.testing.assert_array_equal(_scores(network, batch), _scores(plain, batch))
    first = _scores(network, batch).astype(np.float64)
    said, shift = network.weights[2:]
    shift.assign(np.random.default_rng(3).normal(0, 30, shift.shape))
    logits = np.log(first / (1 - first)) + first @ said.numpy() @ shift.numpy()
    assert np.abs(first @ said.numpy() @ shift.numpy()).max() > 0.01
    np.testing.assert_allclose(_scores(network, batch), 1 / (1 + np.exp(-logits)), atol=1e-5)


@pytest.mark.parametrize("name", ["transformer", "transformer_token"])
def test_a_transformer_is_what_one_frame_after_the_other_gives(name: str) -> None:
    network, batch = make_network(name, seed=5), make_batch(Level.FRAME)
    config = network.model_config
    assert isinstance(config, TransformerConfig)
    for weight in network.trainable_variables:  # biases and norms begin where errors hide
        if weight.shape.rank == 1:
            weight.assign_add(tf.random.stateless_normal(weight.shape, [1, 2], stddev=0.1))
    weights = [w.numpy().astype(np.float64) for w in network.weights]
    token = weights.pop(0)[0] if name == "transformer_token" else None
    project, project_bias, *weights = weights
    *layers, gain, shift, gates, experts, bias = weights
    layers = [layers[i : i + 12] for i in range(0, len(layers), 12)]
    assert len(layers) == config.layers

    def norm(row: np.ndarray, gain: np.ndarray, shift: np.ndarray) -> np.ndarray:
        return (row - row.mean()) / np.sqrt(row.var() + 1e-6) * gain + shift

    def attend(rows: list[np.ndarray], kernel: np.ndarray, start: np.ndarray) -> list[np.ndarray]:
        size = config.width // config.heads
        triples = [np.split(row @ kernel + start, 3) for row in rows]
        found = []
        for query, _, _ in triples:
            parts = []
            for head in range(config.heads):
                own = slice(head * size, (head + 1) * size)
                logits = [query[own] @ key[own] / np.sqrt(size) for _, key, _ in triples]
                shares = np.exp(logits) / np.exp(logits).sum()
                parts.append(
                    sum(
                        s * content[own] for s, (_, _, content) in zip(shares, triples, strict=True)
                    )
                )
            found.append(np.concatenate(parts))
        return found

    def gelu(values: np.ndarray) -> np.ndarray:
        return values / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (values + 0.044715 * values**3)))

    vectors = []
    frames = network.signal(batch).vectors.numpy().astype(np.float64)
    for video, count in zip(frames, batch["num_frames"].numpy(), strict=True):
        rows = []
        for number in range(count):
            waves = 10000.0 ** (-np.arange(config.width // 2) * 2 / config.width)
            place = np.concatenate([np.sin(number * waves), np.cos(number * waves)])
            rows.append(video[number] * np.sqrt(video.shape[1]) @ project + project_bias + place)
        if token is not None:
            rows.insert(0, token[0])
        for (
            g1,
            s1,
            qkv,
            qkv_bias,
            join,
            join_bias,
            g2,
            s2,
            wide,
            wide_bias,
            thin,
            thin_bias,
        ) in layers:
            seen = attend([norm(row, g1, s1) for row in rows], qkv, qkv_bias)
            rows = [row + each @ join + join_bias for row, each in zip(rows, seen, strict=True)]
            hidden = [gelu(norm(row, g2, s2) @ wide + wide_bias) for row in rows]
            rows = [row + h @ thin + thin_bias for row, h in zip(rows, hidden, strict=True)]
        rows = [norm(row, gain, shift) for row in rows]
        vectors.append(rows[0] if token is not None else np.mean(rows, axis=0))
    gate = np.exp((np.array(vectors) @ gates).reshape(6, 3, CLASSES))
    gate /= gate.sum(1, keepdims=True)
    expert = 1 / (1 + np.exp(-(np.array(vectors) @ experts + bias).reshape(6, 2, CLASSES)))
    np.testing.assert_allclose(_scores(network, batch), (gate[:, :2] * expert).sum(1), atol=1e-5)


def test_heads_that_do_not_share_the_width_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"width = 30: must be even, and a multiple of heads = 4"):
        TransformerConfig(width=30)


@settings(deadline=None)
@given(count=st.integers(1, 300), wanted=st.integers(1, 60))
def test_spread_frames_are_distinct_in_order_and_reach_over_the_video(
    count: int, wanted: int
) -> None:
    indices = spread(tf.constant([count]), wanted).numpy()[0][: min(count, wanted)]
    assert (np.diff(indices) > 0).all()
    assert indices[0] == 0
    assert indices[-1] >= count - 1 - count // wanted


def test_members_of_an_ensemble_differ_and_are_averaged() -> None:
    network, batch = make_network("mlp_members"), make_batch(Level.VIDEO)
    weights = [w.numpy().astype(np.float64) for w in network.weights]
    joined = np.concatenate([batch[name].numpy() for name in FEATURES.names], axis=1)
    unit = joined / np.linalg.norm(joined, axis=1, keepdims=True) * np.sqrt(joined.shape[1])
    trunks, classifiers = weights[:12], weights[12:]
    scores = []
    for number in range(3):
        first, first_bias, block, block_bias = trunks[4 * number : 4 * number + 4]
        kernel, bias = classifiers[2 * number : 2 * number + 2]
        hidden = np.maximum(unit @ first + first_bias, 0)
        hidden += np.maximum(hidden @ block + block_bias, 0)
        scores.append(1 / (1 + np.exp(-(hidden @ kernel + bias))))
    assert np.abs(scores[0] - scores[1]).max() > 0.01
    np.testing.assert_allclose(_scores(network, batch), np.mean(scores, axis=0), atol=1e-5)


class _Seen(tf_keras.layers.Layer):
    """The mean, noting what it was made of."""

    def call(self, signal: Signal, training: bool = False) -> tf.Tensor:
        self.shape = signal.vectors.shape
        return video_vector(signal)


class _OfFrames(Network):
    looks_at_frames = True

    def create_trunk(self, name: str) -> tf_keras.layers.Layer:
        self.seen = _Seen(name=name)
        return self.seen


def test_a_network_of_ones_own_that_looks_at_frames_gets_all_of_them_whatever_the_model() -> None:
    plain = make_network("frame_logistic")
    network = _OfFrames(
        MODELS["frame_logistic"],
        features=FEATURES,
        level=Level.FRAME,
        heads=plain.heads,
        sharing=plain.sharing,
        recipe=plain.recipe,
    )
    batch = {k: tf.constant(v) for k, v in make_batch(Level.FRAME, rows=3, frames=7).items()}
    found = network(batch)
    assert network.seen.shape == (3, 7, FEATURES.total_size)
    assert plain.averages_frames
    assert not network.averages_frames
    for name, scores in plain(batch).items():
        np.testing.assert_allclose(found[name], scores, atol=1e-6)
