"""Packed frames of a source's shards, kept on this machine between epochs and between trainings.

Or their means, for a source whose videos are averaged. A file is named by its shard's content and
by what is packed of it, so that trainings share it and a retraining packs new shards alone. Files
lie with the copies of remote shards, within one budget. A record is packed when the training reads
it. What is not packed, or has no room, is read from the records: both give the same numbers.
"""

from __future__ import annotations

import bisect
import contextlib
import functools
import hashlib
import json
import logging
import os
import resource
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from yt8m.components.inputs.assemble import mean_bytes, mean_video
from yt8m.components.inputs.config import Source
from yt8m.components.inputs.faults import ChangedShard
from yt8m.components.inputs.frame_record import Chosen, DecodedFrames, FrameRecord
from yt8m.components.inputs.packed_frames import (
    DamagedPack,
    PackedFrames,
    PackedShard,
    PackLayout,
    create_pack,
    write_record,
)
from yt8m.components.inputs.record_index import RecordIndex
from yt8m.components.inputs.record_reader import RecordReader
from yt8m.components.inputs.records_digest import glimpse
from yt8m.components.records.decode import Value, context_of, decode_record
from yt8m.components.storage.cache import CacheDirectory
from yt8m.schemas.batch import MEAN_FRAMES
from yt8m.schemas.features import FeatureConfig

_FORMAT = 1  # of the files; another one has other names
_LOOK_S = 60.0  # between looks at the disk; a file in use stays in the cache for ten minutes
_CONTEXT_BYTES = 256  # beside each mean: the id and some hundred labels; longer ones are not packed
_MAPPED = 128  # files at least that are mapped at a time, each with a descriptor
_log = logging.getLogger(__name__)


class FrameCache:
    """The packed files of a source. Safe to use from several threads and processes."""

    def __init__(
        self, source: Source, index: RecordIndex, directory: CacheDirectory | None = None
    ) -> None:
        self._directory = directory or CacheDirectory()
        self._first: list[int] = index.first.tolist()
        self._packing = _Means(source.features) if source.averaged else _Frames(source.features)
        lengths = np.split(index.lengths, index.first[1:-1])
        self._layouts = [self._packing.layout(part) for part in lengths]
        self._uris = [shard.uri for shard in source.shards]
        self._paths = [
            self._directory.path
            / _file_name(source, n, part, self._packing, glimpse(source.shards[n], index, n))
            for n, part in enumerate(lengths)
        ]
        self._in_use: set[int] = set()
        self._is_full = False
        self._warned: set[int] = set()
        self._lock = threading.Lock()
        self._next_look = time.monotonic() + _LOOK_S
        self._shard = functools.lru_cache(maxsize=_mapped_at_once())(self._map)
        try:
            with self._directory.alone():
                self._make_files()
        except OSError as error:
            self._end(f"{self._directory.path} cannot be used: {error}")

    def has(self, numbers: np.ndarray) -> np.ndarray:
        """`[any] bool`: which records of `numbers` are packed."""
        self._look()
        return np.fromiter(map(self._has, numbers.tolist()), bool, len(numbers))

    def records(self, numbers: np.ndarray) -> list[PackedFrames | None]:
        """The records of `numbers`; None for what is not packed, or no longer as written."""
        self._look()
        return [self.record(number) for number in numbers.tolist()]

    def record(self, number: int) -> PackedFrames | None:
        """Record `number` of the source; None as among `records`."""
        shard, within = self._place(number)
        packed = self._opened(shard)
        if packed is None:
            return None
        try:
            return packed.record(within)
        except DamagedPack as error:
            self.warn(number, error)
            return None

    def put(self, number: int, data: bytes | memoryview) -> FrameRecord:
        """Record `number` from its serialized form, packed if there is room."""
        video = self._packing.video(data)
        shard, within = self._place(number)
        if shard in self._in_use and not self._is_full:
            path, layout, context = self._paths[shard], self._layouts[shard], context_of(data)
            try:
                if layout.fits(within, video, context):
                    write_record(path, layout, within, video, context)
            except FileNotFoundError:
                self._lose(shard)
            except OSError as error:
                self._is_full = True
                _log.warning("the frame cache takes no more records: %s", error)
        return video

    def warn(self, number: int, error: DamagedPack) -> None:
        """Say that a record is read anew, once for each file."""
        shard, _ = self._place(number)
        if shard not in self._warned:
            self._warned.add(shard)
            _log.warning("frame cache: %s; its shard is read and packed again", error)

    def forget(self, uri: str) -> None:
        """Remove what is packed of a shard that has changed: it may be of another's records."""
        for number in [n for n in self._in_use if self._uris[n] == uri]:
            with contextlib.suppress(OSError):
                self._paths[number].unlink(missing_ok=True)
            self._lose(number)

    def _make_files(self) -> None:
        """Make the files that are missing, as far as there is room for them."""
        whole = [n for n, layout in enumerate(self._layouts) if len(layout.lengths)]
        self._directory.path.mkdir(parents=True, exist_ok=True)
        there = {n for n in whole if self._paths[n].exists()}
        missing = [n for n in whole if n not in there]
        sizes = [self._layouts[n].file_bytes for n in missing]
        keep = {path.name for path in self._paths}
        new = missing[: self._directory.room_for(sizes, keep=keep)]
        for number in sorted(there.union(new)):
            with contextlib.suppress(FileNotFoundError):  # somebody removes it at this moment
                create_pack(self._paths[number], self._layouts[number])
                os.utime(self._paths[number])  # its time is that of the last use
                self._in_use.add(number)
        _log.info(
            "frame cache %s: %d of %d shards are there, %d are added while they are read, and "
            "%d do not fit, so their records are read in every epoch",
            self._directory.path,
            len(there),
            len(whole),
            len(new),
            len(missing) - len(new),
        )

    def _look(self) -> None:
        """Now and then: leave a short disk to others, and say that the files are in use."""
        with self._lock:
            if time.monotonic() < self._next_look:
                return
            self._next_look = time.monotonic() + _LOOK_S
        if not self._in_use:
            return
        try:
            if self._directory.is_short():
                for number in list(self._in_use):
                    self._paths[number].unlink(missing_ok=True)
                self._end(f"{self._directory.path} has little space left, which others need")
        except OSError as error:
            self._end(f"{self._directory.path} cannot be used any more: {error}")
        for number in list(self._in_use):
            try:
                os.utime(self._paths[number])  # which makes no file
            except OSError:
                self._lose(number)

    def _end(self, reason: str) -> None:
        self._in_use.clear()
        self._shard.cache_clear()
        _log.warning("the frame cache is dropped, and records are read instead: %s", reason)

    def _lose(self, shard: int) -> None:
        """Somebody else has removed the file; without the mapping its space is free."""
        self._in_use.discard(shard)
        self._shard.cache_clear()
        _log.info("%s is no longer in the frame cache", self._paths[shard].name)

    def _place(self, number: int) -> tuple[int, int]:
        shard = bisect.bisect_right(self._first, number) - 1
        return shard, number - self._first[shard]

    def _has(self, number: int) -> bool:
        shard, within = self._place(number)
        packed = self._opened(shard)
        return packed is not None and packed.has(within)

    def _opened(self, shard: int) -> PackedShard | None:
        if shard not in self._in_use:
            return None
        try:
            return self._shard(shard)
        except (OSError, DamagedPack):  # removed, or made by somebody else meanwhile
            self._lose(shard)
            return None

    def _map(self, shard: int) -> PackedShard:
        return PackedShard(self._paths[shard], self._layouts[shard])


class _Packing(Protocol):
    """What is packed of each record."""

    @property
    def kind(self) -> str:
        """How the files' names end."""
        ...

    @property
    def known(self) -> list[Any]:
        """What the packed bytes follow from, beside the records."""
        ...

    def layout(self, lengths: np.ndarray) -> PackLayout:
        """The layout of a shard with records of these `lengths`."""
        ...

    def video(self, data: bytes | memoryview) -> DecodedFrames:
        """What is packed of a serialized record."""
        ...


class _Frames:
    """All frames."""

    kind = "frames"

    def __init__(self, features: FeatureConfig) -> None:
        self._sizes = features.size_by_name
        self.known: list[Any] = [list(self._sizes.items())]

    def layout(self, lengths: np.ndarray) -> PackLayout:
        return PackLayout(lengths, self._sizes)

    def video(self, data: bytes | memoryview) -> DecodedFrames:
        return DecodedFrames(decode_record(data), self._sizes)


class _Means:
    """The mean of the normalised frames: of each record one frame, of its bytes."""

    kind = "means"

    def __init__(self, features: FeatureConfig) -> None:
        self._features = features
        self._sizes = {MEAN_FRAMES: mean_bytes(features)}
        self.known: list[Any] = [list(features.size_by_name.items()), features.max_frames]

    def layout(self, lengths: np.ndarray) -> PackLayout:
        slot = PackLayout(lengths[:0], self._sizes).row_bytes + _CONTEXT_BYTES
        return PackLayout(np.full(len(lengths), slot, np.int64), self._sizes)

    def video(self, data: bytes | memoryview) -> DecodedFrames:
        return mean_video(data, self._features)


class CachedReader:
    """A reader of records that takes from the cache what is there, and packs what is not."""

    def __init__(self, reader: RecordReader, cache: FrameCache) -> None:
        self._reader, self._cache = reader, cache
        self.is_remote, self.has_single_records = reader.is_remote, reader.has_single_records

    def announce(self, numbers: np.ndarray) -> None:
        """As `RecordReader` does, of the records that it reads."""
        self._reader.announce(numbers[~self._cache.has(numbers)])

    def read_one_by_one(self, numbers: np.ndarray) -> Iterator[FrameRecord]:
        """The records of these numbers [any] int64, each read when it is asked for."""
        return self._merged(numbers, self._reader.read_one_by_one)

    def read(self, numbers: np.ndarray) -> list[FrameRecord]:
        """The records of these numbers [any] int64, which ascend."""
        return list(self._merged(numbers, self._reader.read))

    def _merged(
        self, numbers: np.ndarray, read: Callable[[np.ndarray], Iterable[bytes | memoryview]]
    ) -> Iterator[FrameRecord]:
        found = self._cache.records(numbers)
        missing = np.fromiter((packed is None for packed in found), bool, len(found))
        with self._forgetting_what_changed():
            others = iter(read(numbers[missing]))
            for number, packed in zip(numbers.tolist(), found, strict=True):
                if packed is None:
                    yield self._cache.put(number, next(others))
                else:
                    yield _Verified(packed, functools.partial(self._replace, number))

    def _replace(self, number: int, error: DamagedPack) -> FrameRecord:
        self._cache.warn(number, error)
        return self._read_again(number)

    def _read_again(self, number: int) -> FrameRecord:
        with self._forgetting_what_changed():
            (data,) = self._reader.read(np.array([number]))
        return self._cache.put(number, data)

    @contextlib.contextmanager
    def _forgetting_what_changed(self) -> Iterator[None]:
        try:
            yield
        except ChangedShard as error:
            self._cache.forget(error.uri)
            raise


class _Verified:
    """A packed video; where frames are not as written, its record gives them."""

    def __init__(self, packed: PackedFrames, replace: Callable[[DamagedPack], FrameRecord]) -> None:
        self._video: FrameRecord = packed
        self._replace = replace

    @property
    def features(self) -> Mapping[str, Value]:
        return self._video.features

    @property
    def num_frames(self) -> int:
        return self._video.num_frames

    def frames(self, chosen: Chosen) -> dict[str, np.ndarray]:
        try:
            return self._video.frames(chosen)
        except DamagedPack as error:
            self._video = self._replace(error)
            return self._video.frames(chosen)


def _file_name(
    source: Source, number: int, lengths: np.ndarray, packing: _Packing, seen: bytes
) -> str:
    """Of the content and of what is packed; without digests of records the address counts too.

    `seen` is of what lies there now: a shard that has taken this one's place has a file of its own.
    """
    shard = source.shards[number]
    known = [
        _FORMAT,
        shard.digest,
        shard.bytes,
        "" if source.digests_known else shard.uri,
        *packing.known,
        hashlib.sha256(lengths.astype("<i8").tobytes() + seen).hexdigest(),
    ]
    digest = hashlib.sha256(json.dumps(known).encode()).hexdigest()[:24]
    return f"{digest}-{Path(shard.uri).name}.{packing.kind}"


def _mapped_at_once() -> int:
    """Half of the files that this process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(_MAPPED, soft // 2) if soft != resource.RLIM_INFINITY else 1 << 16
