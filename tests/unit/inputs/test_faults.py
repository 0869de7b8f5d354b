"""A record that cannot be read is named, with its shard and byte, and not TensorFlow's stack."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from records import (
    drop_feature,
    edit_record,
    flip_byte_in_record,
    read_all,
    record_offsets,
    replace_record,
    set_feature,
    set_frames,
    truncate,
    write_all,
)
from sources import batches, make_source

from yt8m.components.inputs.config import BatchSlice, Source
from yt8m.components.inputs.dataset import dataset_for_scoring, dataset_for_training
from yt8m.components.inputs.faults import ChangedShard, explaining_faults, find_fault
from yt8m.schemas.errors import DataError
from yt8m.schemas.features import Level

Damage = Callable[[Path], None]
RECORD = 4

VIDEO_DAMAGE: dict[str, tuple[Damage, str]] = {
    "checksum": (lambda p: flip_byte_in_record(p, RECORD), "wrong checksum"),
    "cut off": (lambda p: truncate(p, record_offsets(p)[RECORD] + 40), "the file is cut off here"),
    "not a record": (
        lambda p: replace_record(p, RECORD, b"\xff\xff\xff"),
        "not a tf.Example",
    ),
    "missing": (lambda p: edit_record(p, RECORD, drop_feature("mean_rgb")), "mean_rgb"),
    "size": (
        lambda p: edit_record(p, RECORD, set_feature("mean_rgb", np.zeros(3, np.float32))),
        "mean_rgb",
    ),
}
FRAME_DAMAGE: dict[str, tuple[Damage, str]] = {
    "checksum": VIDEO_DAMAGE["checksum"],
    "frame size": (
        lambda p: edit_record(p, RECORD, set_frames("rgb", np.zeros((9, 3), np.uint8))),
        "frame 0 of feature rgb has 3 bytes, not 16",
    ),
    "frame count": (
        lambda p: edit_record(p, RECORD, set_frames("rgb", np.zeros((5, 16), np.uint8))),
        "differ in the number of frames",
    ),
}


def _read_until_it_fails(source: Source) -> None:
    with explaining_faults(source):
        batches(dataset_for_training(source, BatchSlice(global_batch_size=10)), 20)


@pytest.mark.parametrize(
    ("level", "damage"),
    [(Level.VIDEO, name) for name in VIDEO_DAMAGE] + [(Level.FRAME, name) for name in FRAME_DAMAGE],
)
def test_training_names_the_damaged_record(level: Level, damage: str, tmp_path: Path) -> None:
    source = make_source(tmp_path, level)
    path = Path(source.shards[3].uri)
    offset = record_offsets(path)[RECORD]
    harm, reason = (VIDEO_DAMAGE if level is Level.VIDEO else FRAME_DAMAGE)[damage]
    harm(path)
    with pytest.raises(DataError) as caught:
        _read_until_it_fails(source)
    message = str(caught.value)
    assert f"{path}: record {RECORD} at byte {offset}: " in message
    assert reason in message


def test_a_shard_that_has_shrunk_since_the_manifest_is_named(tmp_path: Path) -> None:
    source = make_source(tmp_path, Level.VIDEO)
    path = Path(source.shards[2].uri)
    write_all(path, read_all(path)[:-1])
    with pytest.raises(DataError, match=r"has 9 records, but 10 when the manifest was written"):
        _read_until_it_fails(source)


def test_a_shard_that_has_gone_is_named(tmp_path: Path) -> None:
    source = make_source(tmp_path, Level.VIDEO)
    path = Path(source.shards[1].uri)
    path.unlink()
    with pytest.raises(DataError, match=f"{path}: cannot be read"):
        _read_until_it_fails(source)


def test_scoring_names_the_damaged_record_too(tmp_path: Path) -> None:
    source = make_source(tmp_path, Level.SEGMENT)
    path = Path(source.shards[0].uri)
    flip_byte_in_record(path, 2)
    with pytest.raises(DataError, match=f"{path}: record 2 at byte"), explaining_faults(source):
        batches(dataset_for_scoring(source, batch_size=8), 99)


def test_a_label_that_is_no_class_is_found(tmp_path: Path) -> None:
    source = make_source(tmp_path, Level.VIDEO)
    edit_record(Path(source.shards[0].uri), 1, set_feature("labels", [2, 20]))
    assert "label 20 is outside 0..19" in (find_fault(source) or "")


@pytest.mark.parametrize("level", list(Level))
def test_an_error_that_the_data_did_not_cause_passes_unchanged(
    level: Level, tmp_path: Path
) -> None:
    source = make_source(tmp_path, level)
    with pytest.raises(tf.errors.InvalidArgumentError), explaining_faults(source):
        tf.debugging.assert_equal(1, 2)


def test_a_shard_that_was_exchanged_while_it_is_read_is_one_message(tmp_path: Path) -> None:
    source = make_source(tmp_path, Level.VIDEO)

    def read() -> np.ndarray:
        raise ChangedShard(f"{source.shards[0].uri}: checksums are not those of its index")

    records = tf.data.Dataset.range(1).map(lambda _: tf.numpy_function(read, [], tf.string))
    with pytest.raises(DataError) as raised, explaining_faults(source):
        list(records)
    assert str(raised.value) == (
        f"{source.shards[0].uri}: checksums are not those of its index; restore it, or run again "
        "to take it as it is"
    )
