"""Video level: tf.Example records, parsed a whole batch at a time."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from yt8m.schemas.batch import NO_LABEL
from yt8m.schemas.features import ID, LABELS, TRANSFORMED, FeatureConfig, Level, record_key


def parse_videos(
    records: tf.Tensor,
    features: FeatureConfig,
    *,
    with_id: bool = False,
    with_labels: bool = True,
    columns: Sequence[str] = (),
    no_id: str | None = None,
) -> dict[str, tf.Tensor]:
    """A batch from serialized records [batch]; `no_id` is the id of those that have none.

    `columns` are integers of each record that the batch has beside the labels.
    """
    spec: dict[str, object] = {
        record_key(name, Level.VIDEO): tf.io.FixedLenFeature([size], tf.float32)
        for name, size in features.size_by_name.items()
    }
    lists = [*([LABELS] if with_labels else []), *columns]
    spec |= {name: tf.io.VarLenFeature(tf.int64) for name in lists}
    if with_id:
        spec[ID] = tf.io.FixedLenFeature([], tf.string, no_id)
    parsed = tf.io.parse_example(records, spec)
    batch = {name: parsed[record_key(name, Level.VIDEO)] for name in features.names}
    batch |= {name: tf.sparse.to_dense(parsed[name], NO_LABEL) for name in lists}
    if with_id:
        batch[ID] = parsed[ID]
    return batch


def parse_transformed(
    records: tf.Tensor, features: FeatureConfig, *, with_id: bool = False
) -> dict[str, tf.Tensor]:
    """A batch from records that Transform has written; their one vector is cut into the features.

    It has length 1, so a network that normalises it again changes nothing but its last bits.
    """
    spec: dict[str, object] = {
        TRANSFORMED: tf.io.FixedLenFeature([features.total_size], tf.float32),
        LABELS: tf.io.VarLenFeature(tf.int64),
    }
    if with_id:
        spec[ID] = tf.io.FixedLenFeature([], tf.string)
    parsed = tf.io.parse_example(records, spec)
    parts = tf.split(parsed[TRANSFORMED], list(features.sizes), axis=-1)
    batch = dict(zip(features.names, parts, strict=True))
    batch[LABELS] = tf.sparse.to_dense(parsed[LABELS], NO_LABEL)
    if with_id:
        batch[ID] = parsed[ID]
    return batch
