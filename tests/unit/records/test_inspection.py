"""What inspection says of sound and of damaged data sets."""

import numpy as np
import pytest
from records import (
    drop_feature,
    edit_record,
    make_dataset,
    read_all,
    replace_record,
    set_feature,
    set_frames,
)

from yt8m.components.records.decode import decode_record
from yt8m.components.records.inspection import KEPT_PROBLEMS, Inspection
from yt8m.components.records.wire import bytes_feature, encode_example


def inspect(*paths, num_classes=20):
    inspection = Inspection(num_classes=num_classes)
    for path in paths:
        inspection.add_shard(path.name, enumerate(read_all(path)))
    return inspection


@pytest.mark.parametrize("level", ["video", "frame", "segment"])
def test_generated_data_has_no_problem_and_right_figures(tmp_path, level):
    data = make_dataset(tmp_path / "data", level=level, train=30, test=6)
    shards = sorted(data.glob("*.tfrecord"))
    found = inspect(*shards)
    records = [decode_record(record) for path in shards for record in read_all(path)]
    assert found.problems == []
    assert found.records == len(records)
    assert found.unlabelled == 6
    assert found.labels == sum(len(r.features.get("labels", ())) for r in records)
    assert found.frames == sum(len(r.feature_lists.get("rgb", ())) for r in records)
    assert sum(found.rated_counts.values()) == (5 * 42 if level == "segment" else 0)
    expected = {"video": {"mean_rgb", "mean_audio"}}.get(level, {"rgb", "audio"})
    assert found.expected.sizes.keys() == expected == found.value_range.keys()


VIDEO_FAULTS = [
    (drop_feature("mean_rgb"), "feature mean_rgb is missing"),
    (drop_feature("id"), "feature id is missing"),
    (set_feature("id", (b"a", b"b")), "feature id must be one text"),
    (set_feature("mean_audio", np.ones(127, np.float32)), "has 127 values, not 128"),
    (set_feature("mean_rgb", np.full(1024, np.nan, np.float32)), "mean_rgb holds NaN"),
    (set_feature("labels", [3, -1]), "label -1 is outside 0..19"),
    (set_feature("labels", [20]), "label 20 is outside 0..19"),
    (set_feature("labels", [4, 4]), "label 4 is given twice"),
    (set_feature("labels", (b"Game",)), "labels must hold integers"),
    (set_feature("labels", []), "no labels"),
]
FRAME_FAULTS = [
    (set_frames("rgb", np.zeros((7, 1024), np.uint8)), "in the number of frames (rgb 7, audio"),
    (
        set_frames("audio", np.zeros((9, 100), np.uint8)),
        "audio has 100 bytes, not 128",
    ),
    (
        set_frames("audio", ((b"x" * 128,), (b"y",))),
        "audio has 1 bytes, not 128",
    ),
    (drop_feature("audio"), "feature audio is missing"),
]
SEGMENT_FAULTS = [
    (set_feature("segment_labels", [1, 2]), "the segments' features differ in length"),
    (set_feature("segment_end_times", [9, 9, 9, 9, 9]), "frames long, not 5"),
    (set_feature("segment_scores", np.full(5, 2.0, np.float32)), "segment score 2 is outside 0..1"),
    (set_feature("segment_labels", [1, 2, 3, 4, 99]), "segment label 99 is outside 0..19"),
]


@pytest.mark.parametrize(
    ("level", "edit", "reason"),
    [("video", *case) for case in VIDEO_FAULTS]
    + [("frame", *case) for case in FRAME_FAULTS]
    + [("segment", *case) for case in SEGMENT_FAULTS],
)
def test_a_bad_record_is_named_with_its_shard_and_number(tmp_path, level, edit, reason):
    shard = make_dataset(tmp_path / "data", level=level, train=8, shards=1) / "train0000.tfrecord"
    edit_record(shard, 5, edit)
    found = inspect(shard)
    texts = [str(problem) for problem in found.problems]
    assert any(reason in text for text in texts), texts
    assert all(text.startswith("train0000.tfrecord, record 5: ") for text in texts)
    assert found.records == 8


def test_bytes_that_are_no_record_and_ids_given_twice_are_problems(tmp_path):
    shard = make_dataset(tmp_path / "data", train=6, shards=1) / "train0000.tfrecord"
    replace_record(shard, 2, b"\xff\xff\xff")
    replace_record(shard, 4, read_all(shard)[1])
    texts = [str(problem) for problem in inspect(shard).problems]
    assert [text.partition(":")[0].rpartition(" ")[2] for text in texts] == ["2", "4"]
    assert "not a tf.Example" in texts[0]
    assert "of record 1" in texts[1]


def test_frame_records_among_video_records_are_problems(tmp_path):
    videos = make_dataset(tmp_path / "videos", train=2, shards=1) / "train0000.tfrecord"
    frames = make_dataset(tmp_path / "frames", level="frame", train=3, shards=1)
    found = inspect(videos, frames / "train0000.tfrecord")
    assert found.num_problems == 3
    assert dict(found.levels) == {"video": 2, "frame": 3}
    assert "a frame-level record, and the first record says level=video" in str(found.problems[0])


def test_a_feature_that_the_first_record_has_not_is_counted_by_records(tmp_path):
    shard = make_dataset(tmp_path / "data", train=6, shards=1) / "train0000.tfrecord"
    for record in (2, 3, 5):
        edit_record(shard, record, set_feature("title", [1]))
    found = inspect(shard)
    assert found.warnings == {"feature title is not among those of the first record": 3}


def test_an_empty_shard_is_a_problem():
    inspection = Inspection()
    inspection.add_shard("nothing", [])
    assert [str(problem) for problem in inspection.problems] == [
        "nothing: holds no readable record"
    ]


def test_problems_beyond_the_limit_are_counted_not_kept():
    inspection = Inspection()
    record = encode_example({"id": bytes_feature(b"same")})
    inspection.add_shard("s", enumerate([record] * (KEPT_PROBLEMS + 51)))
    assert len(inspection.problems) == KEPT_PROBLEMS
    assert inspection.num_problems == KEPT_PROBLEMS + 50
