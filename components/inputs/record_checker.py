"""Finds the records of a block that are not as they should be, and counts what the others hold.

The rules of `records/validation.py` decide, record by record. At the sequence levels they take less
time than TensorFlow's parser; at video level TensorFlow looks at a whole block, in a seventh of the
time, and the rules at what it finds suspect, or at all of a block that it refuses. Suspect is also
what its parser, which skips what nobody asked for, takes, and protobuf would not: statistics and
rewriting read records by other parsers.
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

from yt8m.components.records.decode import MalformedRecord, decode_record
from yt8m.components.records.validation import check_record, expected_by, not_a_record
from yt8m.schemas.features import ID, LABELS, FeatureConfig, Level, record_key

_HASHES = 2**63 - 1
# TensorFlow quotes the record in its message, and then cannot decode that message as text.
_REFUSED = (tf.errors.OpError, UnicodeDecodeError)


@dataclass(frozen=True)
class BlockFigures:
    """Contents of one block: arrays over its records, and why some of them are bad."""

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
        self._numbers: Callable[[tf.Tensor], Any] = tf.function(
            lambda records: _video_numbers(records, features),
            input_signature=[tf.TensorSpec([None], tf.string)],
            autograph=False,
        )

    def check(self, records: list[bytes], *, labelled: bool) -> BlockFigures:
        """The figures of `records`; of a split with labels each record must have one."""
        if self._level.is_sequence:
            return self._by_rules(records, labelled=labelled)
        try:
            numbers = self._numbers(tf.constant(records, tf.string))
            ids, labels, is_suspect = (numbers[key].numpy() for key in (ID, LABELS, "suspect"))
        except _REFUSED:
            return self._by_rules(records, labelled=labelled)
        is_suspect |= (labels == 0) & labelled
        is_suspect |= ~np.fromiter(map(_is_plain_example, records), bool, len(records))
        suspects = np.flatnonzero(is_suspect).tolist()
        judged = self._by_rules([records[at] for at in suspects], labelled=labelled)
        bad = {suspects[number]: reason for number, reason in judged.bad.items()}
        none = np.zeros(len(records), np.int64)
        return BlockFigures(ids, labels, none, none, bad, judged.warnings)

    def _by_rules(self, records: list[bytes], *, labelled: bool) -> BlockFigures:
        expected = expected_by(self._features, self._level, labelled=labelled)
        labels, frames, segments = np.zeros((3, len(records)), np.int64)
        names, bad, warnings = [b""] * len(records), {}, Counter[str]()
        for at, data in enumerate(records):
            try:
                record = decode_record(data)
            except MalformedRecord as error:
                bad[at] = not_a_record(error)
                continue
            findings = check_record(record, expected)
            if findings.faults:
                bad[at] = "; ".join(findings.faults)
                continue
            warnings.update(findings.warnings)
            names[at] = bytes(record.features[ID][0])
            labels[at], frames[at] = len(record.features.get(LABELS, ())), record.num_frames
            segments[at] = record.num_segments if self._level is Level.SEGMENT else 0
        ids = _hashes(tf.constant(names, tf.string)).numpy()
        return BlockFigures(ids, labels, frames, segments, bad, warnings)


def _hashes(ids: tf.Tensor) -> tf.Tensor:
    return tf.strings.to_hash_bucket_fast(ids, _HASHES)


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


def _video_numbers(records: tf.Tensor, features: FeatureConfig) -> dict[str, tf.Tensor]:
    keys = {record_key(name, Level.VIDEO): size for name, size in features.size_by_name.items()}
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
    return {ID: _hashes(parsed[ID]), LABELS: labels.row_lengths(), "suspect": suspect}


def _twice_in(labels: tf.RaggedTensor, num_classes: int) -> tf.Tensor:
    """`[batch] bool`: whether a record holds a class twice."""
    rows = labels.value_rowids()
    classes = tf.clip_by_value(labels.values, 0, num_classes - 1)  # others are suspect anyway
    distinct, key_of_label = tf.unique(tf.cast(rows, tf.int64) * num_classes + classes)
    # How often the key of each label comes: of a record's labels the most is more than one.
    often = tf.gather(tf.math.bincount(key_of_label, minlength=tf.size(distinct)), key_of_label)
    return tf.math.unsorted_segment_max(often, rows, labels.nrows()) > 1
