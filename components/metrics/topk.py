"""The k best classes of each video, ties broken by the lowest class index."""

from __future__ import annotations

import numpy as np

_BLOCKS_PER_RANK = 4  # more blocks: a tighter bound, but more maxima to look through
_ROWS = 128  # per call: what is made of them stays in the processor's cache


def top_k(scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores and class ids, both [B, min(k, C)], best first; of equal scores the lower class.

    The choice depends on the video's own scores only, so no order or sharding can change it.
    """
    k = min(k, scores.shape[1])
    starts = range(0, max(len(scores), 1), _ROWS)
    parts = [_top_k(scores[start : start + _ROWS], k) for start in starts]
    values, ids = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return values, ids


def _top_k(scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    rows = len(scores)
    row, ids = places(scores >= _lower_bound(scores, k))
    values = scores[row, ids]
    order = np.lexsort((-values, row))  # stable: equal scores stay in the order of classes
    counts = np.bincount(row, minlength=rows)
    best = order[(np.cumsum(counts) - counts)[:, None] + np.arange(k)]
    return values[best], ids[best]


def places(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns where `mask` [B, C] is true, as np.nonzero gives them.

    On a mask with few true places that takes numpy several times as long in two dimensions.
    """
    flat = np.flatnonzero(mask)
    return np.divmod(flat, mask.shape[1])


def _lower_bound(scores: np.ndarray, k: int) -> np.ndarray:
    """[B, 1]: no more than the k-th best score, and so that few others reach it.

    The k-th best of the maxima of blocks of classes, every `blocks`-th class forming one: a
    partition of all classes costs four times as much at 3,862 classes.
    """
    classes = scores.shape[1]
    blocks = min(classes, k * _BLOCKS_PER_RANK)
    size = classes // blocks
    maxima = scores[:, : blocks * size].reshape(len(scores), size, blocks).max(axis=1)
    return np.partition(maxima, blocks - k, axis=1)[:, blocks - k, None]
