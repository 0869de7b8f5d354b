"""Dequantise and L2-normalise: the one place for it, called by Transform and by the networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import tensorflow as tf

from yt8m.schemas.features import DEQUANTISE_BIAS, DEQUANTISE_SCALE, Level

# Below this squared length a vector counts as zero and stays zero.
_EPSILON = 1e-12


def dequantize(values: tf.Tensor) -> tf.Tensor:
    """The numbers that stored bytes stand for: uint8 of any shape, to float32 in [-2, 2]."""
    return tf.cast(values, tf.float32) * DEQUANTISE_SCALE + DEQUANTISE_BIAS


def l2_normalize(vectors: tf.Tensor) -> tf.Tensor:
    """Each vector (last axis) at length 1; zero vectors stay zero."""
    squared = tf.reduce_sum(tf.square(vectors), axis=-1, keepdims=True)
    return vectors * tf.math.rsqrt(tf.maximum(squared, _EPSILON))


def normalize(
    features: Mapping[str, tf.Tensor],
    *,
    names: Sequence[str],
    level: Level,
    num_frames: tf.Tensor | None = None,
) -> tf.Tensor:
    """The features named in `names`, concatenated in that order and L2-normalised together.

    Video level: `[..., size] float32` each, to `[..., total] float32`. The other two levels:
    `[..., frames, size] uint8` each, dequantised, and normalised frame by frame. Where
    `num_frames` (int, one axis less than a frame's index) is given, frames from there on are
    padding and become zeros; without it every frame counts.
    """
    parts = [features[name] for name in names]
    if level.is_sequence:
        parts = [dequantize(part) for part in parts]
    joined = parts[0] if len(parts) == 1 else tf.concat(parts, axis=-1)
    if level.is_sequence and num_frames is not None:
        joined *= frame_mask(num_frames, tf.shape(joined)[-2])[..., tf.newaxis]
    return l2_normalize(joined)


def mean_of_normalized(
    features: Mapping[str, tf.Tensor], *, names: Sequence[str], num_frames: tf.Tensor
) -> tf.Tensor:
    """The mean of `normalize`d frames, `[..., total] float32`, without making each of them.

    A model that sees a video as one vector needs no frame at its normalised numbers: each is
    weighed by its length while they are summed, feature by feature.
    """
    parts = [dequantize(features[name]) for name in names]
    squared = tf.add_n([tf.reduce_sum(tf.square(part), axis=-1) for part in parts])
    weights = tf.math.rsqrt(tf.maximum(squared, _EPSILON))
    weights *= frame_mask(num_frames, tf.shape(squared)[-1])
    sums = [tf.einsum("...f,...fd->...d", weights, part) for part in parts]
    count = tf.cast(tf.maximum(num_frames, 1), tf.float32)[..., tf.newaxis]
    return tf.concat(sums, axis=-1) / count


def frame_mask(num_frames: tf.Tensor, max_frames: tf.Tensor | int) -> tf.Tensor:
    """`[..., max_frames] float32`: 1 for a frame that is there, 0 for padding."""
    return tf.sequence_mask(num_frames, max_frames, dtype=tf.float32)
