"""The mean frame in numpy against the one that the exported graph makes."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from yt8m.components.preprocessing.arithmetic import (
    mean_of_normalized_frames,
    mean_of_normalized_rows,
)


@pytest.mark.parametrize("frames", [0, 1, 7, 300])
def test_the_mean_frame_in_numpy_is_that_of_the_graph(frames: int) -> None:
    rng = np.random.default_rng(frames)
    parts = [rng.integers(0, 256, (frames, size), dtype=np.uint8) for size in (1024, 128)]
    expected = mean_of_normalized_rows(
        {"rgb": tf.constant(parts[0]), "audio": tf.constant(parts[1])},
        names=("rgb", "audio"),
        row=tf.zeros([frames], tf.int64),
        rows=tf.constant(1, tf.int64),
    )
    found = mean_of_normalized_frames(parts)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected.numpy()[0], rtol=1e-5, atol=1e-8)


def test_frames_that_lie_apart_in_a_record_count_as_those_side_by_side() -> None:
    table = np.random.default_rng(1).integers(0, 256, (9, 24), dtype=np.uint8)
    np.testing.assert_array_equal(
        mean_of_normalized_frames([table[:, 8:]]), mean_of_normalized_frames([table[:, 8:].copy()])
    )
