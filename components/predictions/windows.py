"""Videos without rated segments, cut into all their windows of five frames."""

from __future__ import annotations

import tensorflow as tf

from yt8m.components.records.wire import encode_example, int64_feature
from yt8m.schemas.features import SEGMENT_FRAMES, SEGMENT_START_TIMES, FeatureConfig


def with_windows(records: tf.Tensor, features: FeatureConfig) -> tf.Tensor:
    """`records` [B], where one names no segment with the starts of all its windows in it.

    The last window of a video may have fewer frames. Serialized messages that follow one another
    are one message, so nothing of a record is read but its starts and its length.
    """
    smallest = min(features.size_by_name.items(), key=lambda item: item[1])[0]
    context, _, lengths = tf.io.parse_sequence_example(
        records,
        {SEGMENT_START_TIMES: tf.io.VarLenFeature(tf.int64)},
        {smallest: tf.io.FixedLenSequenceFeature([], tf.string)},
    )
    has_segments = set(context[SEGMENT_START_TIMES].indices.numpy()[:, 0].tolist())
    frames = tf.minimum(lengths[smallest], features.max_frames).numpy().tolist()
    texts = records.numpy().tolist()
    for row, count in enumerate(frames):
        if row not in has_segments:
            starts = range(0, count, SEGMENT_FRAMES)
            # A SequenceExample's context is in the field that an Example's features are in.
            texts[row] += encode_example({SEGMENT_START_TIMES: int64_feature(starts)})
    return tf.constant(texts, tf.string)
