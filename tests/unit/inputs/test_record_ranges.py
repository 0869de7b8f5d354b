"""A range of records is read without the others, and a shard that has changed is named."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from records import flip_byte_in_record, make_dataset, read_all, truncate
from sources import FEATURES, SIZES, source_of_files

from yt8m.components.artifacts.record_index import ShardIndex, pack_index
from yt8m.components.inputs.config import Source
from yt8m.components.inputs.record_reader import read_range
from yt8m.schemas.errors import DataError
from yt8m.schemas.features import Level


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    return make_dataset(folder / "data", train=40, eval=4, shards=3, sizes=SIZES)


@pytest.fixture
def source(made: Path, tmp_path: Path) -> Source:
    """A copy, with the index that ExampleGen leaves."""
    data = shutil.copytree(made, tmp_path / "data")
    source = source_of_files(sorted(data.glob("train*")), Level.VIDEO, FEATURES)
    index = {
        shard.uri: ShardIndex(np.array([*map(len, read_all(Path(shard.uri)))], np.uint32))
        for shard in source.shards
    }
    (tmp_path / "index.npz").write_bytes(pack_index(index))
    return replace(source, index=str(tmp_path / "index.npz"))


def read(source: Source, first: int, end: int) -> list[list[bytes]]:
    return [batch.numpy().tolist() for batch in read_range(source, first, end, size=8)]


def test_a_range_has_its_records_in_their_order_and_batches_of_the_size(source: Source) -> None:
    every = [record for shard in source.shards for record in read_all(Path(shard.uri))]
    assert read(source, 10, 40) == [every[10:18], every[18:26], every[26:34], every[34:40]]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda path: flip_byte_in_record(path, 3), "checksums of its records are not those"),
        (lambda path: truncate(path, path.stat().st_size // 2), "is shorter than when"),
        (lambda path: path.unlink(), "a shard is missing"),
    ],
    ids=["damaged", "cut off", "gone"],
)
def test_a_shard_that_changed_since_it_was_indexed_is_named(source: Source, spoil, said) -> None:
    path = Path(source.shards[1].uri)
    spoil(path)
    with pytest.raises(DataError, match=said) as caught:
        read(source, 0, 40)
    assert re.search(re.escape(str(path)), str(caught.value))
