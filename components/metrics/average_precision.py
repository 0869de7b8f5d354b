"""Average precision of pools of (score, hit) pairs, many pools together, in bounded memory.

Pairs of equal score have no order of their own. Each pool's value is the mean over all orders of
its tied pairs: the only value that neither order nor sharding of the data can change, and what
shuffling (as Google's code does) gives on average.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

PAIRS_AT_ONCE = 1 << 18  # about 100 bytes of temporaries each


@dataclass(frozen=True, kw_only=True, eq=False)
class Pairs:
    """Scored classes of videos, as flat columns of equal length."""

    scores: np.ndarray
    hits: np.ndarray  # bool
    pools: np.ndarray | None = None  # which pool a pair belongs to; one pool where absent

    def __len__(self) -> int:
        return len(self.scores)


@dataclass(frozen=True, kw_only=True)
class RankedAbove:
    """Pairs that rank above all pairs at hand: their number, and that of the hits among them."""

    count: int = 0
    hits: int = 0


def precision_sums(
    pairs: Pairs, *, ahead: RankedAbove | None = None, depth: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Pool ids, and for each the sum over hits of the precision at the hit's rank.

    Only the first `depth` ranks count, where given. Divide by the positives for the average.
    """
    ahead = ahead or RankedAbove()
    if not len(pairs):
        return np.empty(0, np.int64), np.empty(0)
    ties = _ties(pairs)
    per_tie = _within_ties(ties, ahead, depth)
    heads = np.flatnonzero(np.diff(ties.pool, prepend=ties.pool[0] - 1))
    return ties.pool[heads], np.add.reduceat(per_tie, heads)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Ties:
    """Groups of equal score in one pool, best first within each pool; columns by group."""

    pool: np.ndarray
    size: np.ndarray
    hits: np.ndarray
    count_ahead: np.ndarray  # of the pool's better pairs
    hits_ahead: np.ndarray


def _ties(pairs: Pairs) -> _Ties:
    pools = np.zeros(len(pairs), np.int64) if pairs.pools is None else pairs.pools
    keys = [-pairs.scores]
    if pairs.pools is not None:
        keys.append(pools)
    order = np.lexsort(keys) if len(keys) > 1 else np.argsort(keys[0])
    pool, score, hit = pools[order], pairs.scores[order], pairs.hits[order]
    new = np.ones(len(pairs), bool)
    new[1:] = (score[1:] != score[:-1]) | (pool[1:] != pool[:-1])
    starts = np.flatnonzero(new)
    size = np.diff(starts, append=len(pairs))
    tie_pool = pool[starts]
    tie_hits = np.add.reduceat(hit.astype(np.float64), starts)
    return _Ties(
        pool=tie_pool,
        size=size,
        hits=tie_hits,
        count_ahead=_before(size, tie_pool),
        hits_ahead=_before(tie_hits, tie_pool),
    )


def _before(values: np.ndarray, pool: np.ndarray) -> np.ndarray:
    """Running sum of what comes before each value in its own pool."""
    running = np.cumsum(values) - values
    first = np.flatnonzero(np.diff(pool, prepend=pool[0] - 1))
    lengths = np.diff(first, append=len(pool))
    return running - np.repeat(running[first], lengths)


def _within_ties(ties: _Ties, ahead: RankedAbove, depth: int | None) -> np.ndarray:
    """Each tie's share of its pool's sum: the mean over all orders of its pairs.

    The pair at place i of g, with h hits among them, is a hit with chance h/g; then it has on
    average (i-1)(h-1)/(g-1) hits before it in the tie.
    """
    result = np.zeros(len(ties.size))
    chosen = np.flatnonzero(ties.hits > 0)
    if not chosen.size:
        return result
    size = ties.size[chosen]
    ends = np.cumsum(size)
    tie = np.repeat(np.arange(len(chosen)), size)  # the tie of each pair
    place = np.arange(ends[-1]) - (ends - size)[tie]  # 0-based, within the tie
    hits = ties.hits[chosen]
    among = (hits - 1) / np.maximum(size - 1, 1)
    good = ahead.hits + ties.hits_ahead[chosen][tie] + (1 + place * among[tie])
    seen = ahead.count + ties.count_ahead[chosen][tie] + place + 1
    share = (hits / size)[tie] * good / seen
    if depth is not None:
        share[seen > depth] = 0.0
    result[chosen] = np.add.reduceat(share, ends - size)
    return result


def score_ranges(scores: np.ndarray) -> Iterator[tuple[float, float]]:
    """Ranges (low, high] of about PAIRS_AT_ONCE scores each, the best first.

    The borders are order statistics, so they do not depend on the order of the data, and equal
    scores are never parted.
    """
    flat = scores.ravel()
    parts = -(-flat.size // PAIRS_AT_ONCE)
    borders = np.empty(0)
    if parts > 1:
        ranks = np.arange(1, parts) * PAIRS_AT_ONCE
        borders = np.unique(np.partition(flat, flat.size - ranks)[flat.size - ranks])
    edges = [-np.inf, *borders.tolist(), np.inf]
    yield from zip(reversed(edges[:-1]), reversed(edges[1:]), strict=True)
