"""Serialized records to a network's signal, inside the exported graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import tensorflow as tf

from yt8m.components.inputs.segment import distinct_segments_of_batch
from yt8m.components.inputs.video import parse_videos
from yt8m.components.models.trunks import Signal
from yt8m.components.preprocessing.arithmetic import (
    evenly_spaced,
    mean_of_normalized_rows,
    normalize,
)
from yt8m.components.preprocessing.own_transform import OwnTransform
from yt8m.schemas.batch import NUM_FRAMES
from yt8m.schemas.features import (
    ID,
    SEGMENT_FRAMES,
    SEGMENT_START_TIMES,
    FeatureConfig,
    Level,
    record_key,
)

_NO_ID = ""  # the answer for a record without an `id`, which is for whoever asked to know
# The Transform graph, as a function of raw features; its output that a network takes.
Transform = Callable[[Mapping[str, Any]], Mapping[str, Any]]
TRANSFORMED = "features"


class ParsedRecords(NamedTuple):
    """Contents of records, row by row."""

    signal: Signal
    video_id: tf.Tensor  # [rows] string
    segment_start: tf.Tensor | None = None  # [rows] int64, at segment level


@dataclass(frozen=True, kw_only=True)
class RecordFormat:
    """Contents of records, and how much of them the network looks at."""

    level: Level
    features: FeatureConfig
    # Of longer videos, so many evenly spaced frames are decoded; None: all of them.
    frames: int | None = None
    averaged: bool = False  # the network looks at the mean of all frames, and at no single one
    own_transform: OwnTransform | None = None  # what makes the vectors in place of `normalize`

    @property
    def size(self) -> int:
        """Of the vectors that the network takes."""
        return self.own_transform.size if self.own_transform else self.features.total_size

    def vectors(self, stored: Mapping[str, tf.Tensor]) -> tf.Tensor:
        """Of rows, or of frames in one list."""
        if self.own_transform is not None:
            return self.own_transform(stored, level=self.level)
        return normalize(stored, names=self.features.names, level=self.level)


def parse_records(
    records: tf.Tensor, form: RecordFormat, *, transform: Transform | None
) -> ParsedRecords:
    """The rows of serialized records [batch], normalised by the Transform graph where given."""
    if form.level is Level.VIDEO:
        return _videos(records, form, transform)
    return _sequences(records, form, transform)


def _videos(records: tf.Tensor, form: RecordFormat, transform: Transform | None) -> ParsedRecords:
    features = form.features
    batch = parse_videos(records, features, with_id=True, with_labels=False, no_id=_NO_ID)
    batch |= finite(batch, features)
    if transform is None:
        vectors = form.vectors(batch)
    else:
        raw = {record_key(name, Level.VIDEO): batch[name] for name in features.names}
        vectors = transform(raw)[TRANSFORMED]
    vectors = tf.ensure_shape(vectors, [None, form.size])
    return ParsedRecords(signal=Signal(vectors=vectors), video_id=batch[ID])


def finite(batch: Mapping[str, tf.Tensor], features: FeatureConfig) -> dict[str, tf.Tensor]:
    """The vectors of `batch` by feature; NaN and infinity are an InvalidArgumentError.

    A network would make scores of them, some of which look like any others.
    """
    return {
        name: tf.debugging.check_numerics(
            batch[name], f"{record_key(name, Level.VIDEO)} ({name}) must hold finite numbers alone"
        )
        for name in features.names
    }


def counted(batch: Mapping[str, tf.Tensor], features: FeatureConfig) -> dict[str, tf.Tensor]:
    """`batch`; numbers of frames that its rows cannot have are an InvalidArgumentError.

    A mean would be divided by frames that nobody sent, and one number would count for all rows.
    """
    counts = batch[NUM_FRAMES]
    rows, frames = tf.unstack(tf.shape(batch[features.names[0]])[:2])
    possible = tf.reduce_all((counts >= 0) & (counts <= frames))
    checks = [
        tf.debugging.assert_equal(
            tf.size(counts), rows, f"{NUM_FRAMES} must hold one number for each row"
        ),
        tf.debugging.assert_equal(
            possible, True, f"{NUM_FRAMES} must be from 0 to the number of frames in the request"
        ),
    ]
    with tf.control_dependencies(checks):
        return {**batch, NUM_FRAMES: tf.identity(counts)}


def _sequences(
    records: tf.Tensor, form: RecordFormat, transform: Transform | None
) -> ParsedRecords:
    features, segments = form.features, form.level is Level.SEGMENT
    context_spec: dict[str, object] = {ID: tf.io.FixedLenFeature([], tf.string, _NO_ID)}
    if segments:
        context_spec[SEGMENT_START_TIMES] = tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.int64)
    frame_spec = {
        name: tf.io.RaggedFeature(tf.string, row_splits_dtype=tf.int64) for name in features.names
    }
    means = [record_key(name, Level.VIDEO) for name in features.names]
    context_spec |= {
        key: tf.io.RaggedFeature(tf.float32, row_splits_dtype=tf.int64) for key in means
    }
    context, lists, _ = tf.io.parse_sequence_example(records, context_spec, frame_spec)
    # One text a frame: [batch, (frames), 1] as a list of lists of one.
    whole = _require_frames(
        {name: _frames_of(lists[name]) for name in features.names}, [context[key] for key in means]
    )
    texts = {name: frames[:, : features.max_frames] for name, frames in whole.items()}
    if not segments:
        if form.averaged:
            return ParsedRecords(signal=_mean(texts, features), video_id=context[ID])
        if form.frames is not None:
            texts = {name: _spread(value, form.frames) for name, value in texts.items()}
        return ParsedRecords(signal=_signal(texts, form, transform), video_id=context[ID])
    starts = context[SEGMENT_START_TIMES]
    record, start, _ = distinct_segments_of_batch(starts.value_rowids(), starts.flat_values)
    rows = {name: _slices(value, record, start) for name, value in texts.items()}
    return ParsedRecords(
        signal=_mean(rows, features) if form.averaged else _signal(rows, form, transform),
        video_id=tf.gather(context[ID], record),
        segment_start=start,
    )


def _frames_of(texts: tf.RaggedTensor) -> tf.RaggedTensor:
    """`[batch, (frames)] string` of a list whose entries hold one text each."""
    return texts.merge_dims(1, 2) if texts.shape.rank == 3 else texts


def _require_frames(
    texts: dict[str, tf.RaggedTensor], means: Sequence[tf.RaggedTensor]
) -> dict[str, tf.RaggedTensor]:
    """`texts`; a record whose features differ in their number of frames is an error.

    Frames of all records are in one list: where one record lacks what another has too many of, a
    frame's features would be of two videos, and nothing else would tell. A record with `means` in
    place of frames is one, too: it would have the answer of a video without any.
    """
    first, *others = (frames.row_lengths() for frames in texts.values())
    has_means = tf.add_n([mean.row_lengths() for mean in means]) > 0
    checks = [
        tf.debugging.assert_equal(
            tf.reduce_any((first == 0) & has_means),
            False,
            "a record is of level video: it holds means of features, and no frames",
        ),
        *(
            tf.debugging.assert_equal(
                other, first, "features of a record differ in their number of frames"
            )
            for other in others
        ),
    ]
    with tf.control_dependencies(checks):
        return {
            name: frames.with_flat_values(tf.identity(frames.flat_values))
            for name, frames in texts.items()
        }


def _spread(texts: tf.RaggedTensor, wanted: int) -> tf.RaggedTensor:
    """All frames of a row where there are few, else `wanted` evenly spaced ones."""
    lengths = texts.row_lengths()
    taken = tf.minimum(lengths, wanted)
    numbers = tf.ragged.range(taken)
    row = numbers.value_rowids()
    within = evenly_spaced(
        numbers.flat_values, of=tf.gather(lengths, row), taken=tf.gather(taken, row)
    )
    indices = tf.gather(texts.row_starts(), row) + within
    return numbers.with_flat_values(tf.gather(texts.flat_values, indices))


def _signal(
    texts: Mapping[str, tf.RaggedTensor], form: RecordFormat, transform: Transform | None
) -> Signal:
    """The normalised frames of each row, `[rows, frames, size]`, and how many there are."""
    if transform is None:
        frames = _normalized(texts, form)
    else:
        frames = transform({k: _one_text_each(v) for k, v in texts.items()})[TRANSFORMED]
    # One frame of zeros where no video has any: models need one to look at.
    longest = tf.maximum(tf.reduce_max(frames.row_lengths()), 1)
    vectors = frames.to_tensor(shape=tf.stack([-1, longest, form.size]))
    vectors.set_shape([None, None, form.size])
    return Signal(vectors=vectors, num_frames=tf.cast(frames.row_lengths(), tf.int32))


def _one_text_each(texts: tf.RaggedTensor) -> tf.RaggedTensor:
    """As Transform's schema has it, a frame is a list of texts: `[rows, (frames), (1)]`."""
    flat = texts.flat_values
    splits = tf.range(tf.size(flat, tf.int64) + 1)
    return texts.with_flat_values(tf.RaggedTensor.from_row_splits(flat, splits, validate=False))


def _mean(texts: Mapping[str, tf.RaggedTensor], features: FeatureConfig) -> Signal:
    """The mean of each row's normalised frames, none of which is made."""
    first = texts[features.names[0]]
    vectors = mean_of_normalized_rows(
        _decoded(texts, features),
        names=features.names,
        row=first.value_rowids(),
        rows=first.nrows(tf.int64),
    )
    return Signal(vectors=tf.ensure_shape(vectors, [None, features.total_size]))


def _normalized(texts: Mapping[str, tf.RaggedTensor], form: RecordFormat) -> tf.RaggedTensor:
    vectors = form.vectors(_decoded(texts, form.features))
    return texts[form.features.names[0]].with_flat_values(vectors)


def _decoded(texts: Mapping[str, tf.RaggedTensor], features: FeatureConfig) -> dict[str, tf.Tensor]:
    """`[frames of all rows, size] uint8` of each feature; a frame of another size is an error."""
    flat = {name: texts[name].flat_values for name in features.names}
    # The shape is given by the number of texts: of none at all, TensorFlow knows no size.
    return {
        name: tf.reshape(tf.io.decode_raw(flat[name], tf.uint8), [tf.size(flat[name]), size])
        for name, size in features.size_by_name.items()
    }


def _slices(texts: tf.RaggedTensor, record: tf.Tensor, start: tf.Tensor) -> tf.RaggedTensor:
    """Five frames of `record` from `start` on, fewer where the video has ended."""
    begin = tf.gather(texts.row_starts(), record)
    length = tf.gather(texts.row_lengths(), record)
    first = tf.minimum(start, length)
    last = tf.minimum(first + SEGMENT_FRAMES, length)
    indices = tf.ragged.range(begin + first, begin + last)
    return tf.gather(texts.flat_values, indices)
