"""What each level's batches hold, against records decoded without TensorFlow."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from records import edit_record, read_all, set_feature
from sources import FEATURES, SIZES, batches, make_source

from yt8m.components.artifacts.manifest import Manifest
from yt8m.components.inputs.config import BatchSlice, source_of
from yt8m.components.inputs.dataset import (
    dataset_for_scoring,
    dataset_for_training,
)
from yt8m.components.inputs.record_index import rows_by_shard
from yt8m.components.records.decode import Record, decode_record
from yt8m.schemas.errors import DataError
from yt8m.schemas.features import Level


def _decoded(source) -> list[Record]:  # type: ignore[no-untyped-def]
    return [
        decode_record(record) for shard in source.shards for record in read_all(Path(shard.uri))
    ]


def _ids(row: np.ndarray) -> list[int]:
    return row[row >= 0].tolist()


def test_video_batches_hold_the_records_as_stored(tmp_path: Path) -> None:
    source = make_source(tmp_path, Level.VIDEO)
    read = batches(dataset_for_scoring(source, batch_size=16), 99)
    assert [len(batch["id"]) for batch in read] == [16, 16, 16, 2]
    rows = [{k: v[i] for k, v in b.items()} for b in read for i in range(len(b["id"]))]
    for row, record in zip(rows, _decoded(source), strict=True):
        assert row["id"] == record.features["id"][0]
        assert _ids(row["labels"]) == list(record.features["labels"])
        for name in SIZES:
            np.testing.assert_array_equal(row[name], record.features[f"mean_{name}"])


def test_frame_batches_hold_all_frames_and_zeros_after_them(tmp_path: Path) -> None:
    source = make_source(tmp_path, Level.FRAME)
    (batch,) = batches(dataset_for_scoring(source, batch_size=64), 99)
    assert batch["rgb"].dtype == np.uint8
    for i, record in enumerate(_decoded(source)):
        count = batch["num_frames"][i]
        for name in SIZES:
            np.testing.assert_array_equal(batch[name][i, :count], record.feature_lists[name])
            assert not batch[name][i, count:].any()
        assert _ids(batch["labels"][i]) == list(record.features["labels"])


def test_longer_videos_are_cut_to_the_frames_that_are_asked_for(tmp_path: Path) -> None:
    source = make_source(tmp_path, Level.FRAME, min_frames=9, max_frames=12)
    cut = dataclasses.replace(source, features=dataclasses.replace(source.features, max_frames=10))
    taken = BatchSlice(global_batch_size=25, seed=1)
    for dataset in (dataset_for_scoring(cut, batch_size=64), dataset_for_training(cut, taken)):
        (batch,) = batches(dataset, 1)
        assert batch["num_frames"].max() == 10 == batch["rgb"].shape[1]
        assert batch["num_frames"].min() == 9
    (batch,) = batches(dataset_for_scoring(cut, batch_size=64), 1)
    for i, record in enumerate(_decoded(source)):
        count = min(10, len(record.feature_lists["rgb"]))
        np.testing.assert_array_equal(batch["rgb"][i, :count], record.feature_lists["rgb"][:count])


def test_segment_rows_are_the_rated_starts_in_their_order(tmp_path: Path) -> None:
    source = make_source(tmp_path, Level.SEGMENT)
    path = Path(source.shards[0].uri)
    # The first record: a start that comes twice, and one that the video ends within.
    last = len(decode_record(read_all(path)[0]).feature_lists["rgb"])
    for key, value in {
        "segment_start_times": [last - 2, 0, last - 2],
        "segment_labels": [3, 4, 5],
        "segment_scores": np.array([1, 0, 1], np.float32),
    }.items():
        edit_record(path, 0, set_feature(key, value))
    rows = batches(dataset_for_scoring(source, batch_size=2), 1)[0]
    record = decode_record(read_all(path)[0])
    assert rows["segment_start"].tolist() == [last - 2, 0]
    assert [_ids(r) for r in rows["rated"]] == [[3, 5], [4]]
    assert [_ids(r) for r in rows["labels"]] == [[3, 5], []]
    assert rows["num_frames"].tolist() == [2, 5]
    frames = record.feature_lists["rgb"]
    np.testing.assert_array_equal(rows["rgb"][0, :2], frames[last - 2 :])
    assert not rows["rgb"][0, 2:].any()
    np.testing.assert_array_equal(rows["rgb"][1], frames[:5])
    for row in rows["video_labels"]:
        assert _ids(row) == list(record.features["labels"])


def test_segments_are_counted_where_nobody_did_it_before(tmp_path: Path) -> None:
    source = make_source(tmp_path, Level.SEGMENT)
    assert sum(rows_by_shard(source)) == sum(
        len(np.unique(record.features["segment_start_times"])) for record in _decoded(source)
    )


def test_a_split_without_records_is_an_error_that_names_the_splits(tmp_path: Path) -> None:
    shards = make_source(tmp_path, Level.VIDEO).shards
    with pytest.raises(DataError, match=r"'nosuch'; splits: train"):
        source_of(Manifest(level=Level.VIDEO, shards=shards), "nosuch", FEATURES)


def test_records_that_nobody_has_counted_are_scored_all_the_same(tmp_path: Path) -> None:
    source = make_source(tmp_path, Level.VIDEO)
    shards = tuple(dataclasses.replace(shard, records=0) for shard in source.shards)
    uncounted = dataclasses.replace(source, shards=shards)
    found = [batches(dataset_for_scoring(s, batch_size=8), 99) for s in (uncounted, source)]
    assert len(found[0]) == len(found[1]) > 1


@pytest.mark.parametrize(("verify", "known"), [("full", True), ("checksum", False), ("", False)])
def test_segments_are_known_where_every_record_was_parsed(
    tmp_path: Path, verify: str, known: bool
) -> None:
    shards = make_source(tmp_path, Level.SEGMENT).shards
    manifest = Manifest(level=Level.SEGMENT, shards=shards, verify=verify)
    assert source_of(manifest, "train", FEATURES).segments_known is known
