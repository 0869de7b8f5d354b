"""Batches of similar length, from a window of rows, so that every step keeps its position.

A window holds the rows of N batches, sorts them by length and cuts the sorted rows into N batches
of about the same number of padded frames: longer videos, fewer of them. N batches for N batches'
rows means that step k is still in window k // N, so that a resumed run finds its place.
"""

from __future__ import annotations

import numpy as np

from yt8m.components.inputs.order import BATCHES, permutation


def cut_window(
    lengths: np.ndarray, *, batches: int, multiple: int
) -> tuple[np.ndarray, np.ndarray]:
    """The rows in the order of `lengths` [rows], and where to cut them into batches.

    Sizes are multiples of `multiple`, the number of workers, and none is empty.
    """
    order = np.argsort(lengths, kind="stable")
    units = len(lengths) // multiple
    # Length of the longest row in each unit of `multiple` rows: what padding makes of all of them.
    longest = lengths[order[multiple - 1 :: multiple]].astype(np.int64)
    work = np.cumsum(longest)
    number = np.arange(1, batches)
    goals = work[-1] * number / batches
    cuts = np.searchsorted(work, goals) + 1
    # At least one unit to each batch, on both sides of every cut.
    cuts = np.minimum(np.maximum(cuts, number), units - batches + number)
    return order, cuts * multiple


def cut_into_batches(
    lengths: np.ndarray, *, batches: int, multiple: int, seed: int, first_position: int
) -> list[np.ndarray]:
    """Which rows of a window with these `lengths` each of its batches holds, batch by batch.

    The batches come in an order that `seed` and the window's first position decide.
    """
    order, cuts = cut_window(lengths, batches=batches, multiple=multiple)
    cut = np.split(order, cuts)
    return [cut[number] for number in permutation(seed, BATCHES, first_position, batches).tolist()]
