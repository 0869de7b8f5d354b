"""The arithmetic against numpy in float64, written from the definition."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import tensorflow as tf

from yt8m.components.preprocessing import arithmetic
from yt8m.schemas.features import Level


def _unit(vectors: np.ndarray) -> np.ndarray:
    length = np.sqrt((vectors.astype(np.float64) ** 2).sum(-1, keepdims=True))
    return np.divide(vectors, length, out=np.zeros(vectors.shape), where=length > 0)


@pytest.mark.parametrize(
    ("byte", "expected"),
    [
        (0, 4 / 512 - 2),
        (255, 4 / 512 + 2),
        (127, 127 * 4 / 255 + 4 / 512 - 2),
    ],
)
def test_a_byte_stands_for_the_published_number(byte: int, expected: float) -> None:
    assert arithmetic.dequantize(tf.constant([byte], tf.uint8)).numpy()[0] == pytest.approx(
        expected, abs=1e-6
    )


def test_dequantized_bytes_rise_in_even_steps() -> None:
    values = arithmetic.dequantize(tf.range(256, dtype=tf.int32)).numpy()
    np.testing.assert_allclose(np.diff(values), 4 / 255, atol=1e-6)


def test_video_features_are_normalised_over_the_concatenated_vector() -> None:
    rng = np.random.default_rng(0)
    rgb, audio = rng.normal(size=(3, 8)), rng.normal(size=(3, 4))
    got = arithmetic.normalize(
        {"audio": tf.constant(audio, tf.float32), "rgb": tf.constant(rgb, tf.float32)},
        names=("rgb", "audio"),
        level=Level.VIDEO,
    )
    np.testing.assert_allclose(got, _unit(np.concatenate([rgb, audio], 1)), rtol=1e-5)


def test_features_normalised_apart_are_of_one_scale_whatever_each_was_before() -> None:
    rng = np.random.default_rng(0)
    rgb, audio = rng.normal(size=(3, 8)), rng.normal(size=(3, 4))
    got = [
        arithmetic.normalize_apart(tf.constant(np.concatenate([r, a], 1), tf.float32), (8, 4))
        for r, a in ((rgb, audio), (rgb * 0.1, audio * 30))
    ]
    expected = np.concatenate([_unit(rgb) * np.sqrt(8), _unit(audio) * np.sqrt(4)], 1)
    for vectors in got:
        np.testing.assert_allclose(vectors, expected, rtol=1e-5)
    silent = np.concatenate([rgb, np.zeros((3, 4))], 1)
    zeros = arithmetic.normalize_apart(tf.constant(silent, tf.float32), (8, 4))[:, 8:]
    np.testing.assert_array_equal(zeros, np.zeros((3, 4)))


def test_one_feature_alone_is_normalised_alone() -> None:
    audio = np.random.default_rng(1).normal(size=(2, 4))
    got = arithmetic.normalize(
        {"audio": tf.constant(audio, tf.float32)}, names=("audio",), level=Level.VIDEO
    )
    np.testing.assert_allclose(got, _unit(audio), rtol=1e-5)


def test_frames_are_normalised_one_by_one_and_padding_stays_zero() -> None:
    rng = np.random.default_rng(2)
    rgb = rng.integers(0, 256, (2, 4, 8), dtype=np.uint8)
    audio = rng.integers(0, 256, (2, 4, 4), dtype=np.uint8)
    got = arithmetic.normalize(
        {"rgb": tf.constant(rgb), "audio": tf.constant(audio)},
        names=("rgb", "audio"),
        level=Level.FRAME,
        num_frames=tf.constant([3, 0]),
    ).numpy()
    joined = np.concatenate([rgb, audio], -1).astype(np.float64) * 4 / 255 + 4 / 512 - 2
    np.testing.assert_allclose(got[0, :3], _unit(joined)[0, :3], rtol=1e-5, atol=1e-7)
    assert not got[0, 3:].any()
    assert not got[1].any()


def test_the_mean_of_normalised_frames_needs_none_of_them() -> None:
    rng = np.random.default_rng(3)
    features = {
        "rgb": tf.constant(rng.integers(0, 256, (4, 7, 8), dtype=np.uint8)),
        "audio": tf.constant(rng.integers(0, 256, (4, 7, 4), dtype=np.uint8)),
    }
    num_frames = np.array([7, 3, 1, 0], np.int32)
    frames = arithmetic.normalize(
        features, names=("rgb", "audio"), level=Level.FRAME, num_frames=tf.constant(num_frames)
    )
    got = arithmetic.mean_of_normalized(
        features, names=("rgb", "audio"), num_frames=tf.constant(num_frames)
    )
    wanted = frames.numpy().sum(1) / np.maximum(num_frames, 1)[:, np.newaxis]
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(("frames", "sizes"), [(23, (37, 5)), (20, (64, 16)), (3, (9, 1))])
def test_what_xla_compiles_gives_the_same(frames: int, sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(frames)
    names = ("rgb", "audio")
    stored = {
        name: tf.constant(rng.integers(0, 256, (3, frames, size), dtype=np.uint8))
        for name, size in zip(names, sizes, strict=True)
    }
    numbers = {name: tf.cast(part[:, 0], tf.float32) - 127.5 for name, part in stored.items()}
    num_frames = tf.constant([frames, 1, 0])
    calls = [
        partial(arithmetic.mean_of_normalized, stored, names=names, num_frames=num_frames),
        partial(arithmetic.normalize, numbers, names=names, level=Level.VIDEO),
    ]
    for call in calls:
        compiled = tf.function(partial(call, compiled=True), jit_compile=True, autograph=False)
        np.testing.assert_allclose(compiled(), call(), rtol=1e-5, atol=1e-7)


def test_a_segment_has_no_padding_when_no_count_is_given() -> None:
    rgb = np.zeros((1, 5, 8), np.uint8)
    got = arithmetic.normalize({"rgb": tf.constant(rgb)}, names=("rgb",), level=Level.SEGMENT)
    np.testing.assert_allclose(np.linalg.norm(got, axis=-1), 1.0, rtol=1e-5)


def test_a_zero_vector_stays_zero_and_has_a_finite_gradient() -> None:
    zeros = tf.zeros([1, 4])
    with tf.GradientTape() as tape:
        tape.watch(zeros)
        value = arithmetic.l2_normalize(zeros)
    assert not value.numpy().any()
    assert np.isfinite(tape.gradient(value, zeros).numpy()).all()


def test_the_mean_of_frames_in_one_list_is_that_of_the_frames_made_one_by_one() -> None:
    """To 1e-6 of a number of a unit vector, frames of one byte alone and no frames included."""
    rng = np.random.default_rng(5)
    counts = np.array([3, 0, 7, 1, 2])
    frames = {
        name: rng.integers(0, 256, (counts.sum(), size), np.uint8)
        for name, size in (("rgb", 1024), ("audio", 128))
    }
    for name in frames:
        frames[name][0], frames[name][-1] = 0, 255
    row = np.repeat(np.arange(len(counts)), counts)
    got = arithmetic.mean_of_normalized_rows(
        {name: tf.constant(values) for name, values in frames.items()},
        names=("rgb", "audio"),
        row=tf.constant(row, tf.int64),
        rows=tf.constant(len(counts), tf.int64),
    ).numpy()
    whole = np.concatenate([frames["rgb"], frames["audio"]], axis=1).astype(np.float64)
    unit = _unit(whole * (4 / 255) + 4 / 512 - 2)
    for number, count in enumerate(counts):
        expected = unit[row == number].mean(axis=0) if count else np.zeros(1152)
        np.testing.assert_allclose(got[number], expected, atol=1e-6)


def test_the_mean_of_no_rows_at_all_is_empty() -> None:
    got = arithmetic.mean_of_normalized_rows(
        {"rgb": tf.zeros([0, 8], tf.uint8)},
        names=("rgb",),
        row=tf.zeros([0], tf.int64),
        rows=tf.constant(0, tf.int64),
    )
    assert got.shape == (0, 8)
