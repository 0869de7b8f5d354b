"""Start of each record of a source, and its number of rows: ExampleGen's index, or our own.

A shard that the index does not have is walked once, before training, header by header. In an object
store large records are passed over; small ones, and what is packed, are read once and not kept.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from yt8m.components import storage
from yt8m.components.artifacts.manifest import Shard
from yt8m.components.artifacts.record_index import ShardIndex, parse_index
from yt8m.components.inputs.config import Source
from yt8m.components.inputs.faults import find_fault
from yt8m.components.inputs.shards import local_path
from yt8m.components.records.decode import decode_record
from yt8m.components.records.shard_reader import open_shard, record_lengths
from yt8m.components.records.tfrecord import FOOTER_BYTES, HEADER_BYTES, read_records
from yt8m.schemas.errors import DataError
from yt8m.schemas.features import Level
from yt8m.schemas.json_file import reading

FRAMING_BYTES = HEADER_BYTES + FOOTER_BYTES
_WALKED_AT_ONCE = 16  # they wait for an object store's answers
_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class RecordIndex:
    """All records of a source, numbered through in the order of its shards, and all rows."""

    first: np.ndarray  # [shards + 1] int64, number of each shard's first record
    lengths: np.ndarray  # [records] int64, bytes without framing
    offsets: np.ndarray  # [records] int64, of the framed record in its shard's unpacked stream
    first_row: np.ndarray  # [records + 1] int64, number of each record's first row

    @property
    def rows_by_shard(self) -> np.ndarray:
        """`[shards] int64`."""
        return np.diff(self.first_row[self.first])

    def records_of(self, rows: np.ndarray) -> np.ndarray:
        """The numbers of the records that `rows` are of."""
        return np.searchsorted(self.first_row, rows, side="right") - 1


@functools.lru_cache(maxsize=4)
def index_of(source: Source) -> RecordIndex:
    """The index of `source`; DataError where a shard is not as the manifest says."""
    known = _load(source.index)
    with ThreadPoolExecutor(_WALKED_AT_ONCE) as pool:
        shards = list(pool.map(lambda shard: _of_shard(source, shard, known), source.shards))
    lengths = np.concatenate([s.lengths for s in shards]).astype(np.int64)
    counts = np.array([len(s.lengths) for s in shards], np.int64)
    first = np.concatenate([[0], np.cumsum(counts)])
    framed = lengths + FRAMING_BYTES
    ends = np.cumsum(framed)
    offsets = ends - framed
    offsets -= np.repeat(offsets[first[:-1]], counts)
    rows = np.ones(len(lengths), np.int64)
    if source.level is Level.SEGMENT:
        rows = np.concatenate(_segments(source, known)).astype(np.int64)
    first_row = np.concatenate([[0], np.cumsum(rows)])
    return RecordIndex(first=first, lengths=lengths, offsets=offsets, first_row=first_row)


@functools.lru_cache(maxsize=4)
def rows_by_shard(source: Source) -> tuple[int, ...]:
    """Rows of each shard: its records, or at segment level its rated segments."""
    if source.level is not Level.SEGMENT:
        return tuple(shard.records for shard in source.shards)
    if source.segments_known:
        counts = tuple(shard.segments for shard in source.shards)
    else:
        counts = tuple(int(segments.sum()) for segments in _segments(source, _load(source.index)))
    if not sum(counts):
        raise DataError("the split has no rated segments; segment level needs them to train")
    return counts


def _segments(source: Source, known: Mapping[str, ShardIndex]) -> list[np.ndarray]:
    by_shard = []
    for shard in source.shards:
        counted = known.get(shard.uri)
        if counted is None or counted.segments is None:
            counted = _counted(shard)
        by_shard.append(counted.segments)
    return [segments for segments in by_shard if segments is not None]


def _load(uri: str) -> Mapping[str, ShardIndex]:
    if not uri:
        return {}
    try:
        with reading(uri):
            return parse_index(storage.read_bytes(uri))
    except FileNotFoundError:
        _log.info("%s is not there; the shards are read instead", uri)
    except ValueError as error:
        _log.warning("%s: %s; the shards are read instead", uri, error)
    return {}


def _of_shard(source: Source, shard: Shard, known: Mapping[str, ShardIndex]) -> ShardIndex:
    shard_index = known.get(shard.uri)
    if shard_index is not None and len(shard_index.lengths) == shard.records:
        return shard_index
    try:
        lengths, _, _ = record_lengths(shard.uri)
    except (FileNotFoundError, PermissionError):
        lengths = []
    if len(lengths) != shard.records:
        fault = find_fault(replace(source, shards=(shard,)))
        raise DataError(fault or f"{shard.uri} changes while it is read")
    return ShardIndex(np.array(lengths, np.uint32))


@functools.cache  # the same for both questions
def _counted(shard: Shard) -> ShardIndex:
    _log.info("counting the rated segments of %s, which was not verified in full", shard.uri)
    with open_shard(local_path(shard.uri)) as (file, _):
        counts = [decode_record(record).num_segments for _, record in read_records(file)]
    return ShardIndex(np.zeros(0, np.uint32), np.array(counts, np.uint32))
