"""Frame level, for scoring: one tf.SequenceExample at a time, frames chosen before decoding."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from yt8m.components.preprocessing.arithmetic import evenly_spaced
from yt8m.schemas.batch import NO_LABEL, NUM_FRAMES
from yt8m.schemas.features import ID, LABELS, FeatureConfig


def parse_frames(
    record: tf.Tensor,
    features: FeatureConfig,
    *,
    frames: int | None = None,
    with_id: bool = False,
    with_labels: bool = True,
    columns: Sequence[str] = (),
) -> dict[str, tf.Tensor]:
    """One row from a serialized record; of more than `frames`, evenly spaced ones."""
    lists = [*([LABELS] if with_labels else []), *columns]
    spec: dict[str, object] = {name: tf.io.VarLenFeature(tf.int64) for name in lists}
    if with_id:
        spec[ID] = tf.io.FixedLenFeature([], tf.string)
    context, encoded = read_sequence(record, spec, features)
    # The first frames as a slice, which copies nothing; a gather does.
    taken = {name: texts[: features.max_frames] for name, texts in encoded.items()}
    if frames is not None:
        chosen = spread_frames(tf.size(taken[features.names[0]]), frames)
        taken = {name: tf.gather(texts, chosen) for name, texts in taken.items()}
    row = decode_frames(taken, features)
    row[NUM_FRAMES] = tf.size(taken[features.names[0]])
    row |= {name: context[name].values for name in lists}
    if with_id:
        row[ID] = context[ID]
    return row


def read_sequence(
    record: tf.Tensor, context: dict[str, object], features: FeatureConfig
) -> tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]:
    """The record's context, and each feature's frames as undecoded texts [frames]."""
    lists = {name: tf.io.FixedLenSequenceFeature([], tf.string) for name in features.names}
    parsed, encoded = tf.io.parse_single_sequence_example(record, context or None, lists)
    first, *others = (encoded[name] for name in features.names)
    for other in others:
        same = tf.debugging.assert_equal(
            tf.size(other), tf.size(first), "features of a record differ in their number of frames"
        )
        with tf.control_dependencies([same] if same is not None else []):
            encoded = {name: tf.identity(value) for name, value in encoded.items()}
    return parsed, encoded


def decode_frames(encoded: dict[str, tf.Tensor], features: FeatureConfig) -> dict[str, tf.Tensor]:
    """`[frames, size] uint8` of each feature; a frame of another size is an error."""
    # The shape is given by the number of texts: of none at all, TensorFlow knows no size.
    return {
        name: tf.reshape(tf.io.decode_raw(encoded[name], tf.uint8), [tf.size(encoded[name]), size])
        for name, size in features.size_by_name.items()
    }


def spread_frames(count: tf.Tensor, wanted: int) -> tf.Tensor:
    """Indices of all frames where there are few, else of `wanted` evenly spaced ones."""
    taken = tf.minimum(count, wanted)
    return evenly_spaced(tf.range(taken), of=count, taken=taken)


def padding_of(row: dict[str, tf.TensorSpec]) -> dict[str, tf.Tensor]:
    """The values with which `padded_batch` fills each part of a row."""
    return {
        name: tf.constant(NO_LABEL if spec.dtype is tf.int64 else 0, spec.dtype)
        if spec.dtype is not tf.string
        else tf.constant("")
        for name, spec in row.items()
    }
