"""The order in which training sees its rows: a pure function of seed and position.

An epoch permutes the shards and cuts the permutation into blocks of as many shards as the shuffle
may hold in memory, or of all of them where rows are read one by one; rows are shuffled within a
block. So any position is found by arithmetic on the manifest's counts. Positions count rows from
the beginning of training, epoch after epoch; step s has the positions from s times the global batch
on, and a position's place in its batch is its slot.

A block's rows are dealt out slot by slot: each slot gets neighbouring rows, one for each step that
the block reaches, and which step gets which of them is random. So a batch has a row of every part
of the block, and a worker, whose slots are neighbours, has one stretch of the block: its own part
is all that it must read, however many workers there are.

A training that is started again with another global batch keeps the order of the epoch in which it
was interrupted, and with it each row of that epoch once; later epochs have their own.
"""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from yt8m.components.artifacts.manifest import Shard
from yt8m.components.inputs.config import BatchSlice, EpochOrder, ReadingOrder

_MB = 1 << 20
_SHARDS, _ROWS, BATCHES = 1, 2, 3  # what is drawn


class Part(NamedTuple):
    """One worker's part of a block: positions, ascending, and the row at each."""

    positions: np.ndarray  # [any] int64
    rows: np.ndarray  # [any] int64, numbered in the order of the source's shards


class Order(Hashable, Protocol):
    """Blocks of rows, numbered through from the beginning of training."""

    def find(self, position: int) -> tuple[int, int]:
        """The block that holds the row at `position`, and how many of its rows come before."""
        ...

    def span(self, number: int) -> tuple[int, int]:
        """The positions from which and up to which block `number` reaches."""
        ...

    def part(self, number: int, taken: BatchSlice) -> Part:
        """The part of block `number` that belongs to `taken`'s worker."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)  # so that its epochs are found by its identity
class BlockOrder:
    """The same order in every epoch: the rows of a source's shards, and what orders them."""

    rows: tuple[int, ...]
    by: EpochOrder
    fraction: float = 1.0  # of the rows

    @functools.cached_property
    def counts(self) -> tuple[int, ...]:
        """The rows of each shard that are in the order."""
        return take_fraction(self.rows, self.fraction)

    @property
    def seed(self) -> int:
        return self.by.seed

    @property
    def shards_per_block(self) -> int:
        return self.by.shards_per_block

    @property
    def rows_per_epoch(self) -> int:
        return sum(self.counts)

    @property
    def blocks_per_epoch(self) -> int:
        return -(-len(self.rows) // self.shards_per_block)

    def find(self, position: int) -> tuple[int, int]:
        epoch, within = divmod(position, self.rows_per_epoch)
        ends = self._epoch(epoch).block_ends
        block = bisect_right(ends, within)
        before = ends[block - 1] if block else 0
        return epoch * self.blocks_per_epoch + block, within - before

    def span(self, number: int) -> tuple[int, int]:
        epoch, within = divmod(number, self.blocks_per_epoch)
        ends = self._epoch(epoch).block_ends
        start = epoch * self.rows_per_epoch
        return start + (ends[within - 1] if within else 0), start + ends[within]

    def part(self, number: int, taken: BatchSlice) -> Part:
        start, end = self.span(number)
        positions, ranks = self._by_slot(start, end, taken)
        return Part(positions, self._rows_at(number, ranks))

    def _by_slot(self, start: int, end: int, taken: BatchSlice) -> tuple[np.ndarray, np.ndarray]:
        """The worker's positions, and which of the block's rows, as they are stored, each has."""
        size, origin, own = self.by.batch, self.by.origin, taken.slots
        is_own = size == taken.global_batch_size and (taken.origin - origin) % size == 0
        dealt = own if is_own else range(size)
        first_step, last_step = (start - origin) // size, -((origin - end) // size)
        steps = np.arange(first_step, last_step, dtype=np.int64)
        slots = np.arange(dealt.start, dealt.stop, dtype=np.int64)
        positions = (origin + steps[:, np.newaxis] * size + slots).ravel()
        positions = positions[slice(*np.searchsorted(positions, (start, end)))]
        # Slots first, and in each the steps at random: rows are handed out in this order.
        slot_of = (positions - origin) % size
        handed_out = np.lexsort((_random(self.seed, _ROWS, positions), slot_of))
        ranks = np.empty_like(positions)
        first = sum(
            sign * _below_slot(at - origin, size, dealt.start)
            for sign, at in ((1, end), (-1, start))
        )
        ranks[handed_out] = first + np.arange(len(positions))
        if is_own:
            return positions, ranks
        taken_slots = (positions - taken.origin) % taken.global_batch_size
        mine = (taken_slots >= own.start) & (taken_slots < own.stop)
        return positions[mine], ranks[mine]

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
    counts = np.asarray(order.counts, np.int64)[shards]
    base = (np.cumsum(rows) - rows)[shards]
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


@dataclass(frozen=True, kw_only=True)
class ContinuedOrder:
    """One order up to the end of an epoch, and another one after it."""

    current: BlockOrder
    later: BlockOrder
    epoch: int  # the last one of `current`

    def find(self, position: int) -> tuple[int, int]:
        if position < (self.epoch + 1) * self.current.rows_per_epoch:
            return self.current.find(position)
        number, before = self.later.find(position)
        return number + self._shift, before

    def span(self, number: int) -> tuple[int, int]:
        order, own = self._of(number)
        return order.span(own)

    def part(self, number: int, taken: BatchSlice) -> Part:
        order, own = self._of(number)
        return order.part(own, taken)

    def _of(self, number: int) -> tuple[BlockOrder, int]:
        if number < (self.epoch + 1) * self.current.blocks_per_epoch:
            return self.current, number
        return self.later, number - self._shift

    @property
    def _shift(self) -> int:
        """The shift of later blocks' numbers, so that they continue the current ones'."""
        difference = self.current.blocks_per_epoch - self.later.blocks_per_epoch
        return (self.epoch + 1) * difference


def take_fraction(rows: Sequence[int], fraction: float) -> tuple[int, ...]:
    """How many of each shard's rows are taken, so that all are `fraction` of the whole, or one."""
    if fraction == 1:
        return tuple(rows)
    counts = np.diff(np.floor(np.cumsum([0, *rows]) * fraction).astype(np.int64))
    if not counts.sum():
        counts[int(np.argmax(rows))] = 1
    return tuple(counts.tolist())


def create_order(
    shards: Sequence[Shard],
    rows: tuple[int, ...],
    taken: BatchSlice,
    *,
    shuffle_mb: int | None,
    fraction: float = 1.0,
) -> Order:
    """The order that `taken` asks for, or that suits its batches."""
    order = taken.order
    if order is None:
        by = epoch_order(shards, take_fraction(rows, fraction), taken, shuffle_mb=shuffle_mb)
        return BlockOrder(rows=rows, by=by, fraction=fraction)
    current = BlockOrder(rows=rows, by=order.current, fraction=fraction)
    if order.current == order.later:
        return current
    later = BlockOrder(rows=rows, by=order.later, fraction=fraction)
    return ContinuedOrder(current=current, later=later, epoch=order.epoch)


def epoch_order(
    shards: Sequence[Shard], rows: tuple[int, ...], taken: BatchSlice, *, shuffle_mb: int | None
) -> EpochOrder:
    """The order for shards of which `shuffle_mb` megabytes may be in memory; None: any number.

    A block has at least a batch's rows, which are in memory anyway: with many workers each of them
    still reads a batch of its own.
    """
    mean = max(1, sum(shard.bytes for shard in shards) // len(shards))
    per_block = len(shards) if shuffle_mb is None else max(1, shuffle_mb * _MB // mean)
    per_block = max(per_block, -(-taken.global_batch_size * len(rows) // max(1, sum(rows))))
    per_block = min(per_block, len(shards))
    # Blocks of about equal size, so that no epoch ends in a small, badly shuffled one.
    blocks = -(-len(shards) // per_block)
    return EpochOrder(
        seed=taken.seed,
        batch=taken.global_batch_size,
        origin=taken.origin,
        shards_per_block=-(-len(shards) // blocks),
    )


def continue_order(
    suited: EpochOrder,
    before: ReadingOrder | None,
    *,
    position: int,
    rows_per_epoch: int,
    unit: int,
) -> ReadingOrder:
    """The order from `position` on, where `before` reached up to there, and `suited` suits now.

    Batches begin at `position`; where they are as large as before, they stay where they were.
    `unit` is how many of their rows are cut together.
    """
    epoch = position // rows_per_epoch
    if before is None:
        return ReadingOrder(epoch=epoch, current=suited, later=suited)
    is_same = suited.batch == before.later.batch
    later = replace(suited, origin=before.later.origin if is_same else position % unit)
    return ReadingOrder(epoch=epoch, current=before.of(epoch), later=later)
