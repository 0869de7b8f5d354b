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
    # A size that is known makes a smaller graph, sooner put together.
    size = arrays[0].shape[axis] or tf.shape(arrays[0])[axis]
    width = size // slices

    def cut(begin: tf.Tensor | int, end: tf.Tensor | int) -> tf.Tensor:
        place = (..., slice(begin, end), *[slice(None)] * (-axis - 1))
        return term(*(array[place] for array in arrays))

    added = functools.reduce(operator.add, [cut(i * width, (i + 1) * width) for i in range(slices)])
    total = tf.reduce_sum(added, axis=axis)
    return total if slices == 1 else total + tf.reduce_sum(cut(slices * width, size), axis=axis)
