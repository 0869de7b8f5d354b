"""Batches for training, which never end and can begin at any step, and for scoring, once through.

Both give the dict that docs/architecture.md lists. A training batch also has `position` [batch]:
the number of each row since the beginning of training, which decides what is random about it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np
import tensorflow as tf

from yt8m.components.inputs.config import (
    BatchSlice,
    FrameSampling,
    InputConfig,
    Source,
)
from yt8m.components.inputs.frame import padding_of, parse_frames
from yt8m.components.inputs.label_columns import with_known_classes
from yt8m.components.inputs.record_index import index_of
from yt8m.components.inputs.segment import parse_segments
from yt8m.components.inputs.shards import read_shards
from yt8m.components.inputs.step_reader import RECORDS, Columns, StepReader, columns_of
from yt8m.components.inputs.video import parse_transformed, parse_videos
from yt8m.schemas.batch import POSITION
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.features import FeatureConfig, Level

_PARALLEL = tf.data.AUTOTUNE
_ENDLESS = np.iinfo(np.int64).max

# The columns of a step's rows, as tensors.
ReadStep = Callable[[tf.Tensor, Columns], list[tf.Tensor]]


def dataset_for_training(
    source: Source,
    taken: BatchSlice,
    *,
    sampling: FrameSampling | None = None,
    config: InputConfig | None = None,
    cache: bool = False,
) -> tf.data.Dataset:
    """This process's rows of the global batches from `taken.start_step` on, without end.

    What a step is given does not depend on where the stream began, nor on the number of workers,
    nor on the cache.
    """
    config = config or InputConfig()
    reader = create_step_reader(source, taken, sampling=sampling, config=config, cache=cache)

    def read(step: tf.Tensor, columns: Columns) -> list[tf.Tensor]:
        return tf.numpy_function(
            lambda number: reader.arrays(int(number)),
            [step],
            [column.dtype for column in columns.values()],
        )

    return dataset_of_steps(source, taken, read, sampling=sampling, config=config)


def create_step_reader(
    source: Source,
    taken: BatchSlice,
    *,
    sampling: FrameSampling | None,
    config: InputConfig,
    cache: bool = False,
) -> StepReader:
    """Create the reader that gives `dataset_for_training` its rows; `cache`: from packed frames."""
    by_length = _is_by_length(source, sampling, config)
    if by_length:
        _check_buckets(taken, config)
    return StepReader(
        source, taken, sampling=sampling, config=config, by_length=by_length, cache=cache
    )


def dataset_of_steps(
    source: Source,
    taken: BatchSlice,
    read: ReadStep,
    *,
    sampling: FrameSampling | None,
    config: InputConfig,
) -> tf.data.Dataset:
    """The batches of the rows that `read` gives for each step."""
    rows = None if _is_by_length(source, sampling, config) else len(taken.slots)
    columns = columns_of(source, rows)

    def finished(step: tf.Tensor) -> dict[str, tf.Tensor]:
        values = read(step, columns)
        batch = {
            name: tf.ensure_shape(value, column.shape)
            for (name, column), value in zip(columns.items(), values, strict=True)
        }
        return _finished(batch, source)

    batches = tf.data.Dataset.range(taken.start_step, _ENDLESS).map(finished)
    return _with_options(batches).prefetch(config.prefetch)


def _is_by_length(source: Source, sampling: FrameSampling | None, config: InputConfig) -> bool:
    return source.level is Level.FRAME and config.bucket_batches > 1 and sampling is None


def _finished(batch: dict[str, tf.Tensor], source: Source) -> dict[str, tf.Tensor]:
    if source.level is Level.VIDEO:
        batch = {POSITION: batch[POSITION], **_videos(source)(batch[RECORDS])}
    return with_known_classes(batch, source.columns)


def _videos(
    source: Source, *, with_id: bool = False
) -> Callable[[tf.Tensor], dict[str, tf.Tensor]]:
    if source.transformed:
        return functools.partial(parse_transformed, features=source.features, with_id=with_id)
    return functools.partial(
        parse_videos, features=source.features, with_id=with_id, columns=source.column_names
    )


def _check_buckets(taken: BatchSlice, config: InputConfig) -> None:
    size, multiple = taken.global_batch_size, config.bucket_multiple
    if size % multiple or multiple % taken.num_workers:
        raise ConfigError(
            f"inputs.bucket_multiple = {multiple}: must divide the global batch ({size} rows) and "
            f"be divided by the number of workers ({taken.num_workers})"
        )


def dataset_for_scoring(
    source: Source,
    *,
    batch_size: int,
    sampling: FrameSampling | None = None,
    max_rows: int | None = None,
    num_workers: int = 1,
    worker_index: int = 0,
) -> tf.data.Dataset:
    """Every row once, in the order of the manifest, with `id`; the last batch may be smaller.

    With `max_rows` only the first so many. Of several workers each takes a stretch of the records.
    """
    part = read_shards(source.shards)
    if max_rows is not None or num_workers > 1:  # else nobody need have counted the records
        records = records_with(source, max_rows)
        start, end = (records * i // num_workers for i in (worker_index, worker_index + 1))
        part = _records_between(source, start, end)
    rows = rows_of_records(part, source, batch_size=batch_size, sampling=sampling)
    return _with_options(rows).prefetch(2)


def records_with(source: Source, max_rows: int | None) -> int:
    """How many of the first records have so many rows; all without `max_rows`."""
    records = sum(shard.records for shard in source.shards)
    if max_rows is None:
        return records
    if source.level is Level.SEGMENT:
        # To the end of the record that has the last of them.
        return int(np.searchsorted(index_of(source).first_row[:-1], max_rows))
    return min(records, max_rows)


def _records_between(source: Source, start: int, end: int) -> tf.data.Dataset:
    """The records from number `start` up to `end`; other shards are not opened."""
    ends = np.cumsum([shard.records for shard in source.shards])
    first = int(np.searchsorted(ends, start, side="right"))
    last = int(np.searchsorted(ends, end, side="left"))
    if start == end:  # of no shard
        first, last = 0, 0
    before = int(ends[first]) - source.shards[first].records
    return read_shards(source.shards[first : last + 1]).skip(start - before).take(end - start)


def rows_of_records(
    records: tf.data.Dataset,
    source: Source,
    *,
    batch_size: int,
    sampling: FrameSampling | None = None,
) -> tf.data.Dataset:
    """Batches for scoring from a dataset of serialized records."""
    batches = _scored_batches(records, source, batch_size=batch_size, sampling=sampling)
    if not source.columns:
        return batches
    return batches.map(functools.partial(with_known_classes, columns=source.columns))


def _scored_batches(
    records: tf.data.Dataset, source: Source, *, batch_size: int, sampling: FrameSampling | None
) -> tf.data.Dataset:
    features, columns = source.features, source.column_names
    if source.level is Level.VIDEO:
        return records.batch(batch_size).map(_videos(source, with_id=True))
    if source.level is Level.SEGMENT:
        rows = _segments_of(records, features, with_id=True, columns=columns)
    else:
        frames = sampling.frames if sampling else None
        parse = functools.partial(
            parse_frames, features=features, frames=frames, with_id=True, columns=columns
        )
        rows = records.map(parse, num_parallel_calls=_PARALLEL)
    return _padded(rows, batch_size)


def _segments_of(
    records: tf.data.Dataset,
    features: FeatureConfig,
    *,
    with_id: bool = False,
    columns: Sequence[str] = (),
) -> tf.data.Dataset:
    parse = functools.partial(parse_segments, features=features, with_id=with_id, columns=columns)
    several = records.map(parse, num_parallel_calls=_PARALLEL, deterministic=True)
    # Not `unbatch`, which TensorFlow 2.16 lets end in a segmentation fault here.
    return several.flat_map(tf.data.Dataset.from_tensor_slices)


def _padded(rows: tf.data.Dataset, batch_size: int) -> tf.data.Dataset:
    return rows.padded_batch(batch_size, padding_values=padding_of(rows.element_spec))


def _with_options(batches: tf.data.Dataset) -> tf.data.Dataset:
    options = tf.data.Options()
    options.deterministic = True
    # Taking the time of every element costs a tenth of the reading; there is nothing to tune.
    options.autotune.enabled = False
    # Rows are divided among workers here already, by position.
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    return batches.with_options(options)
