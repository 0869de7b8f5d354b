"""What tf.data's errors leave out: which record, in which shard, at which byte."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

import tensorflow as tf

from yt8m.components import storage
from yt8m.components.artifacts.manifest import Shard
from yt8m.components.inputs.config import Source
from yt8m.components.inputs.frame import parse_frames
from yt8m.components.inputs.segment import RATED, parse_segments
from yt8m.components.inputs.video import parse_videos
from yt8m.components.records.tfrecord import BrokenRecord, read_records
from yt8m.schemas.errors import DataError
from yt8m.schemas.features import LABELS, Level

_DATA_ERRORS = (
    tf.errors.DataLossError,
    tf.errors.InvalidArgumentError,
    tf.errors.FailedPreconditionError,
    tf.errors.NotFoundError,
    tf.errors.OutOfRangeError,
    UnicodeDecodeError,  # TensorFlow quotes the record in its message, whatever bytes it has
)


@contextmanager
def explaining_faults(source: Source) -> Iterator[None]:
    """Turn an error of TensorFlow's that the records caused into one that names the record.

    The shards are read again to find it, which only a failing run pays for. An error that has
    another cause passes unchanged.
    """
    try:
        yield
    except _DATA_ERRORS as error:
        fault = find_fault(source)
        if fault is None:
            raise
        raise DataError(fault) from error


def find_fault(source: Source) -> str | None:
    """The first record of `source` that cannot be read, and why; None when all can."""
    parse = tf.function(
        lambda record: _parse(record, source),
        input_signature=[tf.TensorSpec([], tf.string)],
        autograph=False,
    )
    for shard in source.shards:
        try:
            fault = _fault_of_shard(shard, source, parse)
        except (OSError, EOFError) as error:
            fault = f"cannot be read ({error})"
        if fault:
            return f"{shard.uri}: {fault}; run ExampleGen with data.verify=full to list all faults"
    return None


def _fault_of_shard(
    shard: Shard, source: Source, parse: tf.types.experimental.Callable
) -> str | None:
    count = 0
    with storage.open_file(shard.uri) as file:
        stream = gzip.GzipFile(fileobj=file) if shard.compression == "GZIP" else file
        try:
            for offset, record in read_records(cast(BinaryIO, stream)):
                fault = _fault_of_record(record, source, parse)
                if fault:
                    return f"record {count} at byte {offset}: {fault}"
                count += 1
        except BrokenRecord as error:
            return str(error)
    if count != shard.records:
        return f"has {count} records, but {shard.records} when the manifest was written"
    return None


def _fault_of_record(record: bytes, source: Source, parse) -> str | None:  # type: ignore[no-untyped-def]
    try:
        labels = parse(tf.constant(record)).numpy()
    except UnicodeDecodeError:
        return f"not a record of level {source.level.value}"
    except tf.errors.OpError as error:
        return f"not a record of level {source.level.value}: {str(error.message).splitlines()[0]}"
    classes = source.features.num_classes
    wrong = labels[(labels < -1) | (labels >= classes)]
    return f"label {wrong[0]} is outside 0..{classes - 1}" if len(wrong) else None


def _parse(record: tf.Tensor, source: Source) -> tf.Tensor:
    """Everything that training decodes; the label ids, flat."""
    if source.level is Level.VIDEO:
        parsed = parse_videos(record[tf.newaxis], source.features)
    elif source.level is Level.SEGMENT:
        parsed = parse_segments(record, source.features)
    else:
        parsed = parse_frames(record, source.features)
    # Frames are decoded for their checks, though only labels are looked at.
    with tf.control_dependencies([parsed[name] for name in source.features.names]):
        labels = [parsed[key] for key in (LABELS, RATED) if key in parsed]
        return tf.concat([tf.reshape(values, [-1]) for values in labels], axis=0)
