"""Segment level: each rated segment of a record is a row of five frames."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from yt8m.components.inputs.frame import decode_frames, read_sequence
from yt8m.schemas.batch import NO_LABEL, NUM_FRAMES, RATED, SEGMENT_START, VIDEO_LABELS
from yt8m.schemas.features import (
    ID,
    LABELS,
    PRESENT_SCORE,
    SEGMENT_FRAMES,
    SEGMENT_LABELS,
    SEGMENT_SCORES,
    SEGMENT_START_TIMES,
    FeatureConfig,
)

_CONTEXT = {
    SEGMENT_START_TIMES: tf.io.VarLenFeature(tf.int64),
    SEGMENT_LABELS: tf.io.VarLenFeature(tf.int64),
    SEGMENT_SCORES: tf.io.VarLenFeature(tf.float32),
}


def parse_segments(
    record: tf.Tensor,
    features: FeatureConfig,
    *,
    with_id: bool = False,
    with_labels: bool = True,
    columns: Sequence[str] = (),
) -> dict[str, tf.Tensor]:
    """The rows of a serialized record, along a new first axis; labels are padded with -1.

    Rows follow the order of `segment_start_times`, a start that comes again adds a rating to
    its row. `columns` are of the video, and so the same in all of its rows.
    """
    spec: dict[str, object] = {SEGMENT_START_TIMES: _CONTEXT[SEGMENT_START_TIMES]}
    if with_labels:
        spec |= {**_CONTEXT, LABELS: tf.io.VarLenFeature(tf.int64)}
    spec |= {name: tf.io.VarLenFeature(tf.int64) for name in columns}
    if with_id:
        spec[ID] = tf.io.FixedLenFeature([], tf.string)
    context, encoded = read_sequence(record, spec, features)
    starts, row_of_rating = distinct_segments(context[SEGMENT_START_TIMES].values)
    rows = slice_segments(encoded, starts, features)
    if with_labels:
        rows |= _ratings(context, row_of_rating, tf.size(starts))
        rows[VIDEO_LABELS] = _repeated(context[LABELS], starts)
    rows |= {name: _repeated(context[name], starts) for name in columns}
    if with_id:
        rows[ID] = tf.repeat(context[ID], tf.size(starts))
        rows[SEGMENT_START] = starts
    return rows


def _repeated(column: tf.SparseTensor, starts: tf.Tensor) -> tf.Tensor:
    return tf.repeat(column.values[tf.newaxis], tf.size(starts), axis=0)


def distinct_segments(starts: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The starts [any] without repetition, in the order they first come, and each rating's row.

    A segment that several classes are rated for is one row.
    """
    distinct, row_of_rating = tf.unique(starts)
    return distinct, row_of_rating


def distinct_segments_of_batch(
    record: tf.Tensor, start: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """The same of many records: record and start of each row, and each rating's row."""
    starts, number = tf.unique(tf.maximum(start, 0), out_idx=tf.int64)
    # One number for each (record, start), so that one `unique` serves the whole batch. A start's
    # own number is small, whatever a record says.
    span = tf.maximum(tf.size(starts, tf.int64), 1)
    distinct, row_of_rating = tf.unique(record * span + number)
    return distinct // span, tf.gather(starts, distinct % span), row_of_rating


def slice_segments(
    encoded: dict[str, tf.Tensor], starts: tf.Tensor, features: FeatureConfig
) -> dict[str, tf.Tensor]:
    """`[segments, 5, size] uint8` of each feature, zeros where the video has ended."""
    total = tf.size(encoded[features.names[0]], tf.int64)
    frame = starts[:, tf.newaxis] + tf.range(SEGMENT_FRAMES, dtype=tf.int64)
    within = (frame >= 0) & (frame < total)
    flat = tf.reshape(tf.clip_by_value(frame, 0, tf.maximum(total - 1, 0)), [-1])
    decoded = decode_frames({k: tf.gather(v, flat) for k, v in encoded.items()}, features)
    rows = {
        name: tf.reshape(values, [-1, SEGMENT_FRAMES, size])
        * tf.cast(within, tf.uint8)[..., tf.newaxis]
        for (name, values), size in zip(decoded.items(), features.sizes, strict=True)
    }
    rows[NUM_FRAMES] = tf.reduce_sum(tf.cast(within, tf.int32), axis=1)
    return rows


def _ratings(
    context: dict[str, tf.SparseTensor], row_of_rating: tf.Tensor, count: tf.Tensor
) -> dict[str, tf.Tensor]:
    classes = context[SEGMENT_LABELS].values
    present = context[SEGMENT_SCORES].values >= PRESENT_SCORE
    return {
        RATED: gather_by_row(classes, row_of_rating, count),
        LABELS: gather_by_row(
            tf.boolean_mask(classes, present), tf.boolean_mask(row_of_rating, present), count
        ),
    }


def gather_by_row(values: tf.Tensor, row_of_value: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
    """`values` gathered by row, padded: [count, most in one row]."""
    order = tf.argsort(row_of_value, stable=True)
    ragged = tf.RaggedTensor.from_value_rowids(
        tf.gather(values, order), tf.gather(row_of_value, order), nrows=tf.cast(count, tf.int32)
    )
    return ragged.to_tensor(NO_LABEL)
