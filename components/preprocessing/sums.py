"""Sums and maxima that XLA takes while it makes what they are of."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Sequence

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
    *equal, rest = [term(*part) for part in _parts(arrays, axis, slices)]
    added = functools.reduce(operator.add, equal)
    return tf.reduce_sum(added, axis=axis) + tf.reduce_sum(rest, axis=axis)


def max_in_slices(
    term: Callable[..., tf.Tensor], *arrays: tf.Tensor, axis: int, slices: int
) -> tf.Tensor:
    """`tf.reduce_max(term(*arrays), axis)`, slice by slice as in `sum_in_slices`."""
    *equal, rest = [term(*part) for part in _parts(arrays, axis, slices)]
    greatest = functools.reduce(tf.maximum, equal)
    return tf.maximum(tf.reduce_max(greatest, axis=axis), tf.reduce_max(rest, axis=axis))


def _parts(arrays: Sequence[tf.Tensor], axis: int, slices: int) -> Iterable[tuple[tf.Tensor, ...]]:
    """So many equal parts, and what is left."""
    size = arrays[0].shape[axis]
    if size is None:
        size = tf.shape(arrays[0])[axis]
    widths = [size // slices] * slices + [size % slices]
    # One split instead of many slices: tracing takes its time for every operation.
    return zip(*(tf.split(array, widths, axis=axis) for array in arrays), strict=True)
