"""Frames that training takes, by numbers that TensorFlow's own generator confirms."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from yt8m.components.inputs.config import FrameChoice, FrameSampling
from yt8m.components.inputs.frame_choice import FrameChooser

POSITIONS = np.array([0, 1, 77, 2**33 + 5, 2**40])


def chooser(
    choice: FrameChoice, frames: int, *, seed: int = 0, positions: np.ndarray = POSITIONS
) -> FrameChooser:
    sampling = FrameSampling(choice=choice, frames=frames)
    return FrameChooser(sampling, seed=seed, positions=positions)


@pytest.mark.parametrize("seed", [0, 3, 2**31, -5])
@pytest.mark.parametrize("count", [1, 5, 271, 300])
def test_random_frames_are_those_of_tensorflow(seed: int, count: int) -> None:
    chosen = chooser(FrameChoice.RANDOM_FRAMES, 30, seed=seed)
    for row, position in enumerate(POSITIONS):
        noise = tf.constant([seed, position], tf.int64)
        uniform = tf.random.stateless_uniform([30], noise)
        wanted = tf.cast(uniform * tf.cast(count, tf.float32), tf.int32)
        np.testing.assert_array_equal(chosen.of(row, count), wanted)


@pytest.mark.parametrize("seed", [0, 3, 2**31, -5])
@pytest.mark.parametrize("count", [1, 30, 31, 300])
def test_random_sequences_begin_where_tensorflow_says(seed: int, count: int) -> None:
    chosen = chooser(FrameChoice.RANDOM_SEQUENCE, 30, seed=seed)
    for row, position in enumerate(POSITIONS):
        noise = tf.constant([seed, position], tf.int64)
        latest = max(count - 30, 0)
        start = tf.random.stateless_uniform([], noise, 0, latest + 1, tf.int32)
        np.testing.assert_array_equal(chosen.of(row, count), start + np.arange(min(count, 30)))


@settings(deadline=None, max_examples=50)
@given(
    count=st.integers(1, 300),
    wanted=st.integers(1, 60),
    choice=st.sampled_from(list(FrameChoice)),
    seed=st.integers(0, 2**31),
)
def test_chosen_frames_are_there(count: int, wanted: int, choice: FrameChoice, seed: int) -> None:
    chosen = chooser(choice, wanted, seed=seed).of(0, count)
    assert ((chosen >= 0) & (chosen < count)).all()
    assert len(chosen) == (wanted if choice is FrameChoice.RANDOM_FRAMES else min(count, wanted))
    if choice is FrameChoice.RANDOM_SEQUENCE:
        assert (np.diff(chosen) == 1).all()


def test_random_frames_reach_every_frame_equally_often() -> None:
    rows = chooser(FrameChoice.RANDOM_FRAMES, 50, positions=np.arange(40))
    seen = np.concatenate([rows.of(row, 5) for row in range(40)])
    assert np.abs(np.bincount(seen, minlength=5) / len(seen) - 0.2).max() < 0.04
