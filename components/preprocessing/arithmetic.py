"""Dequantise and L2-normalise: the one place for it, called by Transform and by the networks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from yt8m.components.preprocessing.sums import sum_in_slices
from yt8m.schemas.features import DEQUANTISE_BIAS, DEQUANTISE_SCALE, Level

# Below this squared length a vector counts as zero and stays zero.
_EPSILON = 1e-12
# Bytes with this added have the direction of what they stand for: the scale cancels out.
_OFFSET = DEQUANTISE_BIAS / DEQUANTISE_SCALE
_LENGTH_EPSILON = _EPSILON / DEQUANTISE_SCALE**2  # `_EPSILON` for such vectors
_VECTOR_SLICES, _FRAME_SLICES = 16, 10  # of a feature's numbers and of a video's frames


def evenly_spaced(number: tf.Tensor, *, of: tf.Tensor, taken: tf.Tensor) -> tf.Tensor:
    """The frame that is `number` among `taken` ones, evenly spaced over `of` frames (integers)."""
    return number * of // tf.maximum(taken, 1)


def dequantize(values: tf.Tensor) -> tf.Tensor:
    """The numbers that stored bytes stand for: uint8 of any shape, to float32 in [-2, 2]."""
    return tf.cast(values, tf.float32) * DEQUANTISE_SCALE + DEQUANTISE_BIAS


def l2_normalize(vectors: tf.Tensor) -> tf.Tensor:
    """Each vector (last axis) at length 1; zero vectors stay zero."""
    return vectors * _inverse_lengths([vectors], tf.identity, compiled=False)[..., tf.newaxis]


def l2_normalize_twice(vectors: tf.Tensor, *, compiled: bool = False) -> tf.Tensor:
    """Each vector (last axis) at length 1, then all of a row (last two axes) together.

    Zero vectors stay zero. One pass finds both lengths: what the first step makes is never stored.
    """
    slices = _VECTOR_SLICES if compiled else 1
    squared = sum_in_slices(tf.square, vectors, axis=-1, slices=slices)
    inverse = tf.math.rsqrt(tf.maximum(squared, _EPSILON))
    together = tf.reduce_sum(squared * tf.square(inverse), axis=-1, keepdims=True)
    inverse *= tf.math.rsqrt(tf.maximum(together, _EPSILON))
    return vectors * inverse[..., tf.newaxis]


def normalize_apart(vectors: tf.Tensor, sizes: Sequence[int]) -> tf.Tensor:
    """Each feature of concatenated `vectors` by itself at the length that brings its numbers to 1.

    `sizes` are those of the features, in the order in which they were concatenated. Normalised
    together, a loud video's rgb is small; apart, each feature says as much in every video.
    """
    parts = tf.split(vectors, list(sizes), axis=-1)
    return tf.concat([l2_normalize(part) * math.sqrt(part.shape[-1]) for part in parts], axis=-1)


def normalize(
    features: Mapping[str, tf.Tensor],
    *,
    names: Sequence[str],
    level: Level,
    num_frames: tf.Tensor | None = None,
    compiled: bool = False,
) -> tf.Tensor:
    """The features named in `names`, concatenated in that order and L2-normalised together.

    Video level: `[..., size] float32` each, to `[..., total] float32`. The other two levels:
    `[..., frames, size] uint8` each, dequantised, and normalised frame by frame. Where
    `num_frames` (int, one axis less than a frame's index) is given, frames from there on are
    padding and become zeros; without it every frame counts. `compiled` is for XLA, see
    `sum_in_slices`.
    """
    read = dequantize if level.is_sequence else tf.identity
    parts = [features[name] for name in names]
    scales = _inverse_lengths(parts, read, compiled=compiled)
    if level.is_sequence and num_frames is not None:
        scales *= frame_mask(num_frames, tf.shape(scales)[-1])
    return tf.concat([read(part) * scales[..., tf.newaxis] for part in parts], axis=-1)


def mean_of_normalized(
    features: Mapping[str, tf.Tensor],
    *,
    names: Sequence[str],
    num_frames: tf.Tensor,
    compiled: bool = False,
) -> tf.Tensor:
    """The mean of `normalize`d frames, `[..., total] float32`, without making each of them.

    A model that sees a video as one vector needs no frame at its normalised numbers: each is
    weighed by its length while they are summed, feature by feature.
    """
    parts = [features[name] for name in names]
    weights = _inverse_lengths(parts, dequantize, compiled=compiled)
    weights *= frame_mask(num_frames, tf.shape(weights)[-1])
    weights = weights[..., tf.newaxis]
    slices = _FRAME_SLICES if compiled else 1
    sums = [
        sum_in_slices(
            lambda w, bytes_: w * dequantize(bytes_), weights, part, axis=-2, slices=slices
        )
        for part in parts
    ]
    count = tf.cast(tf.maximum(num_frames, 1), tf.float32)[..., tf.newaxis]
    return tf.concat(sums, axis=-1) / count


def mean_of_normalized_rows(
    frames: Mapping[str, tf.Tensor], *, names: Sequence[str], row: tf.Tensor, rows: tf.Tensor
) -> tf.Tensor:
    """The same of frames in one list, `[frames of all rows, size] uint8` of each feature.

    `row` [frames of all rows] int64 says whose a frame is, of so many `rows`; a row without frames
    is zeros. Nothing is padded, and bytes are neither scaled nor weighed one by one: lengths are
    taken of `byte + bias / scale`, whose scale cancels out, and a sparse product sums them up.
    """
    parts = [tf.cast(frames[name], tf.float32) + _OFFSET for name in names]
    squared = tf.add_n([tf.square(tf.math.reduce_euclidean_norm(p, axis=-1)) for p in parts])
    weights = tf.math.rsqrt(tf.maximum(squared, _LENGTH_EPSILON))
    count = tf.math.unsorted_segment_sum(tf.ones_like(weights), row, rows)
    number = tf.range(tf.size(weights, tf.int64))
    of_row = tf.SparseTensor(
        tf.stack([row, number], axis=1),
        weights / tf.gather(count, row),
        tf.stack([rows, tf.size(weights, tf.int64)]),
    )
    return tf.concat([tf.sparse.sparse_dense_matmul(of_row, part) for part in parts], axis=-1)


def mean_of_normalized_frames(parts: Sequence[np.ndarray]) -> np.ndarray:
    """`mean_of_normalized_rows` of one video in numpy, `[total] float32`; of no frames, zeros.

    `parts` are `[frames, size] uint8` of each feature, in the order of concatenation. One video's
    numbers stay in a processor's cache.
    """
    shifted = [_shifted(part) for part in parts]
    squared = sum(_squared_lengths(part) for part in shifted)
    weights = 1 / np.sqrt(np.maximum(squared, np.float32(_LENGTH_EPSILON)))
    weights /= np.float32(max(len(weights), 1))
    # Not `weights @ part`, which BLAS shares among threads that wait longer than they work.
    return np.concatenate([np.einsum("f,fn->n", weights, part) for part in shifted])


def frame_mask(num_frames: tf.Tensor, max_frames: tf.Tensor | int) -> tf.Tensor:
    """`[..., max_frames] float32`: 1 for a frame that is there, 0 for padding."""
    return tf.sequence_mask(num_frames, max_frames, dtype=tf.float32)


def _inverse_lengths(
    parts: Sequence[tf.Tensor], read: Callable[[tf.Tensor], tf.Tensor], *, compiled: bool
) -> tf.Tensor:
    """One over the length of the vector that `parts` hold together, of their axes but the last."""
    slices = _VECTOR_SLICES if compiled else 1
    squared = tf.add_n(
        [
            sum_in_slices(lambda p: tf.square(read(p)), part, axis=-1, slices=slices)
            for part in parts
        ]
    )
    return tf.math.rsqrt(tf.maximum(squared, _EPSILON))


def _shifted(part: np.ndarray) -> np.ndarray:
    values = part.astype(np.float32)
    values += np.float32(_OFFSET)
    return values


def _squared_lengths(part: np.ndarray) -> np.ndarray:
    """`[frames] float32`: products of rows, each too short for BLAS to share it."""
    return np.matmul(part[:, np.newaxis, :], part[:, :, np.newaxis])[:, 0, 0]
