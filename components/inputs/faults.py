"""Place of a bad record, which tf.data's errors omit: record, shard and byte."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import tensorflow as tf

from yt8m.components.artifacts.manifest import Shard
from yt8m.components.inputs.config import Source
from yt8m.components.inputs.label_columns import OUTSIDE
from yt8m.components.inputs.record_checker import RecordChecker, record_checker
from yt8m.components.records.shard_reader import open_shard, scan
from yt8m.components.storage.errors import storage_failures_explained
from yt8m.schemas.errors import DataError

_DATA_ERRORS = (
    tf.errors.DataLossError,
    tf.errors.InvalidArgumentError,
    tf.errors.FailedPreconditionError,
    tf.errors.NotFoundError,
    tf.errors.OutOfRangeError,
    tf.errors.UnknownError,  # of our own reader: what Python raises and TensorFlow has no name for
    UnicodeDecodeError,  # TensorFlow quotes the record in its message, whatever bytes it has
)


class ChangedShard(ValueError):  # noqa: N818  (names what was found)
    """A record is not where the index says, or not what its checksum says."""

    def __init__(self, message: str, uri: str = "") -> None:
        super().__init__(message)
        self.uri = uri


@contextmanager
def explaining_faults(source: Source) -> Iterator[None]:
    """Turn an error of TensorFlow's that the records caused into one that names the record.

    The shards are read again to find it, which only a failing run pays for. An error that has
    another cause passes unchanged, and so does one of the storage: no record is to blame for it.
    """
    try:
        yield
    except _DATA_ERRORS as error:
        fault = find_fault(source) or _of_our_reader(error)
        if fault is None:
            raise
        raise DataError(fault) from error


def _of_our_reader(error: Exception) -> str | None:
    """The message of our own reader's error, of which TensorFlow makes a traceback in a text."""
    if match := re.search(rf"\b{OUTSIDE}: ([^\]]+\))", str(error)):
        return match.group(1)
    match = re.search(rf"\b{ChangedShard.__name__}: (.+)", str(error))
    return f"{match.group(1)}; restore it, or run again to take it as it is" if match else None


def find_fault(source: Source) -> str | None:
    """The first record of `source` that cannot be used, and why; None when all can."""
    checker = record_checker(source.level, source.features)
    for shard in source.shards:
        try:
            with storage_failures_explained(shard.uri):
                fault = _fault_of_shard(shard, checker)
        except (FileNotFoundError, PermissionError) as error:
            fault = f"cannot be read ({error})"
        if fault:
            return f"{shard.uri}: {fault}; run ExampleGen with data.verify=full to list all faults"
    return None


def _fault_of_shard(shard: Shard, checker: RecordChecker) -> str | None:
    count = 0
    with open_shard(shard.uri) as (file, _):
        for block in scan(file):
            # Which records must have labels, ExampleGen knows; here all are taken as they are.
            bad = checker.check(block.records, labelled=False).bad if block.records else {}
            faults = [(block.indices[at], block.offsets[at], why) for at, why in bad.items()]
            for record, offset, reason in sorted([*faults, *block.problems])[:1]:
                return f"record {record} at byte {offset}: {reason}"
            count += len(block.records)
    if count != shard.records:
        return f"has {count} records, but {shard.records} when the manifest was written"
    return None
