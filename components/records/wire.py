"""tf.Example and tf.SequenceExample written in protobuf's wire format, without TensorFlow.

A published record has four to ten features, so a general protobuf library costs more than the
bytes themselves. The layout is fixed by tensorflow/core/example/{feature,example}.proto; the
tests parse what is written here with TensorFlow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from yt8m.schemas.features import (
    SEGMENT_END_TIMES,
    SEGMENT_FRAMES,
    SEGMENT_LABELS,
    SEGMENT_SCORES,
    SEGMENT_START_TIMES,
)

_LENGTH_DELIMITED = 2
_BYTES_LIST, _FLOAT_LIST, _INT64_LIST = 1, 2, 3


def varint(value: int) -> bytes:
    """`value` in protobuf's base-128 form; negative numbers take ten bytes."""
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number: int, payload: bytes) -> bytes:
    """A length-delimited field: its key, the payload's length, the payload."""
    return bytes((number << 3 | _LENGTH_DELIMITED,)) + varint(len(payload)) + payload


def bytes_feature(*values: bytes) -> bytes:
    """A Feature that holds texts or raw bytes."""
    return field(_BYTES_LIST, b"".join(field(1, value) for value in values))


def float_feature(values: np.ndarray | Sequence[float]) -> bytes:
    """A Feature that holds float32 numbers, packed."""
    return field(_FLOAT_LIST, field(1, np.asarray(values, dtype="<f4").tobytes()))


def int64_feature(values: Sequence[int] | np.ndarray) -> bytes:
    """A Feature that holds integers, packed; an empty list is an empty Int64List."""
    packed = b"".join(varint(int(value)) for value in values)
    return field(_INT64_LIST, field(1, packed) if packed else b"")


def frames_feature_list(frames: np.ndarray) -> bytes:
    """A FeatureList of one bytes Feature a frame, from [frames, size] uint8."""
    count, size = frames.shape
    value = field(1, bytes(size))  # in a BytesList
    feature = field(_BYTES_LIST, value)
    entry = field(1, feature)  # in the FeatureList
    header = np.frombuffer(entry[: len(entry) - size], dtype=np.uint8)
    return np.hstack([np.broadcast_to(header, (count, len(header))), frames]).tobytes()


def segment_ratings(
    starts: np.ndarray, classes: Sequence[int] | np.ndarray, scores: Sequence[float] | np.ndarray
) -> dict[str, bytes]:
    """The context features of rated segments, which last SEGMENT_FRAMES from their starts."""
    return {
        SEGMENT_START_TIMES: int64_feature(starts),
        SEGMENT_END_TIMES: int64_feature(starts + SEGMENT_FRAMES),
        SEGMENT_LABELS: int64_feature(classes),
        SEGMENT_SCORES: float_feature(scores),
    }


def encode_example(features: Mapping[str, bytes]) -> bytes:
    """A serialized tf.Example of encoded Features."""
    return field(1, _map(features))


def encode_sequence_example(
    context: Mapping[str, bytes], feature_lists: Mapping[str, bytes]
) -> bytes:
    """A serialized tf.SequenceExample of encoded Features and FeatureLists."""
    return field(1, _map(context)) + field(2, _map(feature_lists))


def _map(values: Mapping[str, bytes]) -> bytes:
    return b"".join(
        field(1, field(1, key.encode()) + field(2, value)) for key, value in values.items()
    )
