"""How many rows each shard gives, which is what positions are computed from."""

from __future__ import annotations

import functools
import logging

import tensorflow as tf

from yt8m.components.inputs.config import Source
from yt8m.components.inputs.segment import distinct_segments
from yt8m.components.inputs.shards import read_shards
from yt8m.schemas.errors import DataError
from yt8m.schemas.features import SEGMENT_START_TIMES, Level

_log = logging.getLogger(__name__)


@functools.cache  # a source that was not verified is read for it
def count_rows(source: Source) -> tuple[int, ...]:
    """Rows of each shard: its records, or at segment level its rated segments."""
    if source.level is not Level.SEGMENT:
        return tuple(shard.records for shard in source.shards)
    if source.segments_known:
        counts = tuple(shard.segments for shard in source.shards)
    else:
        _log.info("counting the rated segments of %d shards", len(source.shards))
        with tf.init_scope():  # numbers are needed, also while a dataset function is traced
            counts = tuple(_count_segments(source, n) for n in range(len(source.shards)))
    if not sum(counts):
        raise DataError("the split has no rated segments; segment level needs them to train")
    return counts


def _count_segments(source: Source, number: int) -> int:
    spec = {SEGMENT_START_TIMES: tf.io.VarLenFeature(tf.int64)}

    def count(record: tf.Tensor) -> tf.Tensor:
        context, _ = tf.io.parse_single_sequence_example(record, spec, {})
        starts, _ = distinct_segments(context[SEGMENT_START_TIMES].values)
        return tf.size(starts, tf.int64)

    counts = read_shards([source.shards[number]]).map(count, num_parallel_calls=tf.data.AUTOTUNE)
    return int(counts.reduce(tf.constant(0, tf.int64), lambda total, n: total + n))
