"""Batches for training, which never end and can begin at any step, and for scoring, once through.

Both give the dict that docs/architecture.md lists. A training batch also has `position` [batch]:
the number of each row since the beginning of training, which decides what is random about it.
"""

from __future__ import annotations

import functools

import tensorflow as tf

from yt8m.components.inputs.bucketing import bucketed
from yt8m.components.inputs.config import (
    BatchSlice,
    FrameChoice,
    FrameSampling,
    InputConfig,
    Source,
)
from yt8m.components.inputs.frame import padding_of, parse_frames
from yt8m.components.inputs.order import BlockOrder, create_order, ordered_rows
from yt8m.components.inputs.rows import count_rows
from yt8m.components.inputs.segment import parse_segments
from yt8m.components.inputs.shards import read_shards
from yt8m.components.inputs.video import parse_videos
from yt8m.schemas.batch import POSITION
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.features import FeatureConfig, Level

_PARALLEL = tf.data.AUTOTUNE


def dataset_for_training(
    source: Source,
    taken: BatchSlice,
    *,
    sampling: FrameSampling | None = None,
    config: InputConfig | None = None,
) -> tf.data.Dataset:
    """This process's rows of the global batches from `taken.start_step` on, without end.

    What a step is given does not depend on where the stream began, nor on the number of workers.
    """
    config = config or InputConfig()
    order = create_order(
        source.shards, count_rows(source), seed=taken.seed, shuffle_mb=config.shuffle_mb
    )
    if source.level is Level.VIDEO:
        batches = _videos(source, taken, order)
    elif source.level is Level.SEGMENT:
        batches = _segments(source, taken, order)
    elif config.bucket_batches > 1 and sampling is None:
        batches = _bucketed_frames(source, taken, order, config)
    else:
        batches = _frames(source, taken, order, sampling)
    return _with_options(batches).prefetch(config.prefetch)


def dataset_for_scoring(
    source: Source,
    *,
    batch_size: int,
    sampling: FrameSampling | None = None,
    num_workers: int = 1,
    worker_index: int = 0,
) -> tf.data.Dataset:
    """Every row once, in the order of the manifest, with `id`; the last batch may be smaller.

    Worker w takes the w-th of each `num_workers` records.
    """
    records = read_shards(source.shards).shard(num_workers, worker_index)
    return _with_options(
        rows_of_records(records, source, batch_size=batch_size, sampling=sampling)
    ).prefetch(2)


def rows_of_records(
    records: tf.data.Dataset,
    source: Source,
    *,
    batch_size: int,
    sampling: FrameSampling | None = None,
) -> tf.data.Dataset:
    """Batches for scoring from a dataset of serialized records."""
    features = source.features
    if source.level is Level.VIDEO:
        return records.batch(batch_size).map(lambda r: parse_videos(r, features, with_id=True))
    if source.level is Level.SEGMENT:
        rows = _segments_of(records, features, with_id=True)
    else:
        spread = (
            FrameSampling(choice=FrameChoice.SPREAD, frames=sampling.frames) if sampling else None
        )
        parse = functools.partial(parse_frames, features=features, sampling=spread, with_id=True)
        rows = records.map(parse, num_parallel_calls=_PARALLEL)
    return _padded(rows, batch_size)


def _videos(source: Source, taken: BatchSlice, order: BlockOrder) -> tf.data.Dataset:
    size, start = _local_size(taken), taken.start_step * taken.global_batch_size
    rows = ordered_rows(order, start=start, expand=_unchanged)

    def parse(step: tf.Tensor, records: tf.Tensor) -> dict[str, tf.Tensor]:
        first = step * taken.global_batch_size + taken.worker_index
        positions = first + taken.num_workers * tf.range(size, dtype=tf.int64)
        return {POSITION: positions, **parse_videos(records, source.features)}

    # Batches are numbered rather than rows, of which there are a thousand times as many.
    batches = _own_part(rows, taken).batch(size, drop_remainder=True)
    return batches.enumerate(taken.start_step).map(parse)


def _frames(
    source: Source, taken: BatchSlice, order: BlockOrder, sampling: FrameSampling | None
) -> tf.data.Dataset:
    def parse(position: tf.Tensor, record: tf.Tensor) -> dict[str, tf.Tensor]:
        noise = tf.stack([tf.constant(taken.seed, tf.int64), position])
        row = parse_frames(record, source.features, sampling=sampling, noise=noise)
        return {POSITION: position, **row}

    rows = _own_rows(order, taken, expand=_unchanged)
    return _padded(rows.map(parse, num_parallel_calls=_PARALLEL), _local_size(taken), full=True)


def _segments(source: Source, taken: BatchSlice, order: BlockOrder) -> tf.data.Dataset:
    def expand(records: tf.data.Dataset) -> tf.data.Dataset:
        return _segments_of(records, source.features)

    rows = _own_rows(order, taken, expand=expand)
    rows = rows.map(lambda position, row: {POSITION: position, **row})
    return _padded(rows, _local_size(taken), full=True)


def _segments_of(
    records: tf.data.Dataset, features: FeatureConfig, *, with_id: bool = False
) -> tf.data.Dataset:
    parse = functools.partial(parse_segments, features=features, with_id=with_id)
    several = records.map(parse, num_parallel_calls=_PARALLEL, deterministic=True)
    # Not `unbatch`, which TensorFlow 2.16 lets end in a segmentation fault here.
    return several.flat_map(tf.data.Dataset.from_tensor_slices)


def _bucketed_frames(
    source: Source, taken: BatchSlice, order: BlockOrder, config: InputConfig
) -> tf.data.Dataset:
    """Frame level by length, for which the serialized length stands: bytes are frames."""
    count, size = config.bucket_batches, taken.global_batch_size
    multiple = config.bucket_multiple
    if size % multiple or multiple % taken.num_workers:
        raise ConfigError(
            f"inputs.bucket_multiple = {multiple}: must divide the global batch ({size} rows) and "
            f"be divided by the number of workers ({taken.num_workers})"
        )
    window, skipped = divmod(taken.start_step, count)
    rows = _numbered_rows(order, start=window * count * size, expand=_unchanged)
    groups = bucketed(
        rows,
        window=count * size,
        batches=count,
        multiple=multiple,
        seed=taken.seed,
        lengths=tf.strings.length,
    ).skip(skipped)

    def parse(position: tf.Tensor, record: tf.Tensor) -> dict[str, tf.Tensor]:
        return {POSITION: position, **parse_frames(record, source.features)}

    def own(positions: tf.Tensor, records: tf.Tensor) -> tf.data.Dataset:
        mine = slice(taken.worker_index, None, taken.num_workers)
        rows = tf.data.Dataset.from_tensor_slices((positions[mine], records[mine]))
        return _padded(rows.map(parse), tf.size(positions[mine], tf.int64))

    return groups.interleave(own, cycle_length=2, num_parallel_calls=2, deterministic=True)


def _own_rows(order: BlockOrder, taken: BatchSlice, *, expand) -> tf.data.Dataset:  # type: ignore[no-untyped-def]
    start = taken.start_step * taken.global_batch_size
    return _own_part(_numbered_rows(order, start=start, expand=expand), taken)


def _own_part(rows: tf.data.Dataset, taken: BatchSlice) -> tf.data.Dataset:
    # A global batch divides by the number of workers, so each has equally many rows of it.
    return rows.shard(taken.num_workers, taken.worker_index) if taken.num_workers > 1 else rows


def _numbered_rows(order: BlockOrder, *, start: int, expand) -> tf.data.Dataset:  # type: ignore[no-untyped-def]
    """`(position, row)` from position `start` on."""
    return ordered_rows(order, start=start, expand=expand).enumerate(start)


def _unchanged(records: tf.data.Dataset) -> tf.data.Dataset:
    return records


def _local_size(taken: BatchSlice) -> int:
    return taken.global_batch_size // taken.num_workers


def _padded(
    rows: tf.data.Dataset, batch_size: int | tf.Tensor, *, full: bool = False
) -> tf.data.Dataset:
    padding = padding_of(rows.element_spec)
    return rows.padded_batch(batch_size, padding_values=padding, drop_remainder=full)


def _with_options(batches: tf.data.Dataset) -> tf.data.Dataset:
    options = tf.data.Options()
    options.deterministic = True
    # Taking the time of every element costs a tenth of the reading; there is nothing to tune.
    options.autotune.enabled = False
    # Rows are divided among workers here already, by position.
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    return batches.with_options(options)
