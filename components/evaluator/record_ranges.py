"""Division of the scored records among a Beam runner's workers.

A range begins and ends where a batch does, so that every batch holds the records that it holds
where one worker scores them all: what comes out is equal to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from yt8m.components.artifacts.manifest import Shard
from yt8m.components.inputs.shards import group_shards

_RANGES_A_WORKER = 4  # at least, so that all have about the same to do


@dataclass(frozen=True, kw_only=True)
class RecordRange:
    """Records of some shards that follow one another, by their numbers in these shards."""

    shards: tuple[Shard, ...]
    first: int = 0
    end: int | None = None  # None: to the last, and the shards are read as a whole

    @property
    def records(self) -> int:
        """How many they are."""
        return (_records(self.shards) if self.end is None else self.end) - self.first


def divide_records(
    shards: Sequence[Shard], *, workers: int, batch_size: int
) -> tuple[RecordRange, ...]:
    """All records of `shards`, some ranges for each worker.

    Shards stay whole where there are enough of them, and where one is compressed: of such a one
    all has to be unpacked that is before a record.
    """
    wanted = _RANGES_A_WORKER * workers if workers > 1 else 1
    packed = any(shard.compression for shard in shards)
    groups = group_shards(shards, at_least=wanted if packed else 1)
    if packed or len(groups) >= wanted:
        return tuple(RecordRange(shards=tuple(group)) for group in groups)
    batches = sum(math.ceil(_records(group) / batch_size) for group in groups)
    step = max(1, batches // wanted) * batch_size
    return tuple(
        RecordRange(shards=tuple(group), first=first, end=min(first + step, _records(group)))
        for group in groups
        for first in range(0, _records(group), step)
    )


def _records(shards: Sequence[Shard]) -> int:
    return sum(shard.records for shard in shards)
