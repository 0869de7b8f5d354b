"""The cache of frames gives what the records give, and lets them be read where it cannot."""

from __future__ import annotations

import dataclasses
import logging
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from records import compress, read_all
from sources import SIZES, assert_same, batches, make_source

from yt8m.components.inputs import frame_cache
from yt8m.components.inputs.config import (
    BatchSlice,
    FrameChoice,
    FrameSampling,
    InputConfig,
    Source,
)
from yt8m.components.inputs.dataset import dataset_for_training
from yt8m.components.inputs.frame_cache import FrameCache
from yt8m.components.inputs.packed_frames import DamagedPack, PackedShard, PackWriter
from yt8m.components.inputs.record_index import index_of
from yt8m.components.records.decode import Record, decode_record
from yt8m.components.storage.cache import CacheDirectory
from yt8m.schemas.features import Level

RECORDS = 50
WHOLE = BatchSlice(global_batch_size=8, seed=5)
RANDOM = FrameSampling(choice=FrameChoice.RANDOM_FRAMES, frames=4)


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where caches lie that are given no directory."""
    path = tmp_path / "cache"
    monkeypatch.setattr(frame_cache, "CacheDirectory", lambda: CacheDirectory(path))
    return path


def cache_of(source: Source, directory: CacheDirectory, taken: BatchSlice = WHOLE) -> FrameCache:
    return FrameCache(source, index_of(source), taken, directory)


def filled(source: Source, directory: CacheDirectory) -> FrameCache:
    cache = cache_of(source, directory)
    cache.advance(RECORDS + 10)
    return cache


def packed_of(cache: FrameCache) -> list[bool]:
    return cache.has(np.arange(RECORDS)).tolist()


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.mark.parametrize("level", [Level.FRAME, Level.SEGMENT], ids=lambda level: level.value)
def test_packed_records_are_those_of_the_shards(tmp_path: Path, level: Level) -> None:
    source = make_source(tmp_path / "data", level)
    cache = filled(source, CacheDirectory(tmp_path / "cache"))
    records = [record for shard in source.shards for record in read_all(Path(shard.uri))]
    for number, data in enumerate(records):
        packed, record = cache.record(number), decode_record(data)
        assert packed is not None
        for name in SIZES:
            np.testing.assert_array_equal(packed.feature_lists[name], record.feature_lists[name])
        numbers = {k: v for k, v in record.features.items() if isinstance(v, np.ndarray)}
        for name, values in numbers.items():
            np.testing.assert_array_equal(packed.features[name], values)


@pytest.mark.parametrize("kind", ["plain", "gzip", "block by block"])
@pytest.mark.parametrize("level", [Level.FRAME, Level.SEGMENT], ids=lambda level: level.value)
@pytest.mark.parametrize("sampling", [None, RANDOM], ids=["whole", "random frames"])
def test_batches_are_the_same_while_packing_and_afterwards(
    tmp_path: Path, directory: Path, level: Level, sampling: FrameSampling | None, kind: str
) -> None:
    source = make_source(tmp_path / "data", level)
    if kind == "gzip":
        for shard in source.shards:
            compress(Path(shard.uri))
        shards = tuple(dataclasses.replace(s, compression="GZIP") for s in source.shards)
        source = dataclasses.replace(source, shards=shards)
    config = InputConfig(shuffle_mb=1) if kind == "block by block" else None

    def read(*, cache: bool) -> list[dict[str, np.ndarray]]:
        stream = dataset_for_training(source, WHOLE, sampling=sampling, config=config, cache=cache)
        return batches(stream, 20)

    without = read(cache=False)
    assert_same(read(cache=True), without)
    assert len(names(directory)) == len(source.shards)
    assert_same(read(cache=True), without)


def test_a_later_training_packs_new_shards_alone(tmp_path: Path) -> None:
    directory = CacheDirectory(tmp_path / "cache")
    source = make_source(tmp_path / "data", Level.FRAME)
    first = dataclasses.replace(source, shards=source.shards[:3])
    cache_of(first, directory).advance(RECORDS)
    times = {p.name: p.stat().st_ino for p in directory.path.iterdir()}
    later = cache_of(source, directory)
    assert packed_of(later) == [True] * 30 + [False] * 20
    later.advance(RECORDS)
    assert packed_of(later) == [True] * 50
    kept = {p.name: p.stat().st_ino for p in directory.path.iterdir()}
    assert len(kept) == 5
    assert times.items() <= kept.items()


def test_an_epoch_packs_what_it_reads(tmp_path: Path) -> None:
    cache = cache_of(make_source(tmp_path / "data", Level.FRAME), CacheDirectory(tmp_path / "c"))
    cache.advance(25)
    assert 10 <= sum(packed_of(cache)) <= 20
    cache.advance(25 + 5)  # a shard is there after its last record
    assert all(packed_of(cache))


def test_a_shard_of_other_content_is_packed_anew(tmp_path: Path) -> None:
    directory = CacheDirectory(tmp_path / "cache")
    source = make_source(tmp_path / "data", Level.FRAME)
    filled(source, directory)
    changed = tuple(dataclasses.replace(s, digest=f"{s.digest}x") for s in source.shards[:1])
    other = dataclasses.replace(source, shards=changed + source.shards[1:])
    assert packed_of(cache_of(other, directory)) == [False] * 10 + [True] * 40


def test_without_digests_of_records_the_address_counts_too(tmp_path: Path) -> None:
    directory = CacheDirectory(tmp_path / "cache")
    source = make_source(tmp_path / "data", Level.FRAME)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    moved = tuple(
        dataclasses.replace(s, uri=str(elsewhere / Path(s.uri).name)) for s in source.shards
    )
    for old, new in zip(source.shards, moved, strict=True):
        os.link(old.uri, new.uri)
    filled(source, directory)
    assert not any(packed_of(cache_of(dataclasses.replace(source, shards=moved), directory)))
    known = dataclasses.replace(source, digests_known=True)
    filled(known, directory)
    assert all(packed_of(cache_of(dataclasses.replace(known, shards=moved), directory)))


@pytest.mark.parametrize("where", ["frames", "table", "end"])
def test_a_damaged_file_is_removed_and_its_records_are_read(
    tmp_path: Path, directory: Path, where: str, caplog: pytest.LogCaptureFixture
) -> None:
    source = make_source(tmp_path / "data", Level.FRAME)
    without = batches(dataset_for_training(source, WHOLE), 20)
    filled(source, CacheDirectory(directory))
    path = next(path for path in directory.iterdir() if "train0002" in path.name)
    data = bytearray(path.read_bytes())
    if where == "end":
        del data[-3:]
    else:
        data[100 if where == "frames" else -100] ^= 1
    path.write_bytes(data)
    caplog.set_level(logging.WARNING)
    assert_same(batches(dataset_for_training(source, WHOLE, cache=True), 20), without)
    assert f"{path.name}" in caplog.text
    assert "removed from the cache" in caplog.text


@pytest.mark.parametrize("size", [0, 1, 100])
def test_a_file_of_another_kind_is_damaged(tmp_path: Path, size: int) -> None:
    path = tmp_path / "x.frames"
    path.write_bytes(b"\1" * size)
    with pytest.raises(DamagedPack, match=r"x\.frames"):
        PackedShard(path, SIZES)


def test_what_the_budget_has_no_room_for_is_read_from_the_records(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = make_source(tmp_path / "data", Level.FRAME)
    sizes = [int(index_of(source).lengths[n * 10 : n * 10 + 10].sum()) for n in range(5)]
    caplog.set_level(logging.INFO)
    cache = filled(source, CacheDirectory(tmp_path / "cache", max_bytes=sum(sizes[:2]) + 200))
    assert 1 <= sum(packed_of(cache)) // 10 <= 3
    assert "no more room in the cache of frames" in caplog.text
    assert cache.record(RECORDS - 1) is None


def test_files_of_others_go_first(tmp_path: Path) -> None:
    directory = CacheDirectory(tmp_path / "cache", max_bytes=100_000)
    (tmp_path / "cache").mkdir()
    old = tmp_path / "cache" / "copy-of-a-remote-shard"
    old.write_bytes(b"x" * 90_000)
    os.utime(old, (0, 0))
    cache = filled(make_source(tmp_path / "data", Level.FRAME), directory)
    assert all(packed_of(cache))
    assert not old.exists()


def test_a_short_disk_gets_the_space_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    directory = CacheDirectory(tmp_path / "cache")
    cache = filled(make_source(tmp_path / "data", Level.FRAME), directory)
    monkeypatch.setattr(directory, "_left_free", 1 << 62)
    cache.advance(1)
    assert not any(packed_of(cache))
    assert names(directory.path) == []
    assert "the cache of frames is dropped" in caplog.text


def test_a_full_disk_ends_the_packing_and_not_the_training(tmp_path: Path) -> None:
    """By the system's own limit of a file's size, which fails a write as a full disk does."""
    program = (
        "import resource, signal, sys, pathlib, logging\n"
        "logging.basicConfig()\n"
        "from sources import source_of_files, FEATURES, Level, batches, assert_same\n"
        "from yt8m.components.inputs import frame_cache\n"
        "from yt8m.components.inputs.config import BatchSlice\n"
        "from yt8m.components.inputs.dataset import dataset_for_training\n"
        "from yt8m.components.storage.cache import CacheDirectory\n"
        "data, cache = map(pathlib.Path, sys.argv[1:])\n"
        "frame_cache.CacheDirectory = lambda: CacheDirectory(cache)\n"
        "source = source_of_files(sorted(data.glob('train*')), Level.FRAME, FEATURES)\n"
        "taken = BatchSlice(global_batch_size=8)\n"
        "without = batches(dataset_for_training(source, taken), 12)\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))\n"
        "assert_same(batches(dataset_for_training(source, taken, cache=True), 12), without)\n"
        "print([path.name for path in cache.iterdir()])\n"
    )
    make_source(tmp_path / "data", Level.FRAME)
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", program, next(tmp_path.rglob("train*")).parent, tmp_path / "cache"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.returncode == 0, done.stderr
    assert "the cache of frames takes no more shards: [Errno 27]" in done.stderr
    assert done.stdout.strip() == "[]"


def test_two_processes_may_pack_the_same_shards(tmp_path: Path) -> None:
    source = make_source(tmp_path / "data", Level.FRAME)
    directory = CacheDirectory(tmp_path / "cache")
    both = [cache_of(source, directory) for _ in range(2)]
    for _ in range(RECORDS + 5):
        for cache in both:
            cache.advance(1)
    assert len(names(directory.path)) == 5
    for number in range(RECORDS):
        one, other = (cache.record(number) for cache in both)
        assert one is not None
        assert other is not None
        np.testing.assert_array_equal(one.feature_lists["rgb"], other.feature_lists["rgb"])


def test_workers_of_one_machine_share_the_packing(tmp_path: Path) -> None:
    source = make_source(tmp_path / "data", Level.FRAME)
    directory = CacheDirectory(tmp_path / "cache")
    slices = [dataclasses.replace(WHOLE, num_workers=2, worker_index=i) for i in range(2)]
    workers = [cache_of(source, directory, taken) for taken in slices]
    for _ in range(32):
        for worker in workers:
            worker.advance(1)
    assert len(names(directory.path)) == 5


def test_what_a_killed_process_began_is_removed_later(tmp_path: Path) -> None:
    path = tmp_path / "cache"
    path.mkdir()
    old, new = path / ".a.part", path / ".b.part"
    for part in (old, new):
        part.write_bytes(b"begun")
    os.utime(old, (time.time() - 3600,) * 2)
    cache_of(make_source(tmp_path / "data", Level.FRAME), CacheDirectory(path))
    assert not old.exists()
    assert new.exists()


def test_what_a_training_began_goes_with_it(tmp_path: Path) -> None:
    directory = CacheDirectory(tmp_path / "cache")
    cache = cache_of(make_source(tmp_path / "data", Level.FRAME), directory)
    cache.advance(3)
    assert names(directory.path) != []
    cache.close()
    assert names(directory.path) == []


def test_records_whose_lists_differ_are_packed_together(tmp_path: Path) -> None:
    frames = {name: np.zeros((2, size), np.uint8) for name, size in SIZES.items()}
    lists = [{}, {"labels": np.array([3, 5])}, {"scores": np.array([0.5], np.float32)}, {}]
    writer = PackWriter(tmp_path / "x", SIZES)
    for features in lists:
        writer.add(Record(features, frames, is_sequence=True))
    writer.finish()
    packed = PackedShard(tmp_path / "x", SIZES)
    for number, features in enumerate(lists):
        found = packed.record(number).features
        for name in ("labels", "scores"):
            np.testing.assert_array_equal(found[name], features.get(name, []))
