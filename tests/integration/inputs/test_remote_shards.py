"""Shards that lie where TensorFlow cannot read: they come through the local read cache."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path

import pytest
from records import flip_byte_in_record
from s3_server import s3_server
from sources import assert_same, batches, make_source

from yt8m.components import storage
from yt8m.components.inputs.config import BatchSlice
from yt8m.components.inputs.dataset import dataset_for_scoring, dataset_for_training
from yt8m.components.inputs.faults import explaining_faults
from yt8m.schemas.errors import DataError
from yt8m.schemas.features import Level


def test_shards_on_s3_are_read_as_local_ones_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()
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
