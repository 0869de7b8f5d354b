"""What a training step is given, wherever the stream began and however many share it."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from records import compress
from sources import assert_same, batches, make_source

from yt8m.components.inputs.config import (
    BatchSlice,
    FrameChoice,
    FrameSampling,
    InputConfig,
    Source,
)
from yt8m.components.inputs.dataset import dataset_for_training
from yt8m.components.inputs.order import create_order
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.features import Level

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


def test_a_stream_that_begins_later_opens_no_shard_of_the_blocks_before(
    sources: dict[Level, Source],
) -> None:
    large = [dataclasses.replace(s, bytes=1 << 20) for s in sources[Level.VIDEO].shards]
    source = dataclasses.replace(sources[Level.VIDEO], shards=tuple(large))
    rows = tuple(shard.records for shard in source.shards)
    order = create_order(source.shards, rows, seed=5, shuffle_mb=1)  # each shard is a block
    config, step = InputConfig(shuffle_mb=1), 3
    block, _ = order.find(8 * step)
    assert block > 0
    read_before = order._permutation(tf.constant(0, tf.int64)).numpy()[:block]
    shards = tuple(
        dataclasses.replace(shard, uri="/nowhere") if number in read_before else shard
        for number, shard in enumerate(source.shards)
    )
    later = BatchSlice(global_batch_size=8, seed=5, start_step=step)
    expected = batches(dataset_for_training(source, later, config=config), 1)
    without = dataclasses.replace(source, shards=shards)
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


def test_the_seed_decides_the_order(sources: dict[Level, Source]) -> None:
    def read(seed: int) -> bytes:
        stream = dataset_for_training(
            sources[Level.VIDEO], BatchSlice(global_batch_size=50, seed=seed)
        )
        return batches(stream, 1)[0]["rgb"].tobytes()

    assert read(1) == read(1)
    assert read(1) != read(2)


def test_a_block_mixes_its_shards_and_no_epoch_begins_like_the_last(tmp_path: Path) -> None:
    source = make_source(tmp_path, Level.VIDEO, train=400, shards=20)
    order = create_order(source.shards, (20,) * 20, seed=0, shuffle_mb=1)
    few = dataclasses.replace(order, shards_per_block=5)
    rows = [r.numpy() for r in few.block(np.int64(0), lambda records: records)]
    at_home = _shard_numbers(source)
    found = [at_home[row] for row in rows]
    assert len(set(found)) == 5
    # Neighbours come from one shard about as often as chance has it: 1 in 5.
    same = np.mean([a == b for a, b in itertools.pairwise(found)])
    assert same < 0.4
    later = {at_home[r.numpy()] for r in few.block(np.int64(4), lambda records: records)}
    assert later != set(found)


def _shard_numbers(source: Source) -> dict[bytes, int]:
    from records import read_all

    return {
        record: number
        for number, shard in enumerate(source.shards)
        for record in read_all(Path(shard.uri))
    }


def test_a_position_is_found_without_reading(sources: dict[Level, Source]) -> None:
    shards = tuple(
        dataclasses.replace(shard, uri="/nowhere") for shard in sources[Level.VIDEO].shards
    )
    order = create_order(shards, (10,) * 5, seed=0, shuffle_mb=1)
    small = dataclasses.replace(order, shards_per_block=2)  # blocks of 20, 20 and 10 rows
    assert [small.find(p) for p in (0, 19, 20, 45, 50, 50 * 10**6 + 21)] == [
        (0, 0),
        (0, 19),
        (1, 0),
        (2, 5),
        (3, 0),
        (3 * 10**6 + 1, 1),
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
