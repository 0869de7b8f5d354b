"""The cache of frames gives what the records give, and lets them be read where it cannot."""

from __future__ import annotations

import dataclasses
import logging
import os
import resource
import shutil
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from records import read_all, write_all
from sources import SIZES, assert_same, batches, gzipped, make_source

from yt8m.components.inputs import frame_cache, record_reader
from yt8m.components.inputs.config import (
    BatchSlice,
    FrameChoice,
    FrameSampling,
    InputConfig,
    Source,
)
from yt8m.components.inputs.dataset import create_step_reader, dataset_for_training
from yt8m.components.inputs.faults import ChangedShard
from yt8m.components.inputs.frame_cache import FrameCache
from yt8m.components.inputs.frame_record import DecodedFrames
from yt8m.components.inputs.packed_frames import (
    DamagedPack,
    PackedShard,
    PackLayout,
    create_pack,
    write_record,
)
from yt8m.components.inputs.record_index import RecordIndex, index_of
from yt8m.components.inputs.step_reader import columns_of
from yt8m.components.records.decode import Record, context_of, decode_context, decode_record
from yt8m.components.records.wire import (
    encode_sequence_example,
    frames_feature_list,
    int64_feature,
)
from yt8m.components.storage.cache import CacheDirectory
from yt8m.schemas.batch import MEAN_FRAMES
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


def cache_of(source: Source, directory: Path, **limits: int) -> FrameCache:
    return FrameCache(source, index_of(source), CacheDirectory(directory, **limits))


def serialized(source: Source) -> list[bytes]:
    return [record for shard in source.shards for record in read_all(Path(shard.uri))]


def filled(source: Source, directory: Path, **limits: int) -> FrameCache:
    cache = cache_of(source, directory, **limits)
    for number, record in enumerate(serialized(source)):
        cache.put(number, record)
    return cache


def packed_of(cache: FrameCache) -> list[bool]:
    return cache.has(np.arange(RECORDS)).tolist()


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.glob("[!.]*"))


def with_other_frames(path: Path) -> bytes:
    """Records of the same lengths take the place of the file's; its bytes are given back."""
    before, records = path.read_bytes(), [bytearray(record) for record in read_all(path)]
    for record in records:
        frame = decode_record(bytes(record)).feature_lists["rgb"][0].tobytes()
        at = bytes(record).find(frame)
        record[at : at + len(frame)] = bytes(255 - byte for byte in frame)
    write_all(path, map(bytes, records))
    return before


def read(source: Source, *, cache: bool, **values: Any) -> list[dict[str, np.ndarray]]:
    """Nearly three epochs."""
    return batches(dataset_for_training(source, WHOLE, cache=cache, **values), 18)


@pytest.mark.parametrize("level", [Level.FRAME, Level.SEGMENT], ids=lambda level: level.value)
def test_packed_records_are_those_of_the_shards(tmp_path: Path, level: Level) -> None:
    source = make_source(tmp_path / "data", level)
    cache = filled(source, tmp_path / "cache")
    for number, data in enumerate(serialized(source)):
        packed, record = cache.record(number), decode_record(data)
        assert packed is not None
        whole, chosen = packed.frames(slice(None)), packed.frames(np.array([[1, 0], [1, 1]]))
        for name in SIZES:
            frames = record.feature_lists[name]
            np.testing.assert_array_equal(whole[name], frames)
            np.testing.assert_array_equal(chosen[name], frames[[[1, 0], [1, 1]]])
        assert packed.features.keys() == record.features.keys()
        for name, values in record.features.items():
            np.testing.assert_array_equal(packed.features[name], values)


@settings(deadline=None, max_examples=30)
@given(
    counts=st.lists(st.integers(0, 5), min_size=1, max_size=4),
    sizes=st.lists(st.sampled_from([1, 3, 128, 1024]), min_size=1, max_size=2),
    labels=st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3),
)
def test_any_record_fits_into_its_own_bytes(
    counts: list[int], sizes: list[int], labels: list[int]
) -> None:
    """So no record writes into its neighbour's slot, however short frames and labels are."""
    by_name = {f"f{n}": size for n, size in enumerate(sizes)}
    frames = {
        name: [np.full((count, size), n, np.uint8) for n, count in enumerate(counts)]
        for name, size in by_name.items()
    }
    context = {"labels": int64_feature(labels)}
    records = [
        encode_sequence_example(
            context, {name: frames_feature_list(f[n]) for name, f in frames.items()}
        )
        for n in range(len(counts))
    ]
    layout = PackLayout(np.array([len(record) for record in records]), by_name)
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "x"
        create_pack(path, layout)
        for n in reversed(range(len(records))):
            video = {name: f[n] for name, f in frames.items()}
            decoded = DecodedFrames(Record({}, video, is_sequence=True), by_name)
            write_record(path, layout, n, decoded, context_of(records[n]))
        packed = PackedShard(path, layout)
        assert path.stat().st_size == layout.file_bytes
        for n in range(len(records)):
            record = packed.record(n)
            assert record is not None
            assert list(record.features["labels"]) == labels
            for name, found in record.frames(slice(None)).items():
                np.testing.assert_array_equal(found, frames[name][n])


_LISTS = st.one_of(
    st.builds(
        lambda v: tf.train.Feature(int64_list=tf.train.Int64List(value=v)),
        st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3),
    ),
    st.builds(
        lambda v: tf.train.Feature(float_list=tf.train.FloatList(value=v)),
        st.lists(st.floats(width=32), max_size=3),
    ),
    st.builds(
        lambda v: tf.train.Feature(bytes_list=tf.train.BytesList(value=v)),
        st.lists(st.binary(max_size=9), max_size=3),
    ),
    st.just(tf.train.Feature()),
)


@settings(deadline=None, max_examples=40)
@given(contexts=st.lists(st.dictionaries(st.sampled_from("abcdé"), _LISTS), max_size=2))
def test_features_are_those_of_the_record(contexts: list[dict[str, tf.train.Feature]]) -> None:
    """Of any kind, and where a record names one again."""
    context = b"".join(tf.train.Features(feature=c).SerializeToString() for c in contexts)
    wanted = decode_context(context)
    layout = PackLayout(np.array([len(context)]), {"f": 1})
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "x"
        create_pack(path, layout)
        no_frames = Record({}, {"f": np.empty((0, 1), np.uint8)}, is_sequence=True)
        write_record(path, layout, 0, DecodedFrames(no_frames, {"f": 1}), context)
        packed = PackedShard(path, layout).record(0)
    assert packed is not None
    found = packed.features
    assert found.get("z", "none") == "none"
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        assert type(found[name]) is type(values)
        np.testing.assert_array_equal(found[name], values)
        assert np.asarray(found[name]).dtype == np.asarray(values).dtype


@settings(deadline=None, max_examples=30)
@given(data=st.data(), frames=st.integers(1, 40), size=st.sampled_from([1, 7, 128, 1152]))
def test_a_changed_bit_is_noticed_in_whatever_frames_are_taken(
    data: st.DataObject, frames: int, size: int
) -> None:
    rng = np.random.default_rng(frames)
    values = rng.integers(0, 256, (frames, size), np.uint8)
    layout = PackLayout(np.array([frames * (size + 8)]), {"f": size})
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "x"
        create_pack(path, layout)
        video = DecodedFrames(Record({}, {"f": values}, is_sequence=True), {"f": size})
        write_record(path, layout, 0, video, b"")
        chosen = np.array(data.draw(st.lists(st.integers(0, frames - 1), max_size=40)), np.int64)

        def taken() -> np.ndarray:
            packed = PackedShard(path, layout).record(0)
            assert packed is not None
            return packed.frames(chosen)["f"]

        np.testing.assert_array_equal(taken(), values[chosen])
        whole = path.read_bytes()
        row, at = data.draw(st.integers(0, frames - 1)), data.draw(st.integers(0, size + 3))
        changed = bytearray(whole)
        changed[row * (size + 4) + at] ^= 1 << data.draw(st.integers(0, 7))
        path.write_bytes(changed)
        if row in chosen:
            with pytest.raises(DamagedPack, match="checksum of a frame"):
                taken()
        else:
            np.testing.assert_array_equal(taken(), values[chosen])
        if len(chosen):
            path.write_bytes(bytes(frames * (size + 4)) + whole[frames * (size + 4) :])
            with pytest.raises(DamagedPack, match="checksum of a frame"):
                taken()


@pytest.mark.parametrize("kind", ["plain", "gzip", "block by block"])
@pytest.mark.parametrize("level", [Level.FRAME, Level.SEGMENT], ids=lambda level: level.value)
@pytest.mark.parametrize("sampling", [None, RANDOM], ids=["whole", "random frames"])
def test_batches_are_the_same_while_packing_and_afterwards(
    tmp_path: Path, directory: Path, level: Level, sampling: FrameSampling | None, kind: str
) -> None:
    source = make_source(tmp_path / "data", level)
    if kind == "gzip":
        source = gzipped(source)
    config = InputConfig(shuffle_mb=1) if kind == "block by block" else None
    without = read(source, cache=False, sampling=sampling, config=config)
    assert_same(read(source, cache=True, sampling=sampling, config=config), without)
    assert all(packed_of(cache_of(source, directory)))
    assert_same(read(source, cache=True, sampling=sampling, config=config), without)


def test_batches_of_like_length_are_the_same(tmp_path: Path, directory: Path) -> None:
    source = make_source(tmp_path / "data", Level.FRAME)
    config = InputConfig(bucket_batches=3, bucket_multiple=2)
    without = read(source, cache=False, config=config)
    for _ in range(2):
        assert_same(read(source, cache=True, config=config), without)


def test_an_epoch_reads_each_record_once_and_the_next_ones_none(
    tmp_path: Path, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = make_source(tmp_path / "data", Level.FRAME)
    sizes: list[int] = []
    pread = record_reader._pread
    monkeypatch.setattr(
        record_reader, "_pread", lambda f, a, b: sizes.append(b - a) or pread(f, a, b)
    )
    reader = create_step_reader(source, WHOLE, sampling=RANDOM, config=InputConfig(), cache=True)
    for step in range(18):
        reader.arrays(step)
    assert len(sizes) == RECORDS
    assert sum(sizes) == sum(Path(shard.uri).stat().st_size for shard in source.shards)


def test_a_later_training_packs_new_shards_alone(tmp_path: Path) -> None:
    directory = tmp_path / "cache"
    source = make_source(tmp_path / "data", Level.FRAME)
    filled(dataclasses.replace(source, shards=source.shards[:3]), directory)
    later = cache_of(source, directory)
    assert packed_of(later) == [True] * 30 + [False] * 20
    assert len(names(directory)) == 5


def test_what_a_killed_training_has_packed_is_there(tmp_path: Path) -> None:
    source = make_source(tmp_path / "data", Level.FRAME)
    cache = cache_of(source, tmp_path / "cache")
    for number, record in enumerate(serialized(source)[:23]):
        cache.put(number, record)
    path = next(path for path in (tmp_path / "cache").iterdir() if "train0002" in path.name)
    data = bytearray(path.read_bytes())
    data[:40] = bytes(40)  # an entry was written, but not the bytes that it tells of
    path.write_bytes(data)
    later = cache_of(source, tmp_path / "cache")
    assert packed_of(later) == [True] * 23 + [False] * 27
    broken = later.record(20)
    assert broken is not None
    with pytest.raises(DamagedPack, match="frames"):
        broken.frames(slice(None))


def test_a_shard_of_other_content_is_packed_anew(tmp_path: Path) -> None:
    source = make_source(tmp_path / "data", Level.FRAME)
    filled(source, tmp_path / "cache")
    changed = tuple(dataclasses.replace(s, digest=f"{s.digest}x") for s in source.shards[:1])
    other = dataclasses.replace(source, shards=changed + source.shards[1:])
    assert packed_of(cache_of(other, tmp_path / "cache")) == [False] * 10 + [True] * 40


@pytest.mark.parametrize("averaged", [False, True], ids=["frames", "means"])
def test_a_shard_that_takes_anothers_place_has_a_file_of_its_own(
    tmp_path: Path, directory: Path, averaged: bool
) -> None:
    source = make_source(tmp_path / "data", Level.FRAME)
    source = dataclasses.replace(source, digests_known=True, averaged=averaged)
    without = read(source, cache=False)
    shard = Path(source.shards[0].uri)
    before = with_other_frames(shard)
    of_the_other = read(source, cache=True)
    shard.write_bytes(before)
    record_reader._cached_path.cache_clear()
    assert_same(read(source, cache=True), without)
    column = MEAN_FRAMES if averaged else "rgb"
    assert any((a[column] != b[column]).any() for a, b in zip(of_the_other, without, strict=True))


def test_what_was_packed_of_a_shard_until_it_was_found_out_is_forgotten(
    tmp_path: Path, directory: Path
) -> None:
    source = make_source(tmp_path / "data", Level.FRAME)
    without = read(source, cache=False)
    shard = Path(source.shards[0].uri)
    reader = create_step_reader(source, WHOLE, sampling=None, config=InputConfig(), cache=True)
    before = with_other_frames(shard)
    for step in range(3):
        reader.arrays(step)
    damaged = bytearray(shard.read_bytes())
    damaged[20::50] = bytes(len(damaged[20::50]))
    shard.write_bytes(damaged)
    with pytest.raises(ChangedShard, match="run ExampleGen again"):
        _ = [reader.arrays(step) for step in range(3, 18)]
    assert len(names(directory)) == 4
    shard.write_bytes(before)
    assert_same(read(source, cache=True), without)


def test_a_file_of_another_size_is_replaced_and_not_emptied_under_its_readers(
    tmp_path: Path,
) -> None:
    layout, other = (PackLayout(np.array(n), {"rgb": 4}) for n in ([100, 200], [300, 400, 500]))
    path = tmp_path / "x"
    create_pack(path, other)
    video = DecodedFrames(
        Record({}, {"rgb": np.ones((3, 4), np.uint8)}, is_sequence=True), {"rgb": 4}
    )
    write_record(path, other, 1, video, b"context")
    mapped = PackedShard(path, other)
    create_pack(path, layout)
    assert mapped.has(1)
    assert path.stat().st_size == layout.file_bytes
    assert not PackedShard(path, layout).has(1)


def test_the_table_has_its_space_from_the_start(tmp_path: Path) -> None:
    """Reading a hole of a file in memory, where there is none left, ends the process."""
    layout = PackLayout(np.full(100_000, 100), {"rgb": 4})
    create_pack(tmp_path / "x", layout)
    assert (tmp_path / "x").stat().st_blocks * 512 >= layout.file_bytes - layout.table


def test_trainings_that_start_together_do_not_take_the_same_room(tmp_path: Path) -> None:
    sources = [
        make_source(tmp_path / f"data{seed}", Level.FRAME, train=400, shards=200, seed=seed)
        for seed in (1, 2)
    ]
    indexes = [index_of(source) for source in sources]
    whole = max(sum(Path(shard.uri).stat().st_size for shard in s.shards) for s in sources)
    for number in range(2):
        place, begin = tmp_path / f"cache{number}", threading.Barrier(2)

        def start(
            source: Source, index: RecordIndex, place: Path, begin: threading.Barrier
        ) -> None:
            begin.wait()
            FrameCache(source, index, CacheDirectory(place, max_bytes=whole))

        with ThreadPoolExecutor(2) as pool:  # a lock of a file is not the process's
            list(pool.map(start, sources, indexes, [place] * 2, [begin] * 2))
        taken = sum((place / name).stat().st_size for name in names(place))
        assert whole // 2 < taken <= whole


def test_without_digests_of_records_the_address_counts_too(tmp_path: Path) -> None:
    directory = tmp_path / "cache"
    source = make_source(tmp_path / "data", Level.FRAME)
    (tmp_path / "elsewhere").mkdir()
    moved = tuple(
        dataclasses.replace(s, uri=shutil.copy(s.uri, tmp_path / "elsewhere"))
        for s in source.shards
    )
    filled(source, directory)
    assert not any(packed_of(cache_of(dataclasses.replace(source, shards=moved), directory)))
    known = dataclasses.replace(source, digests_known=True)
    filled(known, directory)
    assert all(packed_of(cache_of(dataclasses.replace(known, shards=moved), directory)))


@pytest.mark.parametrize("sampling", [None, RANDOM], ids=["whole", "random frames"])
@pytest.mark.parametrize("where", ["everywhere", "frames", "entry", "end"])
def test_damaged_bytes_are_noticed_and_packed_anew(
    tmp_path: Path,
    directory: Path,
    where: str,
    sampling: FrameSampling | None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    source = make_source(tmp_path / "data", Level.FRAME)
    without = read(source, cache=False, sampling=sampling)
    filled(source, directory)
    path = next(path for path in directory.iterdir() if "train0002" in path.name)
    data = np.frombuffer(path.read_bytes(), np.uint8).copy()
    match where:
        case "everywhere":
            data[::7] ^= 1
        case "frames":
            data[100] ^= 1
        case "entry":
            data[-8] ^= 1
        case "end":
            data = data[:-3]
    path.write_bytes(data.tobytes())
    caplog.set_level(logging.WARNING)
    assert_same(read(source, cache=True, sampling=sampling), without)
    if where != "end":  # of another size is a file that is made anew
        assert f"frame cache: {path.name}, record" in caplog.text
        assert caplog.text.count("packed again") == 1
    if where == "everywhere" or sampling is None:
        later = cache_of(source, directory)
        packed = [later.record(number) for number in range(RECORDS)]
        assert all(len(video.frames(slice(None))["rgb"]) for video in packed if video)
        assert None not in packed


def test_damage_between_epochs_of_one_training_is_noticed(tmp_path: Path, directory: Path) -> None:
    source = make_source(tmp_path / "data", Level.FRAME)
    without = read(source, cache=False)
    reader = create_step_reader(source, WHOLE, sampling=None, config=InputConfig(), cache=True)
    found = [reader.arrays(step) for step in range(10)]
    for path in directory.iterdir():
        with path.open("r+b") as file:
            file.write(b"x" * 300)
    found += [reader.arrays(step) for step in range(10, 18)]
    rows = [dict(zip(columns_of(source), batch, strict=True)) for batch in found]
    for row, wanted in zip(rows, without, strict=True):
        for name in (*SIZES, "num_frames", "position"):
            np.testing.assert_array_equal(row[name], wanted[name])


def test_what_the_budget_has_no_room_for_is_read_from_the_records(
    tmp_path: Path, directory: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    source = make_source(tmp_path / "data", Level.FRAME)
    room = sum(Path(shard.uri).stat().st_size for shard in source.shards[:2]) + 10
    small = CacheDirectory(directory, max_bytes=room)
    monkeypatch.setattr(frame_cache, "CacheDirectory", lambda: small)
    caplog.set_level(logging.INFO)
    assert_same(read(source, cache=True), read(source, cache=False))
    assert len(names(directory)) == 2
    assert "2 are added while they are read, and 3 do not fit" in caplog.text


def test_files_of_others_go_first(tmp_path: Path) -> None:
    directory = tmp_path / "cache"
    directory.mkdir()
    old = directory / "copy-of-a-remote-shard"
    old.write_bytes(b"x" * 90_000)
    os.utime(old, (0, 0))
    source = make_source(tmp_path / "data", Level.FRAME)
    assert all(packed_of(filled(source, directory, max_bytes=100_000)))
    assert not old.exists()


def test_a_file_in_use_stays_however_long_ago_it_was_written(tmp_path: Path) -> None:
    directory = tmp_path / "cache"
    cache = filled(make_source(tmp_path / "data", Level.FRAME), directory)
    for path in directory.iterdir():
        os.utime(path, (0, 0))
    cache._next_look = 0.0
    cache.has(np.array([0]))
    assert CacheDirectory(directory, max_bytes=10).room_for([5]) == 0
    assert len(names(directory)) == 5


def test_a_short_disk_gets_the_space_back(
    tmp_path: Path, directory: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    source = make_source(tmp_path / "data", Level.FRAME)
    without = read(source, cache=False)
    place = CacheDirectory(directory)
    monkeypatch.setattr(frame_cache, "CacheDirectory", lambda: place)
    monkeypatch.setattr(frame_cache, "_LOOK_S", 0.0)
    reader = create_step_reader(source, WHOLE, sampling=None, config=InputConfig(), cache=True)
    before = [reader.arrays(step) for step in range(10)]
    assert len(names(directory)) == 5
    monkeypatch.setattr(place, "_left_free", 1 << 62)
    found = [*before, *(reader.arrays(step) for step in range(10, 18))]
    assert names(directory) == []
    assert "the frame cache is dropped" in caplog.text
    number = list(columns_of(source)).index("rgb")
    for batch, wanted in zip(found, without, strict=True):
        np.testing.assert_array_equal(batch[number], wanted["rgb"])


def test_a_file_that_somebody_removes_is_done_without(tmp_path: Path, directory: Path) -> None:
    source = make_source(tmp_path / "data", Level.FRAME)
    cache = filled(source, directory)
    for path in directory.iterdir():
        path.unlink()
    cache._next_look = 0.0
    assert not any(packed_of(cache))
    cache.put(0, serialized(source)[0])
    assert names(directory) == []


def test_a_directory_of_somebody_else_is_done_without(
    tmp_path: Path, directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    directory.write_bytes(b"a file")  # root may write into every directory
    source = make_source(tmp_path / "data", Level.FRAME)
    assert_same(read(source, cache=True), read(source, cache=False))
    assert "the frame cache is dropped" in caplog.text


def test_a_full_disk_ends_the_packing_and_not_the_training(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """By the system's own limit of a file's size, which fails a write as a full disk does."""
    source = make_source(tmp_path / "data", Level.FRAME)
    records, cache = serialized(source), cache_of(source, tmp_path / "cache")  # makes the files
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, before[1]))
    try:
        videos = [cache.put(number, data) for number, data in enumerate(records)]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert caplog.text.count("the frame cache takes no more records: [Errno 27]") == 1
    for data, video in zip(records, videos, strict=True):
        for name, frames in video.frames(slice(None)).items():
            np.testing.assert_array_equal(frames, decode_record(data).feature_lists[name])
    assert not all(packed_of(cache))


def test_processes_pack_one_cache_at_once(tmp_path: Path) -> None:
    """Each sees what the other has written, and both write the same bytes."""
    source = make_source(tmp_path / "data", Level.FRAME)
    records = serialized(source)
    one, other = (cache_of(source, tmp_path / "cache") for _ in range(2))
    for number, record in enumerate(records):
        if number % 3 != 1:
            one.put(number, record)
        if number % 3 != 0:
            other.put(number, record)
    assert all(packed_of(one))
    assert all(packed_of(other))
    pids = []
    for _ in range(2):
        if not (pid := os.fork()):
            mine = cache_of(source, tmp_path / "forked")
            for number, record in enumerate(records):
                mine.put(number, record)
            os._exit(0)
        pids.append(pid)
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0, 0]
    assert names(tmp_path / "forked") == names(tmp_path / "cache")
    for name in names(tmp_path / "cache"):
        contents = {(tmp_path / place / name).read_bytes() for place in ("cache", "forked")}
        assert len(contents) == 1


def test_few_open_files_are_enough_for_many_shards(
    tmp_path: Path, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frame_cache, "_mapped_at_once", lambda: 2)
    source = make_source(tmp_path / "data", Level.FRAME)
    assert_same(read(source, cache=True), read(source, cache=False))
