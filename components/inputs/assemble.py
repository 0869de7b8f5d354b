"""Batches of the sequence levels, put together from serialized records by numpy.

Frames are copied once, from where they lie in the record to where they lie in the batch;
TensorFlow's parser would make a text of each of them first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from yt8m.components.records.decode import Record, decode_record
from yt8m.schemas.batch import NO_LABEL, NUM_FRAMES, RATED, VIDEO_LABELS
from yt8m.schemas.features import (
    LABELS,
    PRESENT_SCORE,
    SEGMENT_FRAMES,
    SEGMENT_LABELS,
    SEGMENT_SCORES,
    SEGMENT_START_TIMES,
    FeatureConfig,
)

Row = dict[str, np.ndarray]  # frames of each feature, and lists of labels

_ALIGNMENT = 64  # bytes; TensorFlow takes an array over that begins so, and copies others


def frame_row(record: bytes, features: FeatureConfig) -> Row:
    """A whole video: [frames, size] uint8 of each feature, and its labels."""
    decoded = decode_record(record)
    return {**frames_of(decoded, features), LABELS: _integers(decoded, LABELS)}


def frames_of(record: Record, features: FeatureConfig) -> Row:
    """`[frames, size] uint8` of each feature; ValueError where the features do not agree."""
    return {name: f[: features.max_frames] for name, f in _frames(record, features).items()}


def segment_rows(record: bytes, features: FeatureConfig) -> list[Row]:
    """The rated segments of a video, in the order in which their starts first come."""
    decoded = decode_record(record)
    frames = _frames(decoded, features)
    starts = _integers(decoded, SEGMENT_START_TIMES)
    classes = _integers(decoded, SEGMENT_LABELS)
    present = np.asarray(decoded.features.get(SEGMENT_SCORES, ())) >= PRESENT_SCORE
    rows = []
    for start in dict.fromkeys(starts.tolist()):
        rated = starts == start
        row = _cut(frames, start)
        row[LABELS], row[RATED] = classes[rated & present], classes[rated]
        row[VIDEO_LABELS] = _integers(decoded, LABELS)
        rows.append(row)
    return rows


def stack(rows: Sequence[Row], features: FeatureConfig) -> Row:
    """One batch: frames padded with zeros, labels with -1, and how many frames each row has."""
    batch = {name: _stack_frames([r[name] for r in rows]) for name in features.names}
    lists = [key for key in (LABELS, RATED, VIDEO_LABELS) if key in rows[0]]
    batch |= {key: _stack_labels([row[key] for row in rows]) for key in lists}
    first = features.names[0]
    counts = [row[NUM_FRAMES][0] if NUM_FRAMES in row else len(row[first]) for row in rows]
    batch[NUM_FRAMES] = np.array(counts, np.int32)
    return batch


def _frames(record: Record, features: FeatureConfig) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    for name, size in features.size_by_name.items():
        frames = record.feature_lists.get(name)
        if not isinstance(frames, np.ndarray) or frames.shape[1] != size:
            raise ValueError(f"frames of feature {name} are not all of {size} bytes")
        found[name] = frames
    if len({len(frames) for frames in found.values()}) > 1:
        raise ValueError("features of a record differ in their number of frames")
    return found


def _cut(frames: dict[str, np.ndarray], start: int) -> Row:
    """Five frames from `start` on, zeros where the video has ended."""
    total = len(next(iter(frames.values())))
    wanted = start + np.arange(SEGMENT_FRAMES)
    within = (wanted >= 0) & (wanted < total)
    row: Row = {}
    for name, values in frames.items():
        row[name] = np.zeros((SEGMENT_FRAMES, values.shape[1]), np.uint8)
        row[name][within] = values[wanted[within]]
    row[NUM_FRAMES] = np.count_nonzero(within, keepdims=True)
    return row


def _integers(record: Record, key: str) -> np.ndarray:
    return np.asarray(record.features.get(key, ()), np.int64)


def _stack_frames(rows: Sequence[np.ndarray]) -> np.ndarray:
    longest = max(map(len, rows))
    out = _aligned((len(rows), longest, rows[0].shape[1]))
    for into, frames in zip(out, rows, strict=True):
        into[: len(frames)] = frames
        into[len(frames) :] = 0
    return out


def _stack_labels(rows: Sequence[np.ndarray]) -> np.ndarray:
    out = np.full((len(rows), max(map(len, rows))), NO_LABEL, np.int64)
    for into, labels in zip(out, rows, strict=True):
        into[: len(labels)] = labels
    return out


def _aligned(shape: tuple[int, ...]) -> np.ndarray:
    size = int(np.prod(shape))
    buffer = np.empty(size + _ALIGNMENT, np.uint8)
    first = -buffer.ctypes.data % _ALIGNMENT
    return buffer[first : first + size].reshape(shape)
