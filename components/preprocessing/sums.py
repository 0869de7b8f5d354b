"""Sums that XLA takes while it makes what is added."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable

import tensorflow as tf


def sum_in_slices(
    term: Callable[..., tf.Tensor], *arrays: tf.Tensor, axis: int, slices: int
) -> tf.Tensor:
    """`tf.reduce_sum(term(*arrays), axis)`, with one slice of `arrays` after the other added.

    On a processor XLA stores all that a reduction reads, and adds it up on one core; additions
    it takes while it makes the numbers. TensorFlow itself is quicker with one slice. `axis` is
    negative, and `term` goes element by element.
    """
    if slices == 1:
        return tf.reduce_sum(term(*arrays), axis=axis)
    size = arrays[0].shape[axis]
    if size is None:
        size = tf.shape(arrays[0])[axis]
    widths = [size // slices] * slices + [size % slices]
    # One split instead of many slices: tracing takes its time for every operation.
    parts = zip(*(tf.split(array, widths, axis=axis) for array in arrays), strict=True)
    *equal, rest = [term(*part) for part in parts]
    added = functools.reduce(operator.add, equal)
    return tf.reduce_sum(added, axis=axis) + tf.reduce_sum(rest, axis=axis)
