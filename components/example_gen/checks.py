"""Finds the records of a block that are not as they should be, a whole block at a time.

The graph yields plain numbers for each record; which of them make a record suspect is numpy.
Suspects, and whole blocks that TensorFlow refuses, go to `explain`, which decides.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from yt8m.components.example_gen.explain import explain
from yt8m.schemas.features import (
    ID,
    LABELS,
    SEGMENT_END_TIMES,
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
_UNCLEAR = "cannot be read as the configuration says"


@dataclass(frozen=True)
class BlockFigures:
    """What one block holds: arrays over its records, and why some of them are bad."""

    ids: np.ndarray  # 64-bit hashes
    labels: np.ndarray  # number of labels of each record
    frames: np.ndarray
    segments: np.ndarray
    bad: dict[int, str]  # position in the block, reason


class RecordChecker:
    """Checks blocks of one level and feature choice; safe to call from several threads."""

    def __init__(self, *, level: Level, features: FeatureConfig) -> None:
        self._level, self._features = level, features
        numbers = _sequence_numbers if level.is_sequence else _video_numbers
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
        bad = {}
        for at in np.flatnonzero(suspect).tolist():
            bad[at] = self._explain(records[at], labelled=labelled) or _UNCLEAR
        return BlockFigures(found["ids"], found["labels"], found["frames"], found["segments"], bad)

    def _read(self, records: list[bytes]) -> dict[str, np.ndarray]:
        values = self._numbers(tf.constant(records, tf.string))
        return {name: np.asarray(value) for name, value in values.items()}

    def _one_by_one(self, records: list[bytes], *, labelled: bool) -> BlockFigures:
        bad: dict[int, str] = {}
        rows: dict[str, list[int]] = {"ids": [], "labels": [], "frames": [], "segments": []}
        for at, record in enumerate(records):
            reason = self._explain(record, labelled=labelled)
            figures = self._figures(record) if reason is None else None
            if figures is None:
                bad[at] = reason or _UNCLEAR
            for name, row in rows.items():
                row.append(figures[name] if figures else 0)
        ids, labels, frames, segments = (np.asarray(row, np.int64) for row in rows.values())
        return BlockFigures(ids, labels, frames, segments, bad)

    def _figures(self, record: bytes) -> dict[str, int] | None:
        try:
            return {name: int(value[0]) for name, value in self._read([record]).items()}
        except _REFUSED:
            return None

    def _explain(self, record: bytes, *, labelled: bool) -> str | None:
        return explain(record, level=self._level, features=self._features, labelled=labelled)


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
    wrong += [count != counts[0] for count in counts[1:]]
    wrong += [
        tf.reduce_any(tf.strings.length(frames[name]) != size)
        for name, size in features.size_by_name.items()
    ]
    segments = tf.zeros([], tf.int64)
    if level is Level.SEGMENT:
        # A segment that several classes are rated for is one row of the input pipeline.
        segments = tf.size(tf.unique(context[SEGMENT_START_TIMES]).y, tf.int64)
        ratings = tf.size(context[SEGMENT_LABELS], tf.int64)
        wrong += [tf.size(context[key], tf.int64) != ratings for key in _SEGMENT_SPEC]
        wrong += [
            _outside(context[SEGMENT_LABELS], features),
            ~tf.reduce_all(tf.math.is_finite(context[SEGMENT_SCORES])),
        ]
    return {
        "ids": tf.strings.to_hash_bucket_fast(context[ID], _HASHES),
        "labels": tf.size(context[LABELS], tf.int64),
        "frames": counts[0],
        "segments": segments,
        "suspect": tf.cast(tf.reduce_any(tf.stack(wrong)), tf.int64),
    }


def _outside(classes: tf.Tensor, features: FeatureConfig) -> tf.Tensor:
    return tf.reduce_any((classes < 0) | (classes >= features.num_classes))
