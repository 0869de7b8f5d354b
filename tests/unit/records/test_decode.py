"""Records written and read without TensorFlow (tests/integration/records holds it against it)."""

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from records import encode_record

from yt8m.components.records.decode import MalformedRecord, Record, decode_record
from yt8m.components.records.wire import (
    bytes_feature,
    encode_example,
    encode_sequence_example,
    field,
    float_feature,
    frames_feature_list,
    int64_feature,
)
from yt8m.schemas.features import Level

INT64 = st.integers(-(2**63), 2**63 - 1)
VALUES = st.one_of(
    st.lists(st.binary(max_size=20), max_size=4).map(lambda v: bytes_feature(*v)),
    st.lists(st.floats(width=32), max_size=9).map(float_feature),
    st.lists(INT64, max_size=9).map(int64_feature),
)


def same(a, b):
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    return a == b


@given(st.lists(INT64, max_size=9))
def test_integers_come_back(values):
    record = decode_record(encode_example({"a": int64_feature(values)}))
    assert record.features["a"].dtype == np.int64
    assert record.features["a"].tolist() == values


@given(st.lists(st.floats(width=32), max_size=9))
def test_numbers_come_back(values):
    found = decode_record(encode_example({"a": float_feature(values)})).features["a"]
    assert found.dtype == np.float32
    assert np.array_equal(found, np.array(values, np.float32), equal_nan=True)


@given(st.dictionaries(st.text(max_size=9), VALUES, min_size=1, max_size=5))
def test_encoding_what_was_decoded_gives_the_same_record(features):
    record = decode_record(encode_example(features))
    again = decode_record(encode_record(record))
    assert record.features.keys() == again.features.keys() == features.keys()
    assert all(same(record.features[key], again.features[key]) for key in features)


@given(st.integers(1, 9), st.integers(1, 200), st.integers(0, 2**32 - 1))
def test_frames_of_one_size_come_back_as_one_array(count, size, seed):
    frames = np.random.default_rng(seed).integers(0, 256, (count, size), dtype=np.uint8)
    data = encode_sequence_example({}, {"rgb": frames_feature_list(frames)})
    found = decode_record(data).feature_lists["rgb"]
    assert isinstance(found, np.ndarray)
    assert np.array_equal(found, frames)


def test_frames_of_different_size_come_back_one_by_one():
    entries = [bytes_feature(b"abc"), bytes_feature(b"de"), bytes_feature(b"fgh")]
    payload = b"".join(field(1, entry) for entry in entries)
    found = decode_record(encode_sequence_example({}, {"rgb": payload})).feature_lists["rgb"]
    assert found == ((b"abc",), (b"de",), (b"fgh",))


def test_frames_whose_bytes_imitate_a_header_are_not_confused():
    # 6 bytes of content that look like another entry of the list.
    inner = field(1, bytes_feature(b""))
    entries = [field(1, bytes_feature(inner)), field(1, bytes_feature(inner))]
    found = decode_record(encode_sequence_example({}, {"rgb": b"".join(entries)}))
    assert [bytes(frame) for frame in found.feature_lists["rgb"]] == [inner, inner]


def test_numbers_that_are_not_packed_are_read_too():
    # Writers may give each value a field of its own: key, then the value.
    floats = b"".join(b"\x0d" + np.float32(x).tobytes() for x in (1.5, -2.0))
    integers = b"\x08\x07\x08\x03"
    record = decode_record(encode_example({"f": field(2, floats), "i": field(3, integers)}))
    assert record.features["f"].tolist() == [1.5, -2.0]
    assert record.features["i"].tolist() == [7, 3]


@given(st.binary(max_size=60))
def test_any_bytes_are_a_record_or_malformed(data):
    with contextlib.suppress(MalformedRecord):  # any other error fails the test
        decode_record(data)


@given(st.data())
def test_a_cut_record_is_malformed_or_a_record_and_never_another_error(data):
    whole = encode_example({"id": bytes_feature(b"abcd"), "x": float_feature([1, 2, 3])})
    with contextlib.suppress(MalformedRecord):
        decode_record(whole[: data.draw(st.integers(0, len(whole) - 1))])


@pytest.mark.parametrize(
    ("context", "lists", "level"),
    [
        ({"id": b"", "mean_rgb": b""}, None, Level.VIDEO),
        ({"id": b"", "mean_rgb": b""}, {}, Level.VIDEO),  # as published: an empty field 2
        ({"id": b""}, {"rgb": b""}, Level.FRAME),
        ({"id": b"", "segment_labels": b""}, {"rgb": b""}, Level.SEGMENT),
        ({"id": b"", "segment_start_times": b""}, {"rgb": b""}, Level.SEGMENT),
    ],
)
def test_level_is_told_by_the_features(context, lists, level):
    data = encode_example(context) if lists is None else encode_sequence_example(context, lists)
    assert decode_record(data).level is level


def test_an_empty_record_is_malformed():
    with pytest.raises(MalformedRecord, match="no feature"):
        decode_record(b"")


def test_record_without_feature_lists_is_no_sequence():
    assert not Record({"id": (b"x",)}).is_sequence
