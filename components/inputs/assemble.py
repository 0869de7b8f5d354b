"""Batches of the sequence levels, put together from serialized records by numpy.

Frames are copied once, from where they lie in the record to where they lie in the batch;
TensorFlow's parser would make a text of each of them first.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from yt8m.components.inputs.batch_memory import BatchMemory
from yt8m.components.inputs.frame_choice import FrameChooser
from yt8m.components.inputs.frame_record import DecodedFrames, FrameRecord
from yt8m.components.preprocessing.arithmetic import mean_of_normalized_frames
from yt8m.components.records.decode import Record, decode_record
from yt8m.components.records.wire import frames_feature_list
from yt8m.schemas.batch import MEAN_FRAMES, NO_LABEL, NUM_FRAMES, RATED, VIDEO_LABELS
from yt8m.schemas.features import (
    LABELS,
    PRESENT_SCORE,
    SEGMENT_FRAMES,
    SEGMENT_LABELS,
    SEGMENT_SCORES,
    SEGMENT_START_TIMES,
    FeatureConfig,
)

Row = dict[str, Any]  # frames of each feature, and lists of labels

_MEAN = np.dtype("<f4")


def stack_videos(
    records: Iterable[bytes | memoryview | FrameRecord],
    lengths: np.ndarray,
    features: FeatureConfig,
    columns: Sequence[str],
    chooser: FrameChooser | None,
    memory: BatchMemory,
) -> Row:
    """One batch of videos, from records of these `lengths` in bytes: whole, or the frames chosen.

    Each is copied into the batch before the next one is asked for. `columns` are integers of each
    record that the batch has beside the labels.
    """
    most = min(features.max_frames, int(lengths.max()) // _bytes_of_frame(features))
    most = most if chooser is None else chooser.frames
    batch = {
        name: memory.array(name, (len(lengths), most, size))
        for name, size in features.size_by_name.items()
    }
    counts = np.zeros(len(lengths), np.int32)
    lists: dict[str, list[np.ndarray]] = {name: [] for name in (LABELS, *columns)}
    for at, record in enumerate(records):
        video = _video(record, features)
        for name, values in _taken(video, chooser, at, features.max_frames).items():
            counts[at] = len(values)
            _fill(batch[name][at], values)
        for name, rows in lists.items():
            rows.append(_integers(video, name))
    longest = counts.max()
    if longest < most:  # fewer frames than were chosen, or a record with much beside its frames
        batch = {
            name: _stack_frames(list(frames[:, :longest]), name, memory)
            for name, frames in batch.items()
        }
    stacked = {name: _stack_labels(rows) for name, rows in lists.items()}
    return {**batch, NUM_FRAMES: counts, **stacked}


def stack_means(
    records: Iterable[bytes | memoryview | FrameRecord],
    rows: int,
    features: FeatureConfig,
    columns: Sequence[str],
    memory: BatchMemory,
) -> Row:
    """One batch of the mean frames of so many videos, `[rows, total] float32`.

    What is a `FrameRecord` already has its mean in place of its frames.
    """
    means = memory.array(MEAN_FRAMES, (rows, mean_bytes(features))).view(_MEAN)
    lists: dict[str, list[np.ndarray]] = {name: [] for name in (LABELS, *columns)}
    for at, record in enumerate(records):
        video = mean_video(record, features) if isinstance(record, (bytes, memoryview)) else record
        means[at] = video.frames(slice(None))[MEAN_FRAMES].view(_MEAN)[0]
        for name, of_rows in lists.items():
            of_rows.append(_integers(video, name))
    return {MEAN_FRAMES: means, **{name: _stack_labels(values) for name, values in lists.items()}}


def mean_video(data: bytes | memoryview, features: FeatureConfig) -> DecodedFrames:
    """A serialized record with the mean of its normalised frames in their place: one, of bytes."""
    record = decode_record(data)
    frames = frames_of(record, features)
    mean = mean_of_normalized_frames([frames[name] for name in features.names])
    in_bytes = np.ascontiguousarray(mean, _MEAN).view(np.uint8)[np.newaxis]
    whole = Record(record.features, {MEAN_FRAMES: in_bytes}, is_sequence=True)
    return DecodedFrames(whole, {MEAN_FRAMES: mean_bytes(features)})


def mean_bytes(features: FeatureConfig) -> int:
    """Those of a mean frame."""
    return sum(features.sizes) * _MEAN.itemsize


@functools.cache
def _bytes_of_frame(features: FeatureConfig) -> int:
    """The fewest that a frame takes in a record."""
    return sum(len(frames_feature_list(np.zeros((1, n), np.uint8))) for n in features.sizes)


def frames_of(record: Record, features: FeatureConfig) -> Row:
    """`[frames, size] uint8` of each feature; ValueError where the features do not agree."""
    return DecodedFrames(record, features.size_by_name).frames(slice(features.max_frames))


def segment_windows(record: Record, features: FeatureConfig) -> tuple[np.ndarray, Row]:
    """The starts of the segments that a record names, and their frames, in the same order."""
    video = DecodedFrames(record, features.size_by_name)
    starts = np.maximum(_integers(video, SEGMENT_START_TIMES), 0)
    distinct = np.array(list(dict.fromkeys(starts.tolist())), np.int64)
    return distinct, _cut(video, distinct)


def segment_rows(
    record: bytes | memoryview | FrameRecord, features: FeatureConfig, columns: Sequence[str] = ()
) -> list[Row]:
    """The rated segments of a video, in the order in which their starts first come."""
    video = _video(record, features)
    scores = np.asarray(video.features.get(SEGMENT_SCORES, ()))
    ratings = zip(
        _integers(video, SEGMENT_START_TIMES).tolist(),
        _integers(video, SEGMENT_LABELS).tolist(),
        (scores >= PRESENT_SCORE).tolist(),
        strict=True,
    )
    rated: dict[int, list[int]] = {}
    present: dict[int, list[int]] = {}
    for start, label, is_present in ratings:
        rated.setdefault(start, []).append(label)
        present.setdefault(start, []).extend([label] * is_present)
    cut = _cut(video, np.array(list(rated), np.int64))
    of_video = {VIDEO_LABELS: _integers(video, LABELS)}
    of_video |= {name: _integers(video, name) for name in columns}
    return [
        {name: values[number] for name, values in cut.items()}
        | {LABELS: present[start], RATED: rated[start], **of_video}
        for number, start in enumerate(rated)
    ]


def stack_segments(
    rows: Sequence[Row], features: FeatureConfig, columns: Sequence[str], memory: BatchMemory
) -> Row:
    """One batch of segments: labels padded with -1, and how many frames each row has."""
    batch = {name: _stack_frames([r[name] for r in rows], name, memory) for name in features.names}
    lists = (LABELS, RATED, VIDEO_LABELS, *columns)
    batch |= {key: _stack_labels([row[key] for row in rows]) for key in lists}
    batch[NUM_FRAMES] = np.array([row[NUM_FRAMES] for row in rows], np.int32)
    return batch


def _video(record: bytes | memoryview | FrameRecord, features: FeatureConfig) -> FrameRecord:
    if not isinstance(record, (bytes, memoryview)):
        return record
    return DecodedFrames(decode_record(record), features.size_by_name)


def _cut(video: FrameRecord, starts: np.ndarray) -> Row:
    """Of each segment five frames from its start on, zeros where the video has ended."""
    total = video.num_frames
    wanted = starts[:, np.newaxis] + np.arange(SEGMENT_FRAMES)
    within = (wanted >= 0) & (wanted < total)
    nearest = wanted.clip(0, total - 1)
    rows = video.frames(nearest)
    if not within.all():
        for values in rows.values():
            values[~within] = 0
    return {**rows, NUM_FRAMES: np.count_nonzero(within, axis=1)}


def _taken(video: FrameRecord, chooser: FrameChooser | None, row: int, most: int) -> Row:
    """The frames that `row` of a batch gets, of the first `most`."""
    if chooser is None:
        return video.frames(slice(most))
    count = min(video.num_frames, most)
    chosen = chooser.of(row, count)
    if count:
        return video.frames(chosen)
    # Of a video without frames random ones are zeros.
    return {
        name: np.zeros((len(chosen), values.shape[1]), values.dtype)
        for name, values in video.frames(slice(0)).items()
    }


def _integers(record: FrameRecord, key: str) -> np.ndarray:
    return np.asarray(record.features.get(key, ()), np.int64)


def _stack_frames(rows: Sequence[np.ndarray], name: str, memory: BatchMemory) -> np.ndarray:
    """Rows of equally many frames."""
    out = memory.array(name, (len(rows), *rows[0].shape))
    np.stack(rows, out=out)
    return out


def _fill(row: np.ndarray, frames: np.ndarray) -> None:
    row[: len(frames)] = frames
    if len(frames) < len(row):
        row[len(frames) :] = 0


def _stack_labels(rows: Sequence[Sequence[int] | np.ndarray]) -> np.ndarray:
    counts = np.array([len(row) for row in rows])
    out = np.full((len(rows), counts.max()), NO_LABEL, np.int64)
    is_there = np.arange(out.shape[1]) < counts[:, np.newaxis]
    out[is_there] = np.fromiter(chain.from_iterable(rows), np.int64, counts.sum())
    return out
