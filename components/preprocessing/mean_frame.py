"""`mean_of_normalized_rows` of one video in numpy: its numbers stay in a processor's cache."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from yt8m.components.preprocessing.arithmetic import LENGTH_EPSILON, OFFSET


def mean_of_normalized_frames(parts: Sequence[np.ndarray]) -> np.ndarray:
    """The mean of the normalised frames of one video, `[total] float32`; of no frames, zeros.

    `parts` are `[frames, size] uint8` of each feature, in the order of concatenation.
    """
    shifted = [_shifted(part) for part in parts]
    squared = sum(_squared_lengths(part) for part in shifted)
    weights = 1 / np.sqrt(np.maximum(squared, np.float32(LENGTH_EPSILON)))
    weights /= np.float32(max(len(weights), 1))
    # Not `weights @ part`, which BLAS shares among threads that wait longer than they work.
    return np.concatenate([np.einsum("f,fn->n", weights, part) for part in shifted])


def _shifted(part: np.ndarray) -> np.ndarray:
    values = part.astype(np.float32)
    values += np.float32(OFFSET)
    return values


def _squared_lengths(part: np.ndarray) -> np.ndarray:
    """`[frames] float32`: products of rows, each too short for BLAS to share it."""
    return np.matmul(part[:, np.newaxis, :], part[:, :, np.newaxis])[:, 0, 0]
