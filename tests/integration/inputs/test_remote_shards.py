"""Shards where TensorFlow cannot read: as a whole through the local cache, or by ranges."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path

import numpy as np
import pytest
from records import flip_byte_in_record
from s3_server import faulty_s3_server, s3_server
from sources import assert_same, batches, make_source

from yt8m.components import storage
from yt8m.components.artifacts.record_index import ShardIndex, pack_index
from yt8m.components.inputs.config import BatchSlice, InputConfig, Source
from yt8m.components.inputs.dataset import (
    create_step_reader,
    dataset_for_scoring,
    dataset_for_training,
)
from yt8m.components.inputs.faults import explaining_faults
from yt8m.components.inputs.record_index import index_of
from yt8m.components.inputs.step_reader import StepReader
from yt8m.schemas.errors import DataError
from yt8m.schemas.features import Level


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory in which shards are kept."""
    directory = tmp_path / "cache"
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    return directory


def test_shards_on_s3_are_read_as_local_ones_are(tmp_path: Path) -> None:
    local = make_source(tmp_path / "data", Level.VIDEO)
    taken = BatchSlice(global_batch_size=10, seed=2, start_step=3)
    with s3_server() as bucket:
        shards = []
        for shard in local.shards:
            uri = f"{bucket}/{Path(shard.uri).name}"
            storage.copy(shard.uri, uri)
            shards.append(dataclasses.replace(shard, uri=uri))
        remote = dataclasses.replace(local, shards=tuple(shards))
        found = batches(dataset_for_training(remote, taken), 6)
        assert_same(found, batches(dataset_for_training(local, taken), 6))

        flip_byte_in_record(Path(local.shards[1].uri), 2)
        storage.copy(local.shards[1].uri, shards[1].uri)
        with pytest.raises(DataError, match=f"{shards[1].uri}: record 2 at byte"):  # noqa: SIM117
            with explaining_faults(remote):
                batches(dataset_for_scoring(remote, batch_size=8), 99)


@pytest.mark.parametrize(
    ("level", "config"),
    [
        (Level.VIDEO, InputConfig()),
        (Level.FRAME, InputConfig()),
        pytest.param(
            *(Level.FRAME, InputConfig(bucket_batches=2, bucket_multiple=16)),
            marks=pytest.mark.slow,
        ),
        (Level.SEGMENT, InputConfig()),
    ],
    ids=["video", "frame", "buckets", "segment"],
)
def test_of_an_object_store_each_byte_is_served_to_about_one_worker(
    level: Level, config: InputConfig, tmp_path: Path, cache: Path
) -> None:
    local = make_source(tmp_path / "data", level, train=256, shards=10)
    workers, rows = 16, int(index_of(local).rows_by_shard.sum())
    with faulty_s3_server() as (bucket, proxy):
        remote = _placed(local, bucket, tmp_path)
        for index in range(workers):
            taken = BatchSlice(global_batch_size=64, num_workers=workers, worker_index=index)
            mine, theirs = (
                create_step_reader(source, taken, sampling=None, config=config)
                for source in (remote, local)
            )
            for step in range(rows // 64):
                for a, b in zip(mine.arrays(step), theirs.arrays(step), strict=True):
                    np.testing.assert_array_equal(a, b)
    total = sum(shard.bytes for shard in local.shards)
    # The group after the newest one is fetched ahead. At segment level two workers need the record
    # at a border between them.
    assert proxy.served <= 2.2 * total
    assert list(cache.iterdir()) == []  # nobody keeps a shard


@pytest.mark.parametrize("is_indexed", [True, False], ids=["by ranges", "whole shards"])
def test_with_a_frame_cache_an_object_store_serves_each_byte_once(
    tmp_path: Path, is_indexed: bool
) -> None:
    local = make_source(tmp_path / "data", Level.FRAME)
    taken = BatchSlice(global_batch_size=8)
    with faulty_s3_server() as (bucket, proxy):
        remote = _placed(local, bucket, tmp_path)
        if not is_indexed:
            remote = dataclasses.replace(remote, index="")
        index_of(remote)  # without an index the shards are walked
        before = proxy.served
        config = InputConfig() if is_indexed else InputConfig(shuffle_mb=64)

        def reader(*, cache: bool) -> StepReader:
            return create_step_reader(remote, taken, sampling=None, config=config, cache=cache)

        cached = reader(cache=True)
        found = [cached.arrays(step) for step in range(21)]
        later = reader(cache=True)  # of a training that begins anew
        again = [later.arrays(step) for step in range(21)]
        total = sum(shard.bytes for shard in local.shards)
        assert proxy.served - before <= 1.2 * total
        plain = reader(cache=False)
        for step, batches_found in enumerate(zip(found, again, strict=True)):
            for one in batches_found:
                for a, b in zip(one, plain.arrays(step), strict=True):
                    np.testing.assert_array_equal(a, b)


def _placed(local: Source, bucket: str, tmp_path: Path) -> Source:
    """`local` in the bucket, with an index as ExampleGen writes it."""
    index, shards, known = index_of(local), [], {}
    for number, shard in enumerate(local.shards):
        uri = f"{bucket}/{Path(shard.uri).name}"
        storage.copy(shard.uri, uri)
        shards.append(dataclasses.replace(shard, uri=uri))
        of_shard = slice(index.first[number], index.first[number + 1])
        segments = np.diff(index.first_row)[of_shard]
        known[uri] = ShardIndex(index.lengths[of_shard], segments)
    (tmp_path / "index").write_bytes(pack_index(known))
    return dataclasses.replace(local, shards=tuple(shards), index=str(tmp_path / "index"))
