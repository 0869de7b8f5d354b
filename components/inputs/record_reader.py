"""Reads chosen records of a source: of each shard the bytes that they take, and no others.

Checksums are verified, and lengths compared with the index: a shard that has changed since it was
indexed is an error. A gzipped shard can only be read from its beginning, up to the last record
that is wanted.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import google_crc32c
import numpy as np
import tensorflow as tf

from yt8m.components import storage
from yt8m.components.artifacts.manifest import Shard
from yt8m.components.inputs.config import Source
from yt8m.components.inputs.faults import ChangedShard
from yt8m.components.inputs.record_index import FRAMING_BYTES, RecordIndex, index_of
from yt8m.components.inputs.shards import is_remote, local_path
from yt8m.components.records.shard_reader import open_shard
from yt8m.components.records.tfrecord import HEADER_BYTES, masked_crc32c
from yt8m.schemas.errors import DataError

_CHECKSUM_DELTA = np.uint32(0xA282EAD8)
_REQUESTS = 8  # to an object store, at a time
_OPEN_FILES = 128  # at most, of shards whose records are read one by one


def read_range(source: Source, first: int, end: int, *, size: int) -> Iterator[tf.Tensor]:
    """Serialized records [size] from number `first` up to `end`; nothing else is read.

    DataError where a shard is not what the manifest says.
    """
    reader = RecordReader(source, index_of(source), whole_shards=False)
    try:
        for start in range(first, end, size):
            yield tf.constant(reader.read(np.arange(start, min(start + size, end))))
    except ChangedShard as error:
        raise DataError(str(error)) from error
    except FileNotFoundError as error:
        raise DataError(f"a shard is missing: {error}") from error


class _Stretch(NamedTuple):
    """Records of one shard that lie side by side; of a gzipped one all that are wanted."""

    shard: Shard
    offsets: np.ndarray
    lengths: np.ndarray

    @property
    def start(self) -> int:
        return 0 if self.shard.compression else int(self.offsets[0])

    @property
    def end(self) -> int:
        return int(self.offsets[-1] + self.lengths[-1]) + FRAMING_BYTES


class _File:
    """A file that is open as long as somebody has this."""

    def __init__(self, path: str) -> None:
        self.number = os.open(path, os.O_RDONLY)

    def __del__(self) -> None:
        if hasattr(self, "number"):
            os.close(self.number)


class RecordReader:
    """Reads records by their numbers in the index. Safe to use from several threads."""

    def __init__(self, source: Source, index: RecordIndex, *, whole_shards: bool) -> None:
        """With `whole_shards` remote ones are read through the local cache, as a whole."""
        self._shards, self._index = source.shards, index
        self._whole_shards = whole_shards
        self._is_packed = np.array([bool(shard.compression) for shard in source.shards])
        self._is_remote = any(is_remote(shard.uri) for shard in source.shards)
        self._has_single = not self._is_remote and not self._is_packed.any()
        self._file = functools.lru_cache(maxsize=_OPEN_FILES)(_File)

    @property
    def is_remote(self) -> bool:
        return self._is_remote

    @property
    def has_single_records(self) -> bool:
        """Whether a record can be read by itself as cheaply as with its neighbours."""
        return bool(self._has_single)

    def announce(self, numbers: np.ndarray) -> None:
        """Have the system fetch what is read one by one soon; `numbers` ascend."""
        if self._is_remote or not hasattr(os, "posix_fadvise"):  # as on macOS
            return
        begins, ends, shards = self._cuts(numbers)
        offsets, last = self._index.offsets[numbers[begins]], numbers[ends - 1]
        lengths = self._index.offsets[last] + self._index.lengths[last] + FRAMING_BYTES - offsets
        places = zip(shards.tolist(), offsets.tolist(), lengths.tolist(), strict=True)
        for shard, offset, length in places:
            file = self._file(_path(self._shards[shard]))
            os.posix_fadvise(file.number, offset, length, os.POSIX_FADV_WILLNEED)

    def read_one_by_one(self, numbers: np.ndarray) -> Iterator[memoryview]:
        """The records of these numbers [any] int64, each read when it is asked for.

        So it is used while it lies in the processor's cache, and its memory serves the next one.
        """
        index = self._index
        shards = np.searchsorted(index.first, numbers, side="right") - 1
        places = zip(
            map(self._shards.__getitem__, shards.tolist()),
            index.offsets[numbers].tolist(),
            index.lengths[numbers].tolist(),
            strict=True,
        )
        if not self._is_remote:
            yield from itertools.starmap(self._record, places)
            return
        with ThreadPoolExecutor(_REQUESTS) as pool:
            yield from pool.map(lambda place: self._record(*place), places)

    def _record(self, shard: Shard, offset: int, length: int) -> memoryview:
        end = HEADER_BYTES + length
        stop = offset + length + FRAMING_BYTES
        if is_remote(shard.uri):
            data = storage.read_range(shard.uri, offset, stop)
        else:
            data = _pread(self._file(_path(shard)), offset, stop)
        if len(data) != length + FRAMING_BYTES:
            raise _shorter(shard)
        if int.from_bytes(data[:8], "little") != length:
            raise _changed(shard, "lengths")
        # Neither the checksum nor the caller needs a copy; the checksum takes no memoryview.
        record = np.frombuffer(data, np.uint8, length, HEADER_BYTES)
        if masked_crc32c(record) != int.from_bytes(data[end:], "little"):
            raise _changed(shard, "checksums")
        return record.data

    def read(self, numbers: np.ndarray) -> list[bytes]:
        """The records of these numbers [any] int64, which ascend."""
        return [
            record
            for records in self._map(self._records, self._stretches(numbers))
            for record in records
        ]

    def _map(
        self, read: Callable[[_Stretch], list[bytes]], stretches: Iterator[_Stretch]
    ) -> Iterator[list[bytes]]:
        if not self._is_remote:
            yield from map(read, stretches)
            return
        with ThreadPoolExecutor(_REQUESTS) as pool:
            yield from pool.map(read, stretches)

    def _stretches(self, numbers: np.ndarray) -> Iterator[_Stretch]:
        index = self._index
        for begin, end, shard in zip(*map(np.ndarray.tolist, self._cuts(numbers)), strict=True):
            chosen = numbers[begin:end]
            yield _Stretch(self._shards[shard], index.offsets[chosen], index.lengths[chosen])

    def _cuts(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where stretches begin and end in `numbers`, which ascend, and the shard of each."""
        shard_of = np.searchsorted(self._index.first, numbers, side="right") - 1
        is_gap = (np.diff(numbers) > 1) & ~self._is_packed[shard_of[1:]]
        is_end = np.append((np.diff(shard_of) > 0) | is_gap, True)[: len(numbers)]
        ends = np.flatnonzero(is_end) + 1
        begins = np.concatenate([[0], ends[:-1]])[: len(ends)]
        return begins, ends, shard_of[begins]

    def _records(self, stretch: _Stretch) -> list[bytes]:
        data = self._bytes(stretch)
        if len(data) != stretch.end - stretch.start:
            raise _shorter(stretch.shard)
        starts = stretch.offsets - stretch.start
        view = np.frombuffer(data, np.uint8)
        if (_numbers_at(view, starts, "<u8") != stretch.lengths.astype(np.uint64)).any():
            raise _changed(stretch.shard, "lengths")
        begins = starts + HEADER_BYTES
        ends = begins + stretch.lengths
        records = [data[a:b] for a, b in zip(begins.tolist(), ends.tolist(), strict=True)]
        checksums = np.fromiter(map(google_crc32c.value, records), np.uint32, len(records))
        masked = (checksums >> np.uint32(15) | checksums << np.uint32(17)) + _CHECKSUM_DELTA
        if (masked != _numbers_at(view, ends, "<u4")).any():
            raise _changed(stretch.shard, "checksums")
        return records

    def _bytes(self, stretch: _Stretch) -> bytes:
        shard, start, end = stretch.shard, stretch.start, stretch.end
        if shard.compression:
            with open_shard(local_path(shard.uri)) as (unpacked, _):
                return unpacked.read(end)
        if is_remote(shard.uri) and not self._whole_shards:
            return storage.read_range(shard.uri, start, end)
        path = local_path(shard.uri) if self._is_remote else _path(shard)
        return _pread(_File(path), start, end)


def _path(shard: Shard) -> str:
    return _cached_path(shard.uri)


@functools.cache
def _cached_path(uri: str) -> str:
    return str(storage.local_path(uri))


def _pread(file: _File, start: int, end: int) -> bytes:
    """The bytes that are there; the system gives at most 2 GB per call."""
    data = os.pread(file.number, end - start, start)
    while len(data) < end - start and (
        more := os.pread(file.number, end - start - len(data), start + len(data))
    ):
        data += more
    return data


def _numbers_at(view: np.ndarray, at: np.ndarray, kind: str) -> np.ndarray:
    """The little-endian numbers that begin at the bytes `at` of `view`."""
    size = np.dtype(kind).itemsize
    return np.ascontiguousarray(view[at[:, np.newaxis] + np.arange(size)]).view(kind)[:, 0]


def _shorter(shard: Shard) -> ChangedShard:
    return ChangedShard(f"{shard.uri} is shorter than when it was indexed", shard.uri)


def _changed(shard: Shard, what: str) -> ChangedShard:
    message = (
        f"{shard.uri}: {what} of its records are not those of its index; if it has been replaced, "
        "run ExampleGen again"
    )
    return ChangedShard(message, shard.uri)
