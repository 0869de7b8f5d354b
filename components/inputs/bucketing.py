"""Batches of like length, cut out of a window of rows so that every step keeps its position.

A window holds the rows of N batches, sorts them by length and cuts the sorted rows into N batches
of about the same number of padded frames: longer videos, fewer of them. N batches for N batches'
rows means that step k is still in window k // N, so that a resumed run finds its place.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf


def cut_window(lengths: tf.Tensor, *, batches: int, multiple: int) -> tuple[tf.Tensor, tf.Tensor]:
    """The rows in the order of `lengths` [rows], and the sizes of the batches to cut them into.

    Sizes are multiples of `multiple`, the number of workers, and none is empty.
    """
    order = tf.argsort(lengths, stable=True)
    units = tf.size(lengths) // multiple
    # Length of the longest row in each unit of `multiple` rows: what padding makes of all of them.
    longest = tf.cast(tf.gather(lengths, order)[multiple - 1 :: multiple], tf.float32)
    work = tf.cumsum(longest)
    goals = work[-1] * tf.range(1, batches, dtype=tf.float32) / float(batches)
    cuts = tf.searchsorted(work, goals) + 1
    # At least one unit to each batch, on both sides of every cut.
    number = tf.range(1, batches)
    cuts = tf.maximum(cuts, number)
    cuts = tf.minimum(cuts, units - batches + number)
    edges = tf.concat([[0], cuts, [units]], axis=0)
    return order, (edges[1:] - edges[:-1]) * multiple


def cut_into_batches(
    lengths: np.ndarray, *, batches: int, multiple: int, seed: int, first_position: int
) -> list[np.ndarray]:
    """Which rows of a window with these `lengths` each of its batches holds, batch by batch.

    The batches come in an order that `seed` and the window's first position decide.
    """
    # By TensorFlow, so that trainings of earlier versions are continued to the same batches.
    with tf.init_scope(), tf.device("/cpu:0"):
        order, sizes = cut_window(
            tf.constant(lengths, tf.int32), batches=batches, multiple=multiple
        )
        key = tf.constant([seed, first_position], tf.int64)
        numbers = tf.random.experimental.stateless_shuffle(tf.range(batches), key)
    cut = np.split(order.numpy(), np.cumsum(sizes.numpy())[:-1])
    return [cut[number] for number in numbers.numpy()]
