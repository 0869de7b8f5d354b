"""Means of frames: the same bits from records and from the cache, and those of the definition."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from records import edit_record, set_feature
from sources import FEATURES, SIZES, Row, assert_same, batches, gzipped, make_source

from yt8m.components.inputs import frame_cache
from yt8m.components.inputs.config import BatchSlice, InputConfig, Source
from yt8m.components.inputs.dataset import dataset_for_training
from yt8m.components.inputs.frame_cache import FrameCache
from yt8m.components.inputs.record_index import index_of
from yt8m.components.inputs.record_reader import RecordReader
from yt8m.components.preprocessing.arithmetic import mean_of_normalized
from yt8m.components.storage.cache import CacheDirectory
from yt8m.schemas.features import Level

WHOLE = BatchSlice(global_batch_size=8, seed=5)


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where caches lie that are given no directory."""
    path = tmp_path / "cache"
    monkeypatch.setattr(frame_cache, "CacheDirectory", lambda: CacheDirectory(path))
    return path


def read(source: Source, *, cache: bool, config: InputConfig | None = None) -> list[Row]:
    """Nearly three epochs."""
    return batches(dataset_for_training(source, WHOLE, cache=cache, config=config), 18)


def averaged(source: Source) -> Source:
    return dataclasses.replace(source, averaged=True)


def packed_of(source: Source, directory: Path) -> list[bool]:
    cache = FrameCache(source, index_of(source), CacheDirectory(directory))
    return cache.has(np.arange(50)).tolist()


def test_means_are_those_of_the_frames_and_all_else_is_the_same(tmp_path: Path) -> None:
    source = make_source(tmp_path / "data", Level.FRAME)
    for frames, means in zip(
        read(source, cache=False), read(averaged(source), cache=False), strict=True
    ):
        wanted = mean_of_normalized(frames, names=list(SIZES), num_frames=frames["num_frames"])
        np.testing.assert_allclose(means.pop("mean_frames"), wanted, rtol=0, atol=1e-6)
        assert means.keys() == frames.keys() - {*SIZES, "num_frames"}
        for name, values in means.items():
            np.testing.assert_array_equal(values, frames[name])


def test_only_the_first_frames_count_where_the_configuration_says_so(tmp_path: Path) -> None:
    source = make_source(tmp_path / "data", Level.FRAME)
    few = dataclasses.replace(source, features=dataclasses.replace(FEATURES, max_frames=3))
    frames, means = read(few, cache=False)[0], read(averaged(few), cache=False)[0]
    assert frames["rgb"].shape[1] == 3
    wanted = mean_of_normalized(frames, names=list(SIZES), num_frames=frames["num_frames"])
    np.testing.assert_allclose(means["mean_frames"], wanted, rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", ["plain", "gzip", "block by block"])
def test_means_have_the_same_bits_while_packing_and_afterwards(
    tmp_path: Path, directory: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = averaged(make_source(tmp_path / "data", Level.FRAME))
    if kind == "gzip":
        source = gzipped(source)
    config = InputConfig(shuffle_mb=1) if kind == "block by block" else None
    without = read(source, cache=False, config=config)
    assert_same(read(source, cache=True, config=config), without)
    assert all(packed_of(source, directory))
    asked: list[int] = []  # of the records themselves
    monkeypatch.setattr(RecordReader, "read", lambda _, numbers: asked.extend(numbers) or [])
    monkeypatch.setattr(RecordReader, "read_one_by_one", RecordReader.read)
    assert_same(read(source, cache=True, config=config), without)
    assert asked == []


def test_a_file_of_means_is_small_and_no_file_of_frames(tmp_path: Path, directory: Path) -> None:
    source = make_source(tmp_path / "data", Level.FRAME)
    read(averaged(source), cache=True)
    files = list(directory.glob("[!.]*"))
    assert {path.suffix for path in files} == {".means"}
    assert sum(path.stat().st_size for path in files) == 50 * (24 * 4 + 4 + 256 + 16)
    assert not any(packed_of(source, directory))
    few = dataclasses.replace(source, features=dataclasses.replace(FEATURES, max_frames=3))
    assert not any(packed_of(averaged(few), directory))


def test_a_record_with_many_labels_is_read_each_time_and_others_are_whole(
    tmp_path: Path, directory: Path
) -> None:
    made = make_source(tmp_path / "data", Level.FRAME, shards=1)
    path = Path(made.shards[0].uri)
    edit_record(path, 7, set_feature("labels", list(range(200))))
    shard = dataclasses.replace(made.shards[0], bytes=path.stat().st_size, digest="changed")
    source = averaged(dataclasses.replace(made, shards=(shard,)))
    without = read(source, cache=False)
    assert max(batch["labels"].shape[1] for batch in without) >= 200
    for _ in range(2):
        assert_same(read(source, cache=True), without)
    assert packed_of(source, directory) == [number != 7 for number in range(50)]


def test_damaged_means_are_noticed_and_packed_anew(tmp_path: Path, directory: Path) -> None:
    source = averaged(make_source(tmp_path / "data", Level.FRAME))
    without = read(source, cache=True)
    path = next(path for path in directory.iterdir() if "train0002" in path.name)
    data = bytearray(path.read_bytes())
    data[30] ^= 1
    path.write_bytes(data)
    assert_same(read(source, cache=True), without)
    assert path.read_bytes() != bytes(data)
    assert_same(read(source, cache=True), without)
