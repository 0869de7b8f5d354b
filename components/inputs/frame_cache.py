"""Packed frames of a source's shards, kept on this machine between epochs and between trainings.

A file is named by its shard's content and by what was packed of it, so that trainings share it and
a retraining packs new shards alone. Files lie with the copies of remote shards, within one budget.
What is not there, or has no room, is read from the records: both give the same numbers.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path

import numpy as np

from yt8m.components.artifacts.manifest import Shard
from yt8m.components.inputs.config import BatchSlice, Source
from yt8m.components.inputs.faults import ChangedShard
from yt8m.components.inputs.packed_frames import DamagedPack, PackedShard, PackWriter
from yt8m.components.inputs.record_index import RecordIndex
from yt8m.components.inputs.record_reader import RecordReader
from yt8m.components.records.decode import Record, decode_record
from yt8m.components.storage.cache import CacheDirectory

_PART = ".part"
_ABANDONED_S = 600.0  # a file that nobody has written to for so long nobody writes
_log = logging.getLogger(__name__)

Stored = bytes | memoryview | Record  # serialized or decoded


class FrameCache:
    """Packs the shards of a source, a little with each step, and reads those that are packed.

    Safe to use from several threads, and with other processes in the same directory.
    """

    def __init__(
        self,
        source: Source,
        index: RecordIndex,
        taken: BatchSlice,
        directory: CacheDirectory | None = None,
    ) -> None:
        self._directory = directory or CacheDirectory()
        self._shards, self._index = source.shards, index
        self._sizes = source.features.size_by_name
        self._names = [_file_name(source, shard) for shard in source.shards]
        self._reader = RecordReader(source, index, whole_shards=False)
        self._packed: dict[int, PackedShard] = {}
        self._lock = threading.Lock()
        self._remove_abandoned()
        for number in range(len(self._shards)):
            self._open(number)
        _log.info(
            "cache of frames in %s: %d of %d shards are there",
            self._directory.path,
            len(self._packed),
            len(self._shards),
        )
        # Workers of one machine begin with different shards, and find those of the others.
        own = [range(i, len(self._shards), taken.num_workers) for i in range(taken.num_workers)]
        order = [*own[taken.worker_index :], *own[: taken.worker_index]]
        self._steps: Generator[None] | None = self._packing([n for part in order for n in part])

    def record(self, number: int) -> Record | None:
        """Record `number` of the source; None where it is not packed."""
        shard = int(np.searchsorted(self._index.first, number, side="right")) - 1
        packed = self._packed.get(shard)
        if packed is None:
            return None
        try:
            return packed.record(number - int(self._index.first[shard]))
        except DamagedPack as error:
            self._drop(shard, str(error))
            return None

    def has(self, numbers: np.ndarray) -> np.ndarray:
        """`[any] bool`: which records of `numbers` are packed."""
        shards = np.searchsorted(self._index.first, numbers, side="right") - 1
        return np.isin(shards, list(self._packed))

    def advance(self, records: int) -> None:
        """Pack so many more records, where some are left and the disk has room."""
        with self._lock:
            if self._packed and self._directory.is_short():
                self._give_up(f"{self._directory.path} has little space left, which others need")
            for _ in range(records):
                if self._steps is None:
                    return
                try:
                    next(self._steps)
                except StopIteration:
                    self._steps = None
                except OSError as error:
                    self._steps = None
                    _log.warning("the cache of frames takes no more shards: %s", error)

    def close(self) -> None:
        """Pack no more, and remove the file that was begun."""
        with self._lock:
            if self._steps is not None:
                self._steps.close()
            self._steps = None

    def _give_up(self, reason: str) -> None:
        _log.warning("the cache of frames is dropped: %s; records are read instead", reason)
        self._steps = None
        for number in list(self._packed):
            del self._packed[number]
            self._path(number).unlink(missing_ok=True)

    def _drop(self, shard: int, reason: str) -> None:
        _log.warning("%s; it is removed from the cache, and its records are read instead", reason)
        self._packed.pop(shard, None)
        self._path(shard).unlink(missing_ok=True)

    def _path(self, shard: int) -> Path:
        return self._directory.path / self._names[shard]

    def _open(self, shard: int) -> bool:
        """Take the file of `shard`, if somebody has written it."""
        path = self._path(shard)
        try:
            packed = PackedShard(path, self._sizes)
            if len(packed) != self._shards[shard].records:
                raise DamagedPack(f"{path.name} has {len(packed)} records")
            path.touch()  # its time is that of the last use
        except FileNotFoundError:
            return False
        except DamagedPack as error:
            self._drop(shard, str(error))
            return False
        self._packed[shard] = packed
        return True

    def _packing(self, shards: list[int]) -> Generator[None]:
        """Pack one shard after the other; each `next` one record."""
        for shard in shards:
            if shard in self._packed or self._open(shard):
                continue
            size = int(self._index.lengths[self._numbers(shard)].sum())
            if not self._directory.room_for([size], keep=set(self._names)):
                _log.info(
                    "no more room in the cache of frames: %d shards are in it, %d are read anew",
                    len(self._packed),
                    len(self._shards) - len(self._packed),
                )
                return
            yield from self._pack(shard)
        _log.info("cache of frames: %d of %d shards", len(self._packed), len(self._shards))

    def _pack(self, shard: int) -> Generator[None]:
        """Write a file aside and move it to its place; what was begun ends with this process."""
        part = self._directory.path / f".{uuid.uuid4().hex}{_PART}"
        writer = PackWriter(part, self._sizes)
        remove = weakref.finalize(writer, part.unlink, missing_ok=True)
        try:
            for record in self._records(shard):
                writer.add(decode_record(record))
                yield
            writer.finish()
            part.replace(self._path(shard))
            self._open(shard)
        except ChangedShard:
            raise
        except ValueError as error:  # of which whoever trains on it is told
            _log.info("%s is not packed: %s", self._shards[shard].uri, error)
        finally:
            remove()

    def _records(self, shard: int) -> Iterable[bytes | memoryview]:
        numbers = self._numbers(shard)
        if self._reader.has_single_records:
            return self._reader.read_one_by_one(numbers)
        return self._reader.read(numbers)

    def _numbers(self, shard: int) -> np.ndarray:
        return np.arange(self._index.first[shard], self._index.first[shard + 1])

    def _remove_abandoned(self) -> None:
        """What killed processes began."""
        for part in self._directory.path.glob(f".*{_PART}"):
            with contextlib.suppress(FileNotFoundError):
                if time.time() - part.stat().st_mtime > _ABANDONED_S:
                    part.unlink()


class CachedReader:
    """A reader of records that takes from the cache what is there."""

    def __init__(self, reader: RecordReader, cache: FrameCache) -> None:
        self._reader, self._cache = reader, cache
        self.is_remote, self.has_single_records = reader.is_remote, reader.has_single_records

    def announce(self, numbers: np.ndarray) -> None:
        """As `RecordReader` does, of the records that it reads."""
        self._reader.announce(numbers[~self._cache.has(numbers)])

    def read_one_by_one(self, numbers: np.ndarray) -> Iterator[Stored]:
        """The records of these numbers [any] int64, each read when it is asked for."""
        return self._merged(numbers, self._reader.read_one_by_one)

    def read(self, numbers: np.ndarray) -> list[Stored]:
        """The records of these numbers [any] int64, which ascend."""
        return list(self._merged(numbers, self._reader.read))

    def _merged(
        self, numbers: np.ndarray, read: Callable[[np.ndarray], Iterable[bytes | memoryview]]
    ) -> Iterator[Stored]:
        is_packed = self._cache.has(numbers)
        others = iter(read(numbers[~is_packed]))
        for number, is_there in zip(numbers.tolist(), is_packed.tolist(), strict=True):
            record = self._cache.record(number) if is_there else next(others)
            # None: dropped since, for its bytes are damaged or others need the space.
            yield next(iter(read(np.array([number])))) if record is None else record


def _file_name(source: Source, shard: Shard) -> str:
    """Of the content and the features packed; without digests of records the address counts too."""
    where = "" if source.digests_known else shard.uri
    features = list(source.features.size_by_name.items())
    known = [shard.digest, shard.records, shard.bytes, where, features]
    digest = hashlib.sha256(json.dumps(known).encode()).hexdigest()[:24]
    return f"{digest}-{Path(shard.uri).name}.frames"
