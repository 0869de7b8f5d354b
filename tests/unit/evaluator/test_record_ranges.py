"""Ranges of records hold each of them once, begin where batches do, and are enough for all."""

from __future__ import annotations

import pytest

from yt8m.components.artifacts.manifest import Shard
from yt8m.components.evaluator.record_ranges import RecordRange, divide_records


def shards(*records: int, compression: str = "", bytes_each: int = 1 << 20) -> list[Shard]:
    return [
        Shard(
            uri=str(n),
            split="eval",
            records=count,
            bytes=bytes_each,
            digest=str(n),
            compression=compression,
        )
        for n, count in enumerate(records)
    ]


def sizes(ranges: tuple[RecordRange, ...]) -> list[int]:
    return [(one.end or 0) - one.first for one in ranges]


def test_one_worker_reads_whole_shards() -> None:
    found = divide_records(shards(8000), workers=1, batch_size=1024)
    assert found == (RecordRange(shards=tuple(shards(8000))),)


@pytest.mark.parametrize("workers", [2, 3, 16])
@pytest.mark.parametrize("records", [(8000,), (3000, 1, 4999), (100_000,), (5,)])
def test_each_record_is_in_one_range_which_begins_with_a_batch(
    records: tuple[int, ...], workers: int
) -> None:
    ranges = divide_records(shards(*records), workers=workers, batch_size=1024)
    assert [one.first for one in ranges[1:]] == [one.end for one in ranges[:-1]]
    assert (ranges[0].first, ranges[-1].end) == (0, sum(records))
    assert all(one.first % 1024 == 0 for one in ranges)


def test_two_workers_that_take_turns_have_about_the_same_to_do() -> None:
    for records in (8000, 20_000, 40_000, 200_000):
        found = sizes(divide_records(shards(records), workers=2, batch_size=1024))
        assert max(sum(found[::2]), sum(found[1::2])) <= 0.6 * records


def test_batches_begin_anew_where_they_do_for_one_worker() -> None:
    """Groups of shards are read apart: the last batch of each is smaller."""
    large = shards(1500, 1500, bytes_each=64 << 20)
    found = divide_records(large, workers=2, batch_size=1024)
    assert [(one.shards[0].uri, one.first, one.end) for one in found] == [
        ("0", 0, 1024),
        ("0", 1024, 1500),
        ("1", 0, 1024),
        ("1", 1024, 1500),
    ]


def test_shards_stay_whole_where_there_are_enough_or_one_is_compressed() -> None:
    many = divide_records(shards(*[100] * 8, bytes_each=64 << 20), workers=2, batch_size=10)
    packed = divide_records(shards(*[100] * 16, compression="GZIP"), workers=2, batch_size=10)
    assert [(len(one.shards), one.end) for one in many] == [(1, None)] * 8
    assert [(len(one.shards), one.end) for one in packed] == [(2, None)] * 8
