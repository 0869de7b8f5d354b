"""Records read by their numbers, together and one by one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from records import flip_byte, flip_byte_in_record, read_all, record_offsets, truncate
from sources import make_source

from yt8m.components.inputs.config import Source
from yt8m.components.inputs.faults import ChangedShard
from yt8m.components.inputs.record_index import index_of
from yt8m.components.inputs.record_reader import RecordReader
from yt8m.schemas.features import Level

Read = Callable[[RecordReader, np.ndarray], list[bytes]]
WAYS: dict[str, Read] = {
    "together": lambda reader, numbers: reader.read(numbers),
    "one by one": lambda reader, numbers: list(map(bytes, reader.read_one_by_one(numbers))),
}


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return make_source(tmp_path, Level.FRAME)


@pytest.fixture
def reader(source: Source) -> RecordReader:
    return RecordReader(source, index_of(source), whole_shards=False)


@pytest.mark.parametrize("way", WAYS)
def test_records_are_those_of_the_shards(way: str, source: Source, reader: RecordReader) -> None:
    stored = [record for shard in source.shards for record in read_all(Path(shard.uri))]
    numbers = np.array([3, 4, 5, 9, 10, 49])
    reader.announce(numbers)
    assert WAYS[way](reader, numbers) == [stored[number] for number in numbers]


@pytest.mark.parametrize("way", WAYS)
def test_no_numbers_have_no_records(way: str, reader: RecordReader) -> None:
    none = np.array([], np.int64)
    reader.announce(none)
    assert WAYS[way](reader, none) == []


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda path: flip_byte_in_record(path, 2), "checksums of its records are not those"),
        (lambda path: flip_byte(path, record_offsets(path)[2] + 1), "lengths of its records"),
        (lambda path: truncate(path, -1), "is shorter than when it was indexed"),
    ],
    ids=["content", "length", "end"],
)
def test_a_shard_that_has_changed_is_named(
    change: Callable[[Path], None], found: str, way: str, source: Source, reader: RecordReader
) -> None:
    shard = source.shards[1]
    change(Path(shard.uri))
    with pytest.raises(ChangedShard, match=f"{shard.uri}:? {found}"):
        WAYS[way](reader, np.arange(10, 20))
