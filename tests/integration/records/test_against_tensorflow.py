"""Records written and read without TensorFlow, held against TensorFlow's own parser."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from records import make_dataset, read_all

from yt8m.components.records.decode import decode_record
from yt8m.components.records.wire import (
    bytes_feature,
    encode_example,
    encode_sequence_example,
    float_feature,
    frames_feature_list,
    int64_feature,
)

INT64 = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(INT64), st.lists(st.floats(width=32)), st.lists(st.binary(max_size=300)))
@settings(deadline=None)
def test_protobuf_reads_what_is_written(integers, floats, texts):
    written = encode_example(
        {"i": int64_feature(integers), "f": float_feature(floats), "b": bytes_feature(*texts)}
    )
    features = tf.train.Example.FromString(written).features.feature
    assert list(features["i"].int64_list.value) == integers
    assert np.array_equal(features["f"].float_list.value, np.float32(floats), equal_nan=True)
    assert list(features["b"].bytes_list.value) == texts


@given(st.lists(INT64), st.lists(st.floats(width=32)), st.lists(st.binary(max_size=300)))
@settings(deadline=None)
def test_what_protobuf_writes_is_read(integers, floats, texts):
    example = tf.train.Example()
    features = example.features.feature
    features["i"].int64_list.value.extend(integers)
    features["f"].float_list.value.extend(floats)
    features["b"].bytes_list.value.extend(texts)
    found = decode_record(example.SerializeToString()).features
    assert list(found["i"]) == integers
    assert np.array_equal(np.float32(found["f"]), np.float32(floats), equal_nan=True)
    assert list(found["b"]) == texts


def test_sequence_written_by_protobuf_is_read():
    frames = np.random.default_rng(0).integers(0, 256, (7, 128), dtype=np.uint8)
    sequence = tf.train.SequenceExample()
    sequence.context.feature["id"].bytes_list.value.append(b"abcd")
    for frame in frames:
        added = sequence.feature_lists.feature_list["audio"].feature.add()
        added.bytes_list.value.append(frame.tobytes())
    data = sequence.SerializeToString()
    assert np.array_equal(decode_record(data).feature_lists["audio"], frames)
    ours = encode_sequence_example(
        {"id": bytes_feature(b"abcd")}, {"audio": frames_feature_list(frames)}
    )
    assert tf.train.SequenceExample.FromString(ours) == sequence


@pytest.mark.parametrize("level", ["video", "frame", "segment"])
def test_tf_data_reads_the_generated_files_record_by_record(tmp_path, level):
    data = make_dataset(tmp_path / "data", level=level, train=70)
    for path in sorted(data.glob("*.tfrecord")):
        assert list(tf.data.TFRecordDataset(str(path)).as_numpy_iterator()) == read_all(path)


def test_parse_example_reads_generated_videos(tmp_path):
    path = make_dataset(tmp_path / "data", shards=1) / "train0000.tfrecord"
    records = read_all(path)
    parsed = tf.io.parse_example(
        records,
        {
            "id": tf.io.FixedLenFeature([], tf.string),
            "labels": tf.io.RaggedFeature(tf.int64),
            "mean_rgb": tf.io.FixedLenFeature([1024], tf.float32),
            "mean_audio": tf.io.FixedLenFeature([128], tf.float32),
        },
    )
    for i, record in enumerate(map(decode_record, records)):
        assert parsed["id"][i].numpy() == record.features["id"][0]
        assert parsed["labels"][i].numpy().tolist() == record.features["labels"].tolist()
        assert np.array_equal(parsed["mean_rgb"][i], record.features["mean_rgb"])
        assert np.array_equal(parsed["mean_audio"][i], record.features["mean_audio"])


def test_parse_sequence_example_reads_generated_segments(tmp_path):
    path = make_dataset(tmp_path / "data", level="segment", shards=1) / "train0000.tfrecord"
    integers = ("labels", "segment_start_times", "segment_end_times", "segment_labels")
    context = {key: tf.io.RaggedFeature(tf.int64) for key in integers}
    context["segment_scores"] = tf.io.RaggedFeature(tf.float32)
    context["id"] = tf.io.FixedLenFeature([], tf.string)
    lists = {key: tf.io.FixedLenSequenceFeature([], tf.string) for key in ("rgb", "audio")}
    for data in read_all(path):
        found, frames = tf.io.parse_single_sequence_example(data, context, lists)
        record = decode_record(data)
        for key in (*integers, "segment_scores"):
            assert found[key].numpy().tolist() == record.features[key].tolist()
        for key in lists:
            stored = tf.io.decode_raw(frames[key], tf.uint8).numpy()
            assert np.array_equal(stored, record.feature_lists[key])
