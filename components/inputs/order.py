"""The order in which training sees its rows: a pure function of seed and position.

An epoch permutes the shards and cuts the permutation into blocks of as many shards as the shuffle
may hold in memory; rows are shuffled within a block. So any position is found by arithmetic on the
manifest's counts. Positions count rows from the beginning of training, epoch after epoch; step s
has the positions from s times the global batch on, and a position's place in its batch is its slot.

A block's rows are dealt out slot by slot: each slot gets neighbouring rows, one for each step that
the block reaches, and which step gets which of them is random. So a batch has a row of every part
of the block, and a worker, whose slots are neighbours, has one stretch of the block: its own part
is all that it must read, however many workers there are.
"""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from yt8m.components.artifacts.manifest import Shard
from yt8m.components.inputs.config import BatchSlice

_MB = 1 << 20
_SHARDS, _ROWS, BATCHES = 1, 2, 3  # what is drawn


class Part(NamedTuple):
    """What one worker has of a block: positions, ascending, and the row at each."""

    positions: np.ndarray  # [any] int64
    rows: np.ndarray  # [any] int64, numbered in the order of the source's shards


@dataclass(frozen=True, kw_only=True, eq=False)  # so that its epochs are found by its identity
class BlockOrder:
    """The numbers of rows of a source's shards, and the seed that orders them."""

    rows: tuple[int, ...]
    seed: int
    shards_per_block: int

    @property
    def rows_per_epoch(self) -> int:
        return sum(self.rows)

    @property
    def blocks_per_epoch(self) -> int:
        return -(-len(self.rows) // self.shards_per_block)

    def find(self, position: int) -> tuple[int, int]:
        """The block that holds the row at `position`, and how many of its rows come before."""
        epoch, within = divmod(position, self.rows_per_epoch)
        ends = self._epoch(epoch).block_ends
        block = bisect_right(ends, within)
        before = ends[block - 1] if block else 0
        return epoch * self.blocks_per_epoch + block, within - before

    def span(self, number: int) -> tuple[int, int]:
        """The positions from which and up to which block `number` reaches."""
        epoch, within = divmod(number, self.blocks_per_epoch)
        ends = self._epoch(epoch).block_ends
        start = epoch * self.rows_per_epoch
        return start + (ends[within - 1] if within else 0), start + ends[within]

    def part(self, number: int, taken: BatchSlice) -> Part:
        """What `taken`'s worker has of block `number`."""
        start, end = self.span(number)
        positions, ranks = self._by_slot(start, end, taken)
        return Part(positions, self._rows_at(number, ranks))

    def _by_slot(self, start: int, end: int, taken: BatchSlice) -> tuple[np.ndarray, np.ndarray]:
        """The worker's positions, and which of the block's rows, as they are stored, each has."""
        size, own = taken.global_batch_size, taken.slots
        steps = np.arange(start // size, -(-end // size), dtype=np.int64)
        slots = np.arange(own.start, own.stop, dtype=np.int64)
        positions = (steps[:, np.newaxis] * size + slots).ravel()
        positions = positions[slice(*np.searchsorted(positions, (start, end)))]
        # Slots first, and in each the steps at random: rows are handed out in this order.
        handed_out = np.lexsort((_random(self.seed, _ROWS, positions), positions % size))
        ranks = np.empty_like(positions)
        first = _below_slot(end, size, own.start) - _below_slot(start, size, own.start)
        ranks[handed_out] = first + np.arange(len(positions))
        return positions, ranks

    def _rows_at(self, number: int, ranks: np.ndarray) -> np.ndarray:
        """The rows at `ranks` of a block's shards, one after the other."""
        number, within = divmod(number, self.blocks_per_epoch)
        epoch = self._epoch(number)
        block = slice(within * self.shards_per_block, (within + 1) * self.shards_per_block)
        counts, base = epoch.counts[block], epoch.base[block]
        ends = np.cumsum(counts)
        at = np.searchsorted(ends, ranks, side="right")
        return np.asarray(base[at] + ranks - (ends - counts)[at])

    def _epoch(self, number: int) -> _Epoch:
        return _epoch(self, number)


class _Epoch(NamedTuple):
    """The permuted shards of an epoch."""

    counts: np.ndarray  # [shards] int64, rows of each
    base: np.ndarray  # [shards] int64, number of each one's first row
    block_ends: list[int]  # rows up to the end of each block


@functools.lru_cache(maxsize=16)
def _epoch(order: BlockOrder, number: int) -> _Epoch:
    rows = np.asarray(order.rows, np.int64)
    shards = permutation(order.seed, _SHARDS, number, len(rows))
    counts, base = rows[shards], (np.cumsum(rows) - rows)[shards]
    starts = np.arange(0, len(rows), order.shards_per_block)
    return _Epoch(counts, base, np.cumsum(np.add.reduceat(counts, starts)).tolist())


def permutation(seed: int, what: int, number: int, count: int) -> np.ndarray:
    """The `number`th permutation of `count` things of the kind `what`."""
    drawn = _random(seed, what, (np.int64(number) << 32) + np.arange(count, dtype=np.int64))
    return np.argsort(drawn, kind="stable")


def _random(seed: int, what: int, numbers: np.ndarray) -> np.ndarray:
    """A random uint64 for each number: SplitMix64, which no version of a library changes."""
    return _mix(numbers.astype(np.uint64) + _key(seed, what))


@functools.lru_cache(maxsize=16)
def _key(seed: int, what: int) -> np.ndarray:
    return _mix(_mix(np.array([seed & (1 << 64) - 1], np.uint64)) + np.uint64(what))


def _mix(values: np.ndarray) -> np.ndarray:
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(values ^ (values >> np.uint64(31)))


def _below_slot(end: int, size: int, slot: int) -> int:
    """Of the positions before `end`, those whose slot is below `slot`."""
    whole, rest = divmod(end, size)
    return whole * slot + min(rest, slot)


def create_order(
    shards: Sequence[Shard], rows: tuple[int, ...], taken: BatchSlice, *, shuffle_mb: int
) -> BlockOrder:
    """The order for shards of which `shuffle_mb` megabytes may be in memory.

    A block has at least a batch's rows, which are in memory anyway: with many workers each of them
    still reads a batch of its own at once.
    """
    mean = max(1, sum(shard.bytes for shard in shards) // len(shards))
    per_block = max(1, shuffle_mb * _MB // mean)
    per_block = max(per_block, -(-taken.global_batch_size * len(rows) // max(1, sum(rows))))
    per_block = min(per_block, len(shards))
    # Blocks of about equal size, so that no epoch ends in a small, badly shuffled one.
    blocks = -(-len(shards) // per_block)
    return BlockOrder(
        rows=rows,
        seed=taken.seed,
        shards_per_block=-(-len(shards) // blocks),
    )
