"""Records of shards, wherever they lie."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
import tensorflow as tf

from yt8m.components import storage
from yt8m.components.artifacts.manifest import Shard
from yt8m.components.inputs.prefetch import prefetch_one
from yt8m.components.records.decode import MalformedRecord, Record, Value, decode_record
from yt8m.components.records.shard_reader import GZIP_FAULTS, open_shard
from yt8m.components.records.tfrecord import BrokenRecord, read_records
from yt8m.components.records.validation import not_a_record
from yt8m.components.storage.cache import ReadCache
from yt8m.schemas.errors import DataError
from yt8m.schemas.features import ID, Level

_BUFFER_BYTES = 8 << 20
# Small shards are scored together: each group costs about a tenth of a second beside its records,
# and the published shards hold 300 videos, which are scored in less.
GROUP_BYTES = 64 << 20
_WITHIN_A_GRAPH = "Graph execution error:"
# TensorFlow quotes a record that it cannot read in its message, and then may be unable to decode
# that message as text.
UNREADABLE = (tf.errors.InvalidArgumentError, UnicodeDecodeError)


def read_shards(shards: Sequence[Shard]) -> tf.data.Dataset:
    """Serialized records of `shards`, one after the other."""
    uris = tf.constant([str(storage.local_path(shard.uri) or shard.uri) for shard in shards])
    compressions = tf.constant([shard.compression for shard in shards])
    files = tf.data.Dataset.from_tensor_slices((uris, compressions))
    if any(is_remote(shard.uri) for shard in shards):
        # The next shard is fetched while this one is read.
        files = files.map(lambda uri, kind: (_local_copy(uri), kind)).prefetch(1)
    return files.flat_map(
        lambda uri, compression: tf.data.TFRecordDataset(
            uri, compression_type=compression, buffer_size=_BUFFER_BYTES
        )
    )


def group_shards(
    shards: Sequence[Shard], *, group_bytes: int = GROUP_BYTES, at_least: int = 1
) -> list[list[Shard]]:
    """Consecutive shards in groups that are large enough to be worth a task.

    Where there are as many shards, about `at_least` groups, so that all workers have some.
    """
    total = sum(shard.bytes for shard in shards)
    group_bytes = min(group_bytes, max(1, math.ceil(total / at_least)))
    groups: list[list[Shard]] = []
    size = group_bytes
    for shard in shards:
        if size >= group_bytes:
            groups.append([])
            size = 0
        groups[-1].append(shard)
        size += shard.bytes
    return groups


def read_batches(shards: Sequence[Shard], size: int) -> Iterator[tf.Tensor]:
    """Serialized records [size], in the shards' order; DataError names the shard that is bad."""
    records = read_serialized(shards)
    parts = iter(lambda: list(islice(records, size)), [])
    return prefetch_one(tf.constant(part, tf.string) for part in parts)


def read_serialized(shards: Sequence[Shard]) -> Iterator[bytes]:
    """Serialized records, in the shards' order; DataError names the shard that is bad.

    Without TensorFlow, whose reader takes three to four times as long for a record.
    """
    for path, shard in _local_paths(shards):
        try:
            with open_shard(path) as (file, _):
                for _, record in read_records(file):
                    yield record
        except (BrokenRecord, *GZIP_FAULTS) as error:
            raise DataError(f"a damaged record in {shard.uri}: {error}") from error
        except FileNotFoundError as error:
            raise DataError(f"a shard is missing: {shard.uri}") from error


def _local_paths(shards: Sequence[Shard]) -> Iterator[tuple[str, Shard]]:
    """Where each can be read; of remote ones the next is fetched while one is read."""
    return prefetch_one((local_path(shard.uri), shard) for shard in shards)


def why_unreadable(records: tf.Tensor, error: Exception, level: Level | None = None) -> str:
    """Which of serialized `records` [B] it is for which TensorFlow raised `error`, and why.

    `level` is that of the records to be read, where it is known.
    """
    reason = tf_reason(error)
    for number, data in enumerate(records.numpy().tolist()):
        try:
            record = decode_record(data)
        except MalformedRecord as fault:
            reason = f"record {number} of the batch: {not_a_record(fault)}"
            break
        if level and record.level.is_sequence != level.is_sequence:
            where = _named(record) or f"record {number} of the batch"
            return f"{where} is of level {record.level.value}"
        if not_finite := [key for key, value in record.features.items() if not _is_finite(value)]:
            where = _named(record) or f"record {number} of the batch"
            reason = f"{where}: feature {not_finite[0]} holds NaN or infinity ({reason})"
            break
    return f"{reason}; `yt8m data inspect` lists such records"


def _named(record: Record) -> str:
    match record.features.get(ID):
        case (bytes() as name,) if name:
            return f"video {name.decode(errors='replace')}"
    return ""


def _is_finite(value: Value) -> bool:
    return not isinstance(value, np.ndarray) or bool(np.isfinite(value).all())


def tf_reason(error: Exception) -> str:
    """TensorFlow's message, without the place in its graph."""
    if isinstance(error, UnicodeDecodeError):  # of the message, which ends in a record's bytes
        text = error.object.decode(errors="replace").partition(", value: ")[0]
    else:
        text = str(getattr(error, "message", error)).strip() or type(error).__name__
    if text.startswith(_WITHIN_A_GRAPH):  # the reason is the last line before the node's name
        text = text.partition("\n\t [[{{")[0].rstrip().rpartition("\n")[2]
    return text.rpartition("}} ")[2].partition(" [Op:")[0].partition("\n")[0]


def is_remote(uri: str) -> bool:
    """Whether `uri` is read through a local copy: TensorFlow has few schemes, and no retries."""
    return storage.local_path(uri) is None


def local_path(uri: str) -> str:
    """Where the whole shard can be read on this machine."""
    return ReadCache().path(uri)


def _local_copy(uri: tf.Tensor) -> tf.Tensor:
    copy = tf.numpy_function(_fetch, [uri], tf.string, stateful=False)
    return tf.ensure_shape(copy, [])


def _fetch(uri: bytes) -> bytes:
    return local_path(uri.decode()).encode()
