"""The order in which training sees its rows: a pure function of seed and position.

An epoch permutes the shards and cuts the permutation into blocks of as many shards as the shuffle
may hold in memory; rows are shuffled within a block. So any position is found by arithmetic on the
manifest's counts: at most one block is read to get there. Positions count rows from the beginning
of training, epoch after epoch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from yt8m.components.artifacts.manifest import Shard
from yt8m.components.inputs.shards import read_shards

_ENDLESS = np.iinfo(np.int64).max
_MB = 1 << 20

# A dataset of records into one of rows.
Expand = Callable[[tf.data.Dataset], tf.data.Dataset]


@dataclass(frozen=True, kw_only=True)
class BlockOrder:
    """Shards with their numbers of rows, and the seed that orders them."""

    shards: tuple[Shard, ...]
    rows: tuple[int, ...]
    seed: int
    shards_per_block: int

    @property
    def rows_per_epoch(self) -> int:
        return sum(self.rows)

    @property
    def blocks_per_epoch(self) -> int:
        return -(-len(self.shards) // self.shards_per_block)

    def find(self, position: int) -> tuple[int, int]:
        """The block that holds the row at `position`, and how many of its rows come before."""
        epoch, within = divmod(position, self.rows_per_epoch)
        with tf.init_scope():  # a number is needed, also while a dataset function is traced
            shards = self._permutation(tf.constant(epoch, tf.int64)).numpy()
        rows = np.asarray(self.rows)[shards]
        starts = np.arange(0, len(shards), self.shards_per_block)
        ends = np.cumsum(np.add.reduceat(rows, starts))
        block = int(np.searchsorted(ends, within, side="right"))
        before = int(ends[block - 1]) if block else 0
        return epoch * self.blocks_per_epoch + block, within - before

    def block(self, number: tf.Tensor, expand: Expand) -> tf.data.Dataset:
        """The rows of one block, shuffled; an error if they are not as many as expected."""
        epoch, within = number // self.blocks_per_epoch, number % self.blocks_per_epoch
        first = within * self.shards_per_block
        shards = self._permutation(epoch)[first : first + self.shards_per_block]
        count = tf.reduce_sum(tf.gather(tf.constant(self.rows, tf.int64), shards))
        rows = expand(read_shards(self.shards, shards))
        rows = rows.apply(tf.data.experimental.assert_cardinality(count))
        seed = tf.random.stateless_uniform(
            [], [self.seed, number], minval=None, maxval=None, dtype=tf.int64
        )
        return rows.shuffle(count, seed=seed, reshuffle_each_iteration=False)

    def _permutation(self, epoch: tf.Tensor) -> tf.Tensor:
        seed = tf.stack([tf.constant(self.seed, tf.int64), epoch])
        numbers = tf.range(len(self.shards), dtype=tf.int64)
        return tf.random.experimental.stateless_shuffle(numbers, seed)


def create_order(
    shards: tuple[Shard, ...], rows: tuple[int, ...], *, seed: int, shuffle_mb: int
) -> BlockOrder:
    """The order for shards of which `shuffle_mb` megabytes may be in memory."""
    mean = max(1, sum(shard.bytes for shard in shards) // len(shards))
    per_block = min(max(1, shuffle_mb * _MB // mean), len(shards))
    # Blocks of about equal size, so that no epoch ends in a small, badly shuffled one.
    blocks = -(-len(shards) // per_block)
    return BlockOrder(
        shards=shards, rows=rows, seed=seed, shards_per_block=-(-len(shards) // blocks)
    )


def ordered_rows(order: BlockOrder, *, start: int, expand: Expand) -> tf.data.Dataset:
    """Rows from position `start` on, without end."""
    block, skip = order.find(start)
    numbers = tf.data.Dataset.range(block, _ENDLESS)
    rows = numbers.flat_map(lambda number: order.block(number, expand))
    return rows.skip(skip)
