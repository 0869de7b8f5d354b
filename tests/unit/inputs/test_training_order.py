"""What a training step is given, wherever the stream began and however many share it."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from records import compress
from sources import assert_same, batches, make_source

from yt8m.components.artifacts.manifest import Shard
from yt8m.components.artifacts.record_index import ShardIndex, pack_index
from yt8m.components.inputs.config import (
    BatchSlice,
    FrameChoice,
    FrameSampling,
    InputConfig,
    Source,
)
from yt8m.components.inputs.dataset import (
    create_step_reader,
    dataset_for_scoring,
    dataset_for_training,
)
from yt8m.components.inputs.frame_choice import FrameChooser
from yt8m.components.inputs.order import continue_order, create_order, epoch_order, take_fraction
from yt8m.components.inputs.record_index import index_of
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.features import Level

WHOLE = BatchSlice(global_batch_size=8)
RANDOM = FrameSampling(choice=FrameChoice.RANDOM_FRAMES, frames=4)
SEQUENCE = FrameSampling(choice=FrameChoice.RANDOM_SEQUENCE, frames=4)
BUCKETS = InputConfig(bucket_batches=3, bucket_multiple=4)
CASES = {
    "video": (Level.VIDEO, None, None),
    "frame": (Level.FRAME, None, None),
    "random frames": (Level.FRAME, RANDOM, None),
    "random sequence": (Level.FRAME, SEQUENCE, None),
    "buckets": (Level.FRAME, None, BUCKETS),
    "segment": (Level.SEGMENT, None, None),
}


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[Level, Source]:
    return {level: make_source(tmp_path_factory.mktemp("data"), level) for level in Level}


@pytest.mark.parametrize("case", CASES)
def test_a_stream_that_begins_later_is_the_rest_of_the_one_before(
    case: str, sources: dict[Level, Source]
) -> None:
    level, sampling, config = CASES[case]

    def read(start: int, count: int) -> list[dict[str, np.ndarray]]:
        taken = BatchSlice(global_batch_size=8, seed=5, start_step=start)
        stream = dataset_for_training(sources[level], taken, sampling=sampling, config=config)
        return batches(stream, count)

    whole = read(0, 14)
    for start in (4, 11):  # in the first epoch and in a later one
        assert_same(read(start, 3), whole[start : start + 3])


@pytest.mark.parametrize("sampling", [RANDOM, SEQUENCE], ids=["frames", "sequence"])
def test_chosen_frames_are_those_of_whole_videos(
    sampling: FrameSampling, sources: dict[Level, Source]
) -> None:
    taken = BatchSlice(global_batch_size=8, seed=5)
    source = sources[Level.FRAME]
    whole = batches(dataset_for_training(source, taken), 14)
    chosen = batches(dataset_for_training(source, taken, sampling=sampling), 14)
    for videos, batch in zip(whole, chosen, strict=True):
        np.testing.assert_array_equal(batch["position"], videos["position"])
        np.testing.assert_array_equal(batch["labels"], videos["labels"])
        frames = FrameChooser(sampling, seed=5, positions=videos["position"])
        for row, count in enumerate(videos["num_frames"]):
            wanted = frames.of(row, count)
            assert batch["num_frames"][row] == len(wanted)
            for name in source.features.names:
                filled = batch[name][row]
                np.testing.assert_array_equal(filled[: len(wanted)], videos[name][row][wanted])
                assert not filled[len(wanted) :].any()


def test_a_stream_that_begins_later_opens_no_shard_of_the_blocks_before(
    sources: dict[Level, Source], tmp_path: Path
) -> None:
    large = [dataclasses.replace(s, bytes=1 << 20) for s in sources[Level.VIDEO].shards]
    source = dataclasses.replace(sources[Level.VIDEO], shards=tuple(large))
    config = InputConfig(shuffle_mb=1)  # each shard is a block
    later = BatchSlice(global_batch_size=8, seed=5, start_step=3)
    expected = batches(dataset_for_training(source, later, config=config), 1)
    rows = tuple(shard.records for shard in source.shards)
    order = create_order(source.shards, rows, later, shuffle_mb=1)
    block, _ = order.find(8 * later.start_step)
    assert block > 0
    before = {order.part(n, WHOLE).rows[0] // 10 for n in range(block)}
    shards = tuple(
        dataclasses.replace(shard, uri=f"/nowhere/{number}") if number in before else shard
        for number, shard in enumerate(source.shards)
    )
    index = index_of(source)
    known = {s.uri: ShardIndex(index.lengths[n * 10 : n * 10 + 10]) for n, s in enumerate(shards)}
    (tmp_path / "index").write_bytes(pack_index(known))
    without = dataclasses.replace(source, shards=shards, index=str(tmp_path / "index"))
    assert_same(batches(dataset_for_training(without, later, config=config), 1), expected)


@pytest.mark.parametrize("case", CASES)
def test_workers_take_disjoint_rows_of_the_same_global_batch(
    case: str, sources: dict[Level, Source]
) -> None:
    level, sampling, config = CASES[case]

    def read(**values: int) -> list[dict[str, np.ndarray]]:
        taken = BatchSlice(global_batch_size=8, seed=5, start_step=1, **values)
        return batches(
            dataset_for_training(sources[level], taken, sampling=sampling, config=config), 3
        )

    parts = [read(num_workers=2, worker_index=i) for i in range(2)]
    for step, alone in enumerate(read()):
        positions = np.concatenate([part[step]["position"] for part in parts])
        order = np.argsort(positions)
        where = np.argsort(alone["position"])
        np.testing.assert_array_equal(positions[order], alone["position"][where])
        frames = min(p[step]["rgb"].shape[1] for p in parts)
        rgb = np.concatenate([part[step]["rgb"][:, :frames] for part in parts])
        np.testing.assert_array_equal(rgb[order], alone["rgb"][where][:, :frames])


@pytest.mark.parametrize("level", [Level.VIDEO, Level.SEGMENT])
def test_every_epoch_has_every_row_once_and_in_another_order(
    level: Level, sources: dict[Level, Source]
) -> None:
    rows = 50 if level is Level.VIDEO else 250
    stream = dataset_for_training(sources[level], BatchSlice(global_batch_size=10, seed=1))
    read = batches(stream, 2 * rows // 10)
    keys = [row.tobytes() for batch in read for row in batch["rgb"]]
    first, second = keys[:rows], keys[rows:]
    assert Counter(first) == Counter(second)
    assert len(set(first)) > 0.9 * rows
    assert first != second
    assert [p for batch in read for p in batch["position"]] == list(range(2 * rows))


@pytest.mark.parametrize("fraction", [0.3, 0.01, 1.0])
@pytest.mark.parametrize("level", [Level.VIDEO, Level.FRAME])  # by blocks, and over the epoch
def test_a_fraction_is_the_first_rows_of_each_shard_once_an_epoch(
    level: Level, fraction: float, sources: dict[Level, Source]
) -> None:
    source = dataclasses.replace(sources[level], fraction=fraction)
    rows = [shard.records for shard in source.shards]
    counts = take_fraction(rows, fraction)
    expected = max(1, int(sum(rows) * fraction))
    assert sum(counts) == expected
    assert max(counts) - min(counts) <= 1 + max(rows) - min(rows)
    batch = BatchSlice(global_batch_size=expected, seed=1)
    epochs = batches(dataset_for_training(source, batch), 2)
    every = batches(dataset_for_scoring(sources[level], batch_size=sum(rows)), 1)[0]["rgb"]
    starts = np.cumsum([0, *rows[:-1]])
    first = np.concatenate([np.arange(s, s + n) for s, n in zip(starts, counts, strict=True)])
    for epoch in epochs:
        assert Counter(map(_content, epoch["rgb"])) == Counter(map(_content, every[first]))


def _content(row: np.ndarray) -> bytes:
    """A row without the padding of its batch."""
    return row.tobytes().rstrip(b"\0")


def test_the_seed_decides_the_order(sources: dict[Level, Source]) -> None:
    def read(seed: int) -> bytes:
        stream = dataset_for_training(
            sources[Level.VIDEO], BatchSlice(global_batch_size=50, seed=seed)
        )
        return batches(stream, 1)[0]["rgb"].tobytes()

    assert read(1) == read(1)
    assert read(1) != read(2)


def test_a_batch_has_rows_of_all_parts_of_its_block_and_no_epoch_is_like_the_last() -> None:
    taken = BatchSlice(global_batch_size=20, seed=0)
    order = create_order(shards_of(20, bytes=1 << 20), (20,) * 20, taken, shuffle_mb=5)
    assert order.blocks_per_epoch == 4
    first = order.part(0, taken)
    for step in range(5):
        shards = Counter(first.rows[step * 20 : step * 20 + 20] // 20)
        assert sorted(shards.values()) == [4] * 5
    # Which of neighbouring rows comes first is chance: as often the one as the other.
    ranks = np.argsort(first.rows)
    assert 0.3 < np.mean(np.diff(ranks) > 0) < 0.7
    again = order.part(4, taken)
    assert set(again.rows // 20) != set(first.rows // 20)


@settings(deadline=None, max_examples=15)
@given(
    rows=st.lists(st.integers(1, 40), min_size=1, max_size=60),
    per_slot=st.integers(1, 3),
    shuffle_mb=st.integers(1, 70),
    seed=st.integers(-(2**63), 2**63 - 1),
    workers=st.sampled_from([2, 16, 64]),
)
def test_the_order_is_the_same_for_every_number_of_workers_and_has_each_row_once_an_epoch(
    rows: list[int], per_slot: int, shuffle_mb: int, seed: int, workers: int
) -> None:
    whole = BatchSlice(global_batch_size=64 * per_slot, seed=seed)
    blocks = create_order(
        shards_of(len(rows), bytes=1 << 20), tuple(rows), whole, shuffle_mb=shuffle_mb
    )
    epochs = [
        [blocks.part(block, whole) for block in range(first, first + blocks.blocks_per_epoch)]
        for first in (0, blocks.blocks_per_epoch)
    ]
    for number, parts in enumerate(epochs):
        positions = np.concatenate([part.positions for part in parts])
        assert positions.tolist() == list(range(number * sum(rows), (number + 1) * sum(rows)))
        assert sorted(np.concatenate([part.rows for part in parts])) == list(range(sum(rows)))
    at = {p: r for part in itertools.chain(*epochs) for p, r in zip(*part, strict=True)}
    found: dict[int, int] = {}
    for index in range(workers):
        taken = dataclasses.replace(whole, num_workers=workers, worker_index=index)
        for block in range(2 * blocks.blocks_per_epoch):
            part = blocks.part(block, taken)
            assert not found.keys() & set(part.positions)
            found |= zip(*part, strict=True)
            if len(part.rows):  # one stretch of the block
                assert set(part.positions % whole.global_batch_size) <= set(taken.slots)
    assert found == at


def test_a_position_is_found_without_reading() -> None:
    taken = BatchSlice(global_batch_size=8)
    order = create_order(shards_of(5, bytes=1000), (10,) * 5, taken, shuffle_mb=1)
    by = dataclasses.replace(order.by, shards_per_block=2)
    small = dataclasses.replace(order, by=by)  # blocks of 20, 20 and 10 rows
    assert [small.find(p) for p in (0, 19, 20, 45, 50, 50 * 10**6 + 21)] == [
        (0, 0),
        (0, 19),
        (1, 0),
        (2, 5),
        (3, 0),
        (3 * 10**6 + 1, 1),
    ]
    assert [small.span(n) for n in (0, 2, 3)] == [(0, 20), (40, 50), (50, 70)]


def test_a_block_has_at_least_the_rows_of_a_batch() -> None:
    taken = BatchSlice(global_batch_size=64)
    order = create_order(shards_of(60, bytes=1 << 20), (3,) * 60, taken, shuffle_mb=1)
    assert order.blocks_per_epoch == 3  # of 20 shards with 60 rows, and so not of 22
    assert order.span(0) == (0, 60)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("workers", [4, 64])
def test_workers_together_read_each_byte_about_once(
    case: str, workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    level, sampling, _ = CASES[case]
    config = InputConfig(bucket_batches=2, bucket_multiple=64) if case == "buckets" else None
    source = make_source(tmp_path, level, train=256, shards=60)  # fewer shards than workers
    rows = int(index_of(source).rows_by_shard.sum())
    read: list[int] = []
    pread = os.pread

    def counted(file: int, size: int, offset: int) -> bytes:
        read.append(size)
        return pread(file, size, offset)

    monkeypatch.setattr(os, "pread", counted)
    for index in range(workers):
        taken = BatchSlice(global_batch_size=128, seed=1, num_workers=workers, worker_index=index)
        reader = create_step_reader(
            source, taken, sampling=sampling, config=config or InputConfig(shuffle_mb=64)
        )
        for step in range(rows // 128):
            reader.arrays(step)
    # Two workers need a record whose segments are at the border between them.
    shared = workers if level is Level.SEGMENT else 0
    records = len(index_of(source).lengths)
    assert sum(read) <= sum(s.bytes for s in source.shards) * (1 + shared / records) * 1.01


@pytest.mark.parametrize("level", Level)
def test_a_worker_may_have_no_row_of_a_block(level: Level, tmp_path: Path) -> None:
    source = make_source(tmp_path, level, train=60, shards=12)
    source = dataclasses.replace(
        source, shards=tuple(dataclasses.replace(s, bytes=1 << 20) for s in source.shards)
    )
    rows = int(index_of(source).rows_by_shard.sum())
    size = rows // 60 * 24  # of blocks of like size each has fewer rows
    found, had_none = [], False
    for index in range(12):
        taken = BatchSlice(global_batch_size=size, seed=1, num_workers=12, worker_index=index)
        reader = create_step_reader(source, taken, sampling=None, config=InputConfig(shuffle_mb=1))
        found += [reader.arrays(step)[0] for step in range(rows // size)]
        order = create_order(
            source.shards, tuple(index_of(source).rows_by_shard.tolist()), taken, shuffle_mb=1
        )
        had_none |= any(not len(order.part(n, taken).rows) for n in range(order.blocks_per_epoch))
    assert had_none
    assert sorted(np.concatenate(found).tolist()) == list(range(rows // size * size))


def shards_of(count: int, *, bytes: int) -> list[Shard]:
    return [
        Shard(uri=f"/nowhere/{n}", split="train", records=1, bytes=bytes, digest="")
        for n in range(count)
    ]


def test_shards_may_be_compressed_or_not(tmp_path: Path) -> None:
    source = make_source(tmp_path, Level.VIDEO)
    taken = BatchSlice(global_batch_size=25, seed=3)
    plain = batches(dataset_for_training(source, taken), 2)
    first, *others = source.shards
    compress(Path(first.uri))
    mixed = dataclasses.replace(
        source, shards=(dataclasses.replace(first, compression="GZIP"), *others)
    )
    assert_same(batches(dataset_for_training(mixed, taken), 2), plain)


def test_buckets_that_do_not_divide_are_refused(sources: dict[Level, Source]) -> None:
    with pytest.raises(ConfigError, match=r"inputs\.bucket_multiple = 4: must divide .*10 rows"):
        dataset_for_training(sources[Level.FRAME], BatchSlice(global_batch_size=10), config=BUCKETS)


def test_a_global_batch_must_divide_among_the_workers() -> None:
    with pytest.raises(ValueError, match="10 rows does not divide among 4"):
        BatchSlice(global_batch_size=10, num_workers=4)


def rows_between(order, taken: BatchSlice, start: int, end: int) -> list[int]:
    """The rows at the positions from `start` up to `end`, in the order of positions."""
    found = {}
    number, _ = order.find(start)
    while order.span(number)[0] < end:
        part = order.part(number, taken)
        found.update(zip(part.positions.tolist(), part.rows.tolist(), strict=True))
        number += 1
    return [found[p] for p in range(start, end) if p in found]


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(1, 70)), min_size=1, max_size=4),
    st.integers(0, 99),
)
def test_each_row_of_an_epoch_comes_once_whatever_the_batches_were(starts, seed: int) -> None:
    shards, rows = shards_of(7, bytes=1 << 20), (13, 5, 20, 1, 9, 30, 22)
    epoch, position, before, read = sum(rows), 0, None, []
    for batch, steps in [*starts, (8, 50)]:
        suited = BatchSlice(global_batch_size=batch, seed=seed)
        by = epoch_order(shards, rows, suited, shuffle_mb=3)
        before = continue_order(by, before, position=position, rows_per_epoch=epoch, unit=batch)
        taken = dataclasses.replace(suited, order=before, origin=before.later.origin)
        assert (position - taken.origin) % batch == 0  # a batch begins where the last one ended
        order = create_order(shards, rows, taken, shuffle_mb=3)
        end = position + batch * steps
        read += rows_between(order, taken, position, end)
        position = end
    for first in range(0, len(read) - epoch, epoch):
        assert sorted(read[first : first + epoch]) == list(range(epoch))


@pytest.mark.parametrize("workers", [1, 2, 3, 4, 6, 12])
def test_workers_share_the_rest_of_an_interrupted_epoch_without_overlap(workers: int) -> None:
    shards, rows = shards_of(7, bytes=1 << 20), (13, 5, 20, 1, 9, 30, 22)
    first = BatchSlice(global_batch_size=5, seed=1)
    by = epoch_order(shards, rows, first, shuffle_mb=3)
    before = continue_order(by, None, position=0, rows_per_epoch=100, unit=5)
    suited = BatchSlice(global_batch_size=12, seed=1)
    order = continue_order(
        epoch_order(shards, rows, suited, shuffle_mb=3),
        before,
        position=35,
        rows_per_epoch=100,
        unit=12,
    )
    whole = dataclasses.replace(suited, order=order, origin=order.later.origin)
    blocks = create_order(shards, rows, whole, shuffle_mb=3)
    together = sorted(
        row
        for index in range(workers)
        for row in rows_between(
            blocks,
            dataclasses.replace(whole, num_workers=workers, worker_index=index),
            35,
            35 + 12 * 12,
        )
    )
    assert together == sorted(rows_between(blocks, whole, 35, 35 + 12 * 12))


@pytest.mark.parametrize("case", CASES)
def test_a_stream_with_other_batches_gives_the_rest_of_the_epoch(
    case: str, sources: dict[Level, Source]
) -> None:
    level, sampling, config = CASES[case]
    config = config or InputConfig()
    rows = tuple(index_of(sources[level]).rows_by_shard.tolist())
    unit = config.bucket_batches

    def stream(batch: int, before, position: int):
        taken = BatchSlice(global_batch_size=batch, seed=5)
        by = epoch_order(
            sources[level].shards, rows, taken, shuffle_mb=sources[level].shuffle_mb(config)
        )
        order = continue_order(
            by, before, position=position, rows_per_epoch=sum(rows), unit=batch * unit
        )
        origin = order.later.origin
        start = (position - origin) // batch
        return dataclasses.replace(taken, order=order, origin=origin, start_step=start)

    def positions(taken: BatchSlice, count: int) -> list[int]:
        found = batches(
            dataset_for_training(sources[level], taken, sampling=sampling, config=config), count
        )
        return [int(p) for batch in found for p in batch["position"]]

    first = stream(8, None, 0)
    read = positions(first, unit)
    second = stream(12, first.order, 8 * unit)
    read += positions(second, 2 * unit)
    assert sorted(read) == list(range(8 * unit + 24 * unit))


def test_frames_are_shuffled_over_the_epoch_however_large_their_shards(tmp_path: Path) -> None:
    source = make_source(tmp_path, Level.FRAME)
    large = tuple(dataclasses.replace(s, bytes=243 << 20) for s in source.shards)
    source = dataclasses.replace(source, shards=large)
    first, rows = index_of(source).first, tuple(index_of(source).rows_by_shard.tolist())
    taken = BatchSlice(global_batch_size=5, seed=1)

    def shards_of_batches(config: InputConfig) -> list[int]:
        order = create_order(source.shards, rows, taken, shuffle_mb=source.shuffle_mb(config))
        batches_of_rows = [rows_between(order, taken, n, n + 5) for n in range(0, sum(rows), 5)]
        return [len(set(np.searchsorted(first, batch, "right"))) for batch in batches_of_rows]

    assert min(shards_of_batches(InputConfig())) == len(large)
    assert max(shards_of_batches(InputConfig(shuffle_mb=64))) <= 2


@pytest.mark.parametrize("config", [InputConfig(), BUCKETS], ids=["rows", "buckets"])
def test_over_the_epoch_each_record_is_announced_once_before_it_is_read(
    config: InputConfig, sources: dict[Level, Source], monkeypatch: pytest.MonkeyPatch
) -> None:
    announced: list[tuple[int, int, int]] = []  # file, and the bytes from which and up to which
    reads = 0
    real_pread = os.pread

    def fadvise(file: int, start: int, length: int, advice: int) -> None:
        assert advice == os.POSIX_FADV_WILLNEED
        announced.append((os.fstat(file).st_ino, start, start + length))

    def pread(file: int, length: int, start: int) -> bytes:
        nonlocal reads
        reads += 1
        inode, end = os.fstat(file).st_ino, start + length
        assert any(inode == one and a <= start and end <= b for one, a, b in announced)
        return real_pread(file, length, start)

    monkeypatch.setattr(os, "posix_fadvise", fadvise, raising=False)
    monkeypatch.setattr(os, "pread", pread)
    taken = BatchSlice(global_batch_size=4, start_step=3)
    reader = create_step_reader(sources[Level.FRAME], taken, sampling=None, config=config)
    for step in range(3, 9):
        reader.arrays(step)
    assert reads == 6 * 4
    for (inode, _, end), (next_inode, start, _) in itertools.pairwise(sorted(announced)):
        assert inode != next_inode or end <= start


@pytest.mark.parametrize("level", [Level.VIDEO, Level.SEGMENT])
def test_other_levels_and_packed_shards_are_shuffled_among_64_megabytes(
    level: Level, sources: dict[Level, Source]
) -> None:
    assert sources[level].shuffle_mb(InputConfig()) == 64
    frames = sources[Level.FRAME]
    assert frames.shuffle_mb(InputConfig()) is None
    assert frames.shuffle_mb(InputConfig(shuffle_mb=7)) == 7
    packed = tuple(dataclasses.replace(s, compression="GZIP") for s in frames.shards)
    assert dataclasses.replace(frames, shards=packed).shuffle_mb(InputConfig()) == 64
