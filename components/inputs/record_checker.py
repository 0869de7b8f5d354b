"""Finds the records of a block that are not as they should be, a whole block at a time.

The graph yields plain numbers for each record; which of them make a record suspect is numpy.
Suspects, and whole blocks that TensorFlow refuses, go through the rules of `records/validation.py`
one by one, which decide. Suspect is also what TensorFlow's parser, which skips what nobody asked
for, takes, and protobuf would not: statistics and rewriting read records by other parsers.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError

from yt8m.components.inputs.segment import distinct_segments
from yt8m.components.records.decode import MalformedRecord, decode_record
from yt8m.components.records.validation import check_bytes, expected_by
from yt8m.schemas.features import (
    ID,
    LABELS,
    SEGMENT_END_TIMES,
    SEGMENT_FRAMES,
    SEGMENT_LABELS,
    SEGMENT_SCORES,
    SEGMENT_START_TIMES,
    FeatureConfig,
    Level,
    record_key,
)

_HASHES = 2**63 - 1
_SEGMENT_SPEC = {
    SEGMENT_START_TIMES: tf.io.RaggedFeature(tf.int64),
    SEGMENT_END_TIMES: tf.io.RaggedFeature(tf.int64),
    SEGMENT_LABELS: tf.io.RaggedFeature(tf.int64),
    SEGMENT_SCORES: tf.io.RaggedFeature(tf.float32),
}
# TensorFlow quotes the record in its message, and then cannot decode that message as text.
_REFUSED = (tf.errors.OpError, UnicodeDecodeError)
_UNCLEAR = "cannot be parsed by TensorFlow as the configuration says"


@dataclass(frozen=True)
class BlockFigures:
    """What one block holds: arrays over its records, and why some of them are bad."""

    ids: np.ndarray  # 64-bit hashes
    labels: np.ndarray  # number of labels of each record
    frames: np.ndarray
    segments: np.ndarray
    bad: dict[int, str]  # position in the block, reason
    warnings: Counter[str] = field(default_factory=Counter)  # number of records each is said of


class RecordChecker:
    """Checks blocks of one level and feature choice; safe to call from several threads."""

    def __init__(self, *, level: Level, features: FeatureConfig) -> None:
        self._level, self._features = level, features
        numbers = _sequence_numbers if level.is_sequence else _video_numbers
        self._well_formed = _is_record if level.is_sequence else _is_plain_example
        self._numbers: Callable[[tf.Tensor], Any] = tf.function(
            lambda records: numbers(records, features, level),
            input_signature=[tf.TensorSpec([None], tf.string)],
            autograph=False,
        )

    def check(self, records: list[bytes], *, labelled: bool) -> BlockFigures:
        """The figures of `records`; of a split with labels each record must have one."""
        try:
            found = self._read(records)
        except _REFUSED:
            return self._one_by_one(records, labelled=labelled)
        rated = found["segments"] if self._level is Level.SEGMENT else found["labels"]
        suspect = (found["suspect"] > 0) | ((rated == 0) & labelled)
        suspect |= ~np.fromiter(map(self._well_formed, records), bool, len(records))
        block = BlockFigures(found["ids"], found["labels"], found["frames"], found["segments"], {})
        for at in np.flatnonzero(suspect).tolist():
            self._judge(records[at], at, block, labelled=labelled)
        return block

    def _read(self, records: list[bytes]) -> dict[str, np.ndarray]:
        values = self._numbers(tf.constant(records, tf.string))
        return {name: np.asarray(value) for name, value in values.items()}

    def _one_by_one(self, records: list[bytes], *, labelled: bool) -> BlockFigures:
        names = ("ids", "labels", "frames", "segments")
        ids, labels, frames, segments = (np.zeros(len(records), np.int64) for _ in names)
        block = BlockFigures(ids, labels, frames, segments, {})
        for at, record in enumerate(records):
            self._judge(record, at, block, labelled=labelled)
            if at in block.bad:
                continue
            try:
                figures = self._read([record])
            except _REFUSED:
                block.bad[at] = _UNCLEAR
            else:
                for name in names:
                    getattr(block, name)[at] = figures[name][0]
        return block

    def _judge(self, record: bytes, at: int, block: BlockFigures, *, labelled: bool) -> None:
        found = check_bytes(record, expected_by(self._features, self._level, labelled=labelled))
        if found.faults:
            block.bad[at] = "; ".join(found.faults)
        else:
            block.warnings.update(found.warnings)


def _is_record(data: bytes) -> bool:
    try:
        decode_record(data)
    except MalformedRecord:
        return False
    return True


def _is_plain_example(data: bytes) -> bool:
    """Whether protobuf, ten times as fast as decoding, finds nothing but known fields in `data`."""
    try:
        # Of a sequence, for published records have the field of its lists as well, empty.
        message = tf.train.SequenceExample.FromString(data)
    except DecodeError:
        return False
    message.DiscardUnknownFields()
    return bool(message.ByteSize() == len(data))


@functools.cache
def record_checker(level: Level, features: FeatureConfig) -> RecordChecker:
    """One checker for each kind of record: building its graph takes a while."""
    return RecordChecker(level=level, features=features)


def _video_numbers(
    records: tf.Tensor, features: FeatureConfig, level: Level
) -> dict[str, tf.Tensor]:
    keys = {record_key(name, level): size for name, size in features.size_by_name.items()}
    spec: dict[str, Any] = {
        key: tf.io.FixedLenFeature([size], tf.float32) for key, size in keys.items()
    }
    spec[ID] = tf.io.FixedLenFeature([], tf.string)
    spec[LABELS] = tf.io.RaggedFeature(tf.int64)
    parsed = tf.io.parse_example(records, spec)  # [batch, size] each
    # A sum is NaN or infinite if a term is; scaled, so that finite terms cannot make it so.
    finite = [tf.math.is_finite(tf.reduce_sum(parsed[key] * 2.0**-16, axis=1)) for key in keys]
    labels = parsed[LABELS]
    outside = (labels.values < 0) | (labels.values >= features.num_classes)
    outside_in = tf.math.unsorted_segment_max(
        tf.cast(outside, tf.int32), labels.value_rowids(), labels.nrows()
    )
    suspect = ~tf.reduce_all(finite, axis=0) | (outside_in > 0) | (parsed[ID] == "")
    suspect |= _twice_in(labels, features.num_classes)
    counts = labels.row_lengths()
    return {
        "ids": tf.strings.to_hash_bucket_fast(parsed[ID], _HASHES),
        "labels": counts,
        "frames": tf.zeros_like(counts),
        "segments": tf.zeros_like(counts),
        "suspect": tf.cast(suspect, tf.int64),
    }


def _sequence_numbers(
    records: tf.Tensor, features: FeatureConfig, level: Level
) -> dict[str, tf.Tensor]:
    names = ("ids", "labels", "frames", "segments", "suspect")
    # One record at a time: TensorFlow's batched parser of sequences is slower.
    return tf.map_fn(
        lambda record: _one_sequence(record, features, level),
        records,
        fn_output_signature=dict.fromkeys(names, tf.TensorSpec([], tf.int64)),
        parallel_iterations=1,
    )


def _one_sequence(record: tf.Tensor, features: FeatureConfig, level: Level) -> dict[str, tf.Tensor]:
    spec: dict[str, Any] = {
        ID: tf.io.FixedLenFeature([], tf.string),
        LABELS: tf.io.RaggedFeature(tf.int64),
    }
    if level is Level.SEGMENT:
        spec |= _SEGMENT_SPEC
    context, frames = tf.io.parse_single_sequence_example(
        record,
        spec,
        {name: tf.io.FixedLenSequenceFeature([], tf.string) for name in features.names},
    )
    counts = [tf.size(frames[name], tf.int64) for name in features.names]
    wrong = [context[ID] == "", counts[0] == 0, _outside(context[LABELS], features)]
    wrong += [_has_twins(context[LABELS])]
    wrong += [count != counts[0] for count in counts[1:]]
    wrong += [
        tf.reduce_any(tf.strings.length(frames[name]) != size)
        for name, size in features.size_by_name.items()
    ]
    segments = tf.zeros([], tf.int64)
    if level is Level.SEGMENT:
        segments = tf.size(distinct_segments(context[SEGMENT_START_TIMES])[0], tf.int64)
        wrong += _rating_suspicions(context, counts[0], features)
    return {
        "ids": tf.strings.to_hash_bucket_fast(context[ID], _HASHES),
        "labels": tf.size(context[LABELS], tf.int64),
        "frames": counts[0],
        "segments": segments,
        "suspect": tf.cast(tf.reduce_any(tf.stack(wrong)), tf.int64),
    }


def _outside(classes: tf.Tensor, features: FeatureConfig) -> tf.Tensor:
    return tf.reduce_any((classes < 0) | (classes >= features.num_classes))


def _rating_suspicions(
    context: dict[str, tf.Tensor], frames: tf.Tensor, features: FeatureConfig
) -> list[tf.Tensor]:
    starts, scores = context[SEGMENT_START_TIMES], context[SEGMENT_SCORES]
    sizes = [tf.size(context[key]) for key in _SEGMENT_SPEC]
    few = tf.reduce_min(sizes)  # lists of unequal length are suspect, and must not fail here
    lengths = context[SEGMENT_END_TIMES][:few] - starts[:few]
    ratings = starts[:few] * features.num_classes + context[SEGMENT_LABELS][:few]
    return [
        tf.reduce_max(sizes) != few,
        _outside(context[SEGMENT_LABELS], features),
        ~tf.reduce_all((scores >= 0) & (scores <= 1)),  # NaN compares false
        tf.reduce_any((starts < 0) | (starts + SEGMENT_FRAMES > frames)),
        tf.reduce_any(lengths != SEGMENT_FRAMES),
        _has_twins(ratings),
    ]


def _has_twins(values: tf.Tensor) -> tf.Tensor:
    return tf.size(tf.unique(values).y) != tf.size(values)


def _twice_in(labels: tf.RaggedTensor, num_classes: int) -> tf.Tensor:
    """`[batch] bool`: whether a record holds a class twice."""
    rows = labels.value_rowids()
    classes = tf.clip_by_value(labels.values, 0, num_classes - 1)  # others are suspect anyway
    distinct, key_of_label = tf.unique(tf.cast(rows, tf.int64) * num_classes + classes)
    # How often the key of each label comes: of a record's labels the most is more than one.
    often = tf.gather(tf.math.bincount(key_of_label, minlength=tf.size(distinct)), key_of_label)
    return tf.math.unsorted_segment_max(often, rows, labels.nrows()) > 1
