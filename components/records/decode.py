"""Records read from protobuf's wire format, without TensorFlow.

For looking at single records, telling their level, saying what is wrong with one, and for training
at the sequence levels: where all frames have one size they are a view of the record, which takes a
tenth of the time that TensorFlow's parser does. It is strict: what it takes, every reader of
protobuf takes, and all of them find the same in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from yt8m.schemas.features import SEGMENT_LABELS, SEGMENT_START_TIMES, Level

_VARINT, _LENGTH_DELIMITED, _FIXED32 = 0, 2, 5
_FIRST = 1 << 3 | _LENGTH_DELIMITED  # the key of field 1: a text, a message, or packed numbers
_MAX_VARINT_BYTES = 10
_OF_NO_KIND = np.empty(0, bool)

Value = tuple[bytes, ...] | np.ndarray  # of float32 or int64; of bool where no kind is said
_Part = bytes | memoryview  # of a record, which no part of it is copied from
# [frames, size] uint8 where all frames have one size, else the frames as they are.
Frames = np.ndarray | tuple[Value, ...]


class MalformedRecord(ValueError):  # noqa: N818  (names a thing found, which callers collect)
    """The bytes are no tf.Example and no tf.SequenceExample."""


@dataclass(frozen=True)
class Record:
    """A decoded tf.Example, or tf.SequenceExample where `is_sequence`."""

    features: dict[str, Value]  # of the context, in a sequence
    feature_lists: dict[str, Frames] = field(default_factory=dict)
    is_sequence: bool = False

    @property
    def level(self) -> Level:
        """A segment-level record without ratings, as in test shards, counts as frame-level."""
        if not self.is_sequence:
            return Level.VIDEO
        rated = SEGMENT_LABELS in self.features or SEGMENT_START_TIMES in self.features
        return Level.SEGMENT if rated else Level.FRAME

    @property
    def num_frames(self) -> int:
        return max((len(frames) for frames in self.feature_lists.values()), default=0)

    @property
    def num_segments(self) -> int:
        """A segment that several classes are rated for counts once."""
        return len(set(self.features.get(SEGMENT_START_TIMES, ())))


def decode_record(data: bytes | memoryview) -> Record:
    """The record in `data`, of either kind; MalformedRecord if it is of neither."""
    features: dict[str, Value] = {}
    feature_lists: dict[str, Frames] = {}
    for number, payload in _fields(memoryview(data)):
        if number == 1:
            # As bytes, which Python takes apart in half the time that a view takes.
            features |= decode_context(bytes(payload))
        elif number == 2:
            feature_lists |= {key: _feature_list(value) for key, value in _map(payload)}
        else:
            raise MalformedRecord(f"field {number} belongs to no tf.Example")
    if not features and not feature_lists:
        raise MalformedRecord("holds no feature")
    # Published video-level records have field 2 as well, empty: only its content tells.
    return Record(features, feature_lists, bool(feature_lists))


def context_of(data: bytes | memoryview) -> bytes:
    """The bytes of a record's features beside its frames, as `decode_context` takes them."""
    return b"".join(bytes(payload) for number, payload in _fields(memoryview(data)) if number == 1)


def decode_context(context: bytes) -> dict[str, Value]:
    """The features in `context`; MalformedRecord if they are none."""
    return {key: _feature(value) for key, value in _map(context)}


def _map(payload: _Part) -> Iterator[tuple[str, _Part]]:
    for number, entry in _fields(payload):
        if number != 1:
            raise MalformedRecord(f"field {number} belongs to no map of features")
        fields = list(_fields(entry))
        parts = dict(fields)
        if len(parts) < len(fields) or not parts.keys() <= {1, 2}:
            raise MalformedRecord("a feature is more than a name and its values")
        try:
            yield bytes(parts[1]).decode(), parts.get(2, b"")
        except (KeyError, UnicodeDecodeError) as error:
            raise MalformedRecord("a feature has no readable name") from error


def _feature(payload: _Part) -> Value:
    kinds = list(_fields(payload))
    if not kinds:
        return _OF_NO_KIND
    if len(kinds) > 1:
        raise MalformedRecord("a feature holds several lists")
    number, values = kinds[0]
    if number == 1:
        return tuple(map(bytes, _listed(values)))
    if number == 2:
        return _floats(values)
    if number == 3:
        return _integers(values)
    raise MalformedRecord(f"field {number} belongs to no feature")


def _floats(payload: _Part) -> np.ndarray:
    parts = [_whole_floats(payload[start:end]) for start, end in _packed(payload, _FIXED32)]
    return np.concatenate(parts) if parts else np.empty(0, np.float32)


def _whole_floats(chunk: _Part) -> np.ndarray:
    if len(chunk) % 4:
        raise MalformedRecord(f"{len(chunk)} bytes are not a whole number of floats")
    return np.frombuffer(chunk, dtype="<f4")


def _integers(payload: _Part) -> np.ndarray:
    values: list[int] = []
    for at, end in _packed(payload, _VARINT):
        while at < end:
            value, at = _varint(payload, at) if payload[at] > 0x7F else (payload[at], at + 1)
            values.append(value)
        if at != end:
            raise MalformedRecord("a list of integers breaks off")
    return np.array(values, dtype=np.uint64).astype(np.int64)


def _packed(payload: _Part, alone: int) -> Iterator[tuple[int, int]]:
    """Where the numbers of a list begin and end: packed, or each of the wire type `alone`."""
    at = 0
    while at < len(payload):
        key, at = _varint(payload, at)
        if key == _FIRST:
            length, at = _varint(payload, at)
            end = at + length
        elif key == 1 << 3 | alone:
            end = at + 4 if alone == _FIXED32 else _varint(payload, at)[1]
        else:
            raise MalformedRecord(f"wire type {key & 7} is no list of numbers")
        if end > len(payload):
            raise MalformedRecord("a list of numbers breaks off")
        yield at, end
        at = end


def _feature_list(payload: _Part) -> Frames:
    fast = _equal_frames(payload)
    if fast is not None:
        return fast
    return tuple(map(_feature, _listed(payload)))


def _listed(payload: _Part) -> Iterator[_Part]:
    for number, value in _fields(payload):
        if number != 1:
            raise MalformedRecord(f"field {number} belongs to no list")
        yield value


def _equal_frames(payload: _Part) -> np.ndarray | None:
    """All frames together, where each is one text of the same size; None where that is not so."""
    size = start = 0
    ends = set()
    for _ in range(3):  # entry of the list, BytesList, value: each a key and a length
        if start >= len(payload) or payload[start] != _FIRST:
            return None
        size, start = _varint(payload, start + 1)
        ends.add(start + size)
    stride = ends.pop()
    # All three end at the same byte: one holds nothing but the next.
    if ends or size == 0 or stride > len(payload) or len(payload) % stride:
        return None
    table = np.frombuffer(payload, dtype=np.uint8).reshape(-1, stride)
    if (table[:, :start] != table[0, :start]).any():
        return None
    return table[:, start:]


def _fields(data: _Part) -> Iterator[tuple[int, _Part]]:
    """Number and payload of each field; in records all but single numbers have a length."""
    at, size = 0, len(data)
    while at < size:
        key, at = _varint(data, at)
        number = key >> 3
        if key & 7 != _LENGTH_DELIMITED or not number:
            raise MalformedRecord(f"wire type {key & 7} of field {number} is in no record")
        length, at = _varint(data, at)
        end = at + length
        if end > size:
            raise MalformedRecord("a field is longer than the record")
        yield number, data[at:end]
        at = end


def _varint(data: _Part, at: int) -> tuple[int, int]:
    if at < len(data) and data[at] < 0x80:
        return data[at], at + 1
    value = shift = 0
    for i in range(at, min(at + _MAX_VARINT_BYTES, len(data))):
        byte = data[i]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, i + 1
        shift += 7
    raise MalformedRecord("a number is cut off")
