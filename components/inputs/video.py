"""Video level: whole batches of tf.Example parsed at once."""

from __future__ import annotations

import tensorflow as tf

from yt8m.schemas.batch import NO_LABEL
from yt8m.schemas.features import ID, LABELS, FeatureConfig, Level, record_key


def parse_videos(
    records: tf.Tensor,
    features: FeatureConfig,
    *,
    with_id: bool = False,
    with_labels: bool = True,
    no_id: str | None = None,
) -> dict[str, tf.Tensor]:
    """A batch from serialized records [batch]; `no_id` is the id of those that have none."""
    spec: dict[str, object] = {
        record_key(name, Level.VIDEO): tf.io.FixedLenFeature([size], tf.float32)
        for name, size in features.size_by_name.items()
    }
    if with_labels:
        spec[LABELS] = tf.io.VarLenFeature(tf.int64)
    if with_id:
        spec[ID] = tf.io.FixedLenFeature([], tf.string, no_id)
    parsed = tf.io.parse_example(records, spec)
    batch = {name: parsed[record_key(name, Level.VIDEO)] for name in features.names}
    if with_labels:
        batch[LABELS] = tf.sparse.to_dense(parsed[LABELS], NO_LABEL)
    if with_id:
        batch[ID] = parsed[ID]
    return batch
