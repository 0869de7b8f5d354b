"""Labels, names and slice features of batches of records, against the records themselves."""

import numpy as np
import pytest
import tensorflow as tf
from records import (
    drop_feature,
    edit_record,
    make_dataset,
    read_all,
    replace_record,
    set_feature,
)

from yt8m.components.inputs.labels import (
    LabelRequest,
    RecordLabels,
    check_classes,
    parse_labels,
    rated_weights,
)
from yt8m.components.records.decode import decode_record
from yt8m.schemas.errors import DataError
from yt8m.schemas.features import FeatureConfig, Level

SIZES = {"rgb": 16, "audio": 8}
FEATURES = FeatureConfig(names=("rgb", "audio"), sizes=(16, 8), num_classes=20)


def shard(tmp_path, level, **values):
    data = make_dataset(tmp_path / "data", level=level, eval=0, shards=1, sizes=SIZES, **values)
    return next(data.glob("train*.tfrecord"))


def parsed(path, level, **wanted):
    records = tf.constant(read_all(path))
    return parse_labels(records, LabelRequest(level=level, features=FEATURES, **wanted))


@pytest.mark.parametrize("level", [Level.VIDEO, Level.FRAME])
def test_every_records_labels_and_name(tmp_path, level):
    path = shard(tmp_path, level.value)
    batch = parsed(path, level, num_frames=level.is_sequence)
    decoded = [decode_record(record) for record in read_all(path)]
    assert [set(row[row >= 0].tolist()) for row in batch.labels] == [
        set(np.asarray(record.features["labels"]).tolist()) for record in decoded
    ]
    assert batch.ids.tolist() == [record.features["id"][0] for record in decoded]
    if level.is_sequence:
        lengths = [len(record.feature_lists["rgb"]) for record in decoded]
        assert batch.num_frames.tolist() == lengths


def test_segments_are_rows_in_the_records_order(tmp_path):
    path = shard(tmp_path, "segment")
    batch = parsed(path, Level.SEGMENT)
    expected = []
    for record in map(decode_record, read_all(path)):
        ratings = zip(
            np.asarray(record.features["segment_start_times"]).tolist(),
            np.asarray(record.features["segment_labels"]).tolist(),
            np.asarray(record.features["segment_scores"]).tolist(),
            strict=True,
        )
        rows = {}
        for start, label, score in ratings:
            rated, present = rows.setdefault(start, (set(), set()))
            rated.add(label)
            present |= {label} if score == 1 else set()
        name = record.features["id"][0]
        expected += [(name, start, *classes) for start, classes in rows.items()]
    found = [
        (name, start, set(rated[rated >= 0].tolist()), set(labels[labels >= 0].tolist()))
        for name, start, rated, labels in zip(
            batch.ids.tolist(), batch.starts.tolist(), batch.rated, batch.labels, strict=True
        )
    ]
    assert found == expected


def test_starts_that_come_again_add_a_rating_to_their_row(tmp_path):
    path = shard(tmp_path, "segment", train=2)
    for key, values in (
        ("segment_start_times", [40, 5, 40]),
        ("segment_labels", [3, 4, 9]),
    ):
        edit_record(path, 1, set_feature(key, values))
    edit_record(path, 1, set_feature("segment_scores", np.array([1, 0, 0], np.float32)))
    edit_record(path, 0, set_feature("segment_start_times", []))
    edit_record(path, 0, set_feature("segment_labels", []))
    edit_record(path, 0, set_feature("segment_scores", np.array([], np.float32)))
    batch = parsed(path, Level.SEGMENT)
    assert batch.starts.tolist() == [40, 5]
    assert batch.rated.tolist() == [[3, 9], [4, -1]]
    assert batch.labels.tolist() == [[3], [-1]]


def test_starts_beyond_every_video_are_rows_of_their_own_and_change_no_other(tmp_path):
    path, beyond = shard(tmp_path, "segment", train=3), 2**63 - 1
    for number, starts in enumerate(([5, beyond], [2**62, 5, -1, 2**62], [beyond, 0])):
        edit_record(path, number, set_feature("segment_start_times", starts))
        edit_record(path, number, set_feature("segment_labels", list(range(len(starts)))))
        scores = np.ones(len(starts), np.float32)
        edit_record(path, number, set_feature("segment_scores", scores))
    batch = parsed(path, Level.SEGMENT)
    names = [decode_record(record).features["id"][0] for record in read_all(path)]
    assert batch.ids.tolist() == [names[number] for number in (0, 0, 1, 1, 1, 2, 2)]
    assert batch.starts.tolist() == [5, beyond, 2**62, 5, 0, beyond, 0]
    assert batch.rated[:, 0].tolist() == [0, 1, 0, 1, 2, 0, 1]


def test_ratings_that_do_not_match_name_the_video(tmp_path):
    path = shard(tmp_path, "segment", train=2)
    edit_record(path, 1, set_feature("segment_labels", [1]))
    name = decode_record(read_all(path)[1]).features["id"][0].decode()
    with pytest.raises(DataError, match=rf"video {name}: .*1 segment_labels"):
        parsed(path, Level.SEGMENT)


def test_features_to_slice_by_are_texts_whatever_their_type(tmp_path):
    path = shard(tmp_path, "video", train=3)
    edit_record(path, 0, set_feature("country", (b"de",)))
    edit_record(path, 2, set_feature("country", (b"fr", b"de")))
    edit_record(path, 1, set_feature("year", [2018]))
    batch = parsed(path, Level.VIDEO, values=("country", "year"))
    assert batch.values["country"].tolist() == ["de", "none", "fr"]
    assert batch.values["year"].tolist() == ["none", "2018", "none"]


def test_values_to_slice_by_that_differ_have_different_texts(tmp_path):
    path = shard(tmp_path, "video", train=2)
    edit_record(path, 0, set_feature("channel", [20_000_001]))
    edit_record(path, 1, set_feature("channel", [20_000_002]))
    batch = parsed(path, Level.VIDEO, values=("channel",))
    assert batch.values["channel"].tolist() == ["20000001", "20000002"]


@pytest.mark.parametrize("level", list(Level), ids=lambda level: level.value)
def test_the_id_and_the_labels_are_features_to_slice_by_too(tmp_path, level):
    path = shard(tmp_path, level.value, train=3)
    labels = "segment_labels" if level is Level.SEGMENT else "labels"
    batch = parsed(path, level, values=("id", labels))
    assert batch.values["id"].tolist() == [name.decode() for name in batch.ids]
    assert all(text.isdecimal() for text in batch.values[labels])


def test_rated_weights_are_one_where_a_class_was_rated():
    weights = rated_weights(np.array([[1, -1], [0, 3]]), 4)
    assert weights.tolist() == [[0, 1, 0, 0], [1, 0, 0, 1]]


@pytest.mark.parametrize("level", list(Level), ids=lambda level: level.value)
@pytest.mark.parametrize("damage", [b"\xff\xfe bytes", b"bytes"], ids=["no text", "text"])
def test_of_a_batch_the_record_that_is_none_is_named(tmp_path, level, damage):
    path = shard(tmp_path, level.value)
    replace_record(path, 3, damage)
    with pytest.raises(DataError, match=r"record 3 of the batch: not a tf\.Example .*data inspect"):
        parsed(path, level)
    with pytest.raises(DataError, match="record 3 of the batch"):
        parsed(path, level, values=("no-such",))


def test_a_record_without_an_id_has_no_labels_that_could_be_read(tmp_path):
    path = shard(tmp_path, "video")
    edit_record(path, 2, drop_feature("id"))
    with pytest.raises(DataError, match=r"labels cannot be read: .*Feature: id .* required"):
        parsed(path, Level.VIDEO)


def test_labels_and_rated_classes_that_are_no_classes_are_named_with_their_row():
    none, some = np.full((2, 1), -1), np.array([[-1, -1], [4, 7]])
    ids, starts = np.array([b"AB", b"CD"], object), np.array([0, 5])
    rows = RecordLabels(ids=ids, labels=some)
    check_classes(rows, 8)
    with pytest.raises(DataError, match=r"video CD: label 7 is not one of the 7 classes \(0 to 6"):
        check_classes(rows, 7)
    rows = RecordLabels(ids=ids, labels=none, rated=some, starts=starts)
    check_classes(rows, 8)
    with pytest.raises(DataError, match="video CD:5: rated class 7 is not one of the 7 classes"):
        check_classes(rows, 7)
