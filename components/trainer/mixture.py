"""Batches of rows of several splits, each with its share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import tensorflow as tf

from yt8m.components.inputs.config import BatchSlice
from yt8m.components.trainer.config import MixedSplit
from yt8m.schemas.batch import NO_LABEL, RATED, SPLIT, VIDEO_LABELS
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.features import LABELS


def rows_of_splits(mixture: Sequence[MixedSplit], batch: int) -> tuple[int, ...]:
    """How many of a global batch's rows are the training split's, and of each of `mixture`."""
    others = [round(one.share * batch) for one in mixture]
    counts = (batch - sum(others), *others)
    for one, count in zip(mixture, others, strict=True):
        if not count or counts[0] < 1:
            raise ConfigError(
                f"trainer.mixture: a share of {one.share} is {count} of the {batch} rows of a "
                f"batch, and {counts[0]} are left for the training split: each needs at least one"
            )
    return counts


def slices_of_splits(mixture: Sequence[MixedSplit], taken: BatchSlice) -> tuple[BatchSlice, ...]:
    """A process's slice of each split, in the order of `rows_of_splits`."""
    if taken.origin:
        raise ConfigError(
            "trainer.mixture: a training that is continued must have as many rows in a batch as "
            "before; give the same workers and batch size, or trainer.start_new_model: true"
        )
    counts = rows_of_splits(mixture, taken.global_batch_size)
    for count in counts:
        if count % taken.num_workers:
            raise ConfigError(
                f"trainer.mixture: the shares of a batch of {taken.global_batch_size} rows are "
                f"{list(counts)} rows: {taken.num_workers} workers must divide each of them"
            )
    return tuple(
        replace(taken, global_batch_size=count, seed=taken.seed + number, order=None)
        for number, count in enumerate(counts)
    )


def as_segments(videos: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """A batch of whole videos with the columns of one of segments: no class of them is rated."""
    labels = videos[LABELS]
    none = tf.fill([tf.shape(labels)[0], 1], tf.constant(NO_LABEL, labels.dtype))
    return {**videos, LABELS: none, RATED: none, VIDEO_LABELS: labels}


def mixed(datasets: Sequence[tf.data.Dataset]) -> tf.data.Dataset:
    """Batches that hold a batch of each dataset, one after the other."""
    return tf.data.Dataset.zip(tuple(datasets)).map(_joined)


def _joined(*batches: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    joined = {key: _concatenated([batch[key] for batch in batches]) for key in batches[0]}
    counts = [tf.shape(batch[LABELS])[0] for batch in batches]
    return {**joined, SPLIT: tf.repeat(tf.range(len(batches)), counts)}


def _concatenated(columns: Sequence[tf.Tensor]) -> tf.Tensor:
    """Rows one after the other; where they are of any width, as wide as the widest."""
    if columns[0].shape.rank > 1 and any(column.shape[1] is None for column in columns):
        widest = tf.reduce_max([tf.shape(column)[1] for column in columns])
        columns = [_widened(column, widest) for column in columns]
    return tf.concat(columns, axis=0)


def _widened(column: tf.Tensor, width: Any) -> tf.Tensor:
    missing = [[0, 0], [0, width - tf.shape(column)[1]], *[[0, 0]] * (column.shape.rank - 2)]
    padding = NO_LABEL if column.dtype == tf.int64 else 0  # of class ids, of frames
    return tf.pad(column, missing, constant_values=tf.cast(padding, column.dtype))
