"""Packed frames of one shard, in a file to be mapped that is as large as the shard.

    slot of record 0 | slot of record 1 | ... | table of entries

A record's slot is as long as the record and lies where the index says, so that records come in any
order, and from several processes together: all of them write the same bytes. They fit, for in a
record a frame takes six bytes and more beside its values. A slot begins with a
row for each frame, which holds the frame of each feature and a checksum; the record's context
follows. An entry says how long both are, and has checksums of all rows and of the context. While it
is all zeros the record has not been written. Whatever is taken from the file is verified.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import mmap
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError

from yt8m.components.inputs.frame_record import Chosen, DecodedFrames
from yt8m.components.records.decode import Value

_WORD = np.dtype("<u4")
# Of frames, bytes of the context, checksum of the rows, checksum of the three and the context.
_ENTRY = struct.Struct("<4I")
_EMPTY = bytes(_ENTRY.size)
_CHECKSUM_BYTES = _WORD.itemsize


class DamagedPack(ValueError):  # noqa: N818  (names a thing found)
    """Bytes are not those that were written."""


class PackLayout:
    """Places within the packed file of a shard whose records have these `lengths` in bytes."""

    def __init__(self, lengths: np.ndarray, sizes: Mapping[str, int]) -> None:
        self.sizes = dict(sizes)
        self.row_bytes = sum(sizes.values()) + _CHECKSUM_BYTES
        self.lengths = lengths
        self.ends = np.cumsum(lengths)
        self.table = int(lengths.sum())
        self.file_bytes = self.table + _ENTRY.size * len(lengths)

    def entry(self, number: int) -> int:
        """Where the entry of record `number` begins."""
        return self.table + _ENTRY.size * number

    def fits(self, number: int, video: DecodedFrames, context: bytes) -> bool:
        """Whether record `number` is no longer than its slot."""
        return video.num_frames * self.row_bytes + len(context) <= int(self.lengths[number])

    def slot(self, number: int) -> slice:
        """The bytes that record `number` may take."""
        end = int(self.ends[number])
        return slice(end - int(self.lengths[number]), end)


def create_pack(path: Path, layout: PackLayout) -> None:
    """Make the file if it is not there; one of another size is replaced.

    It is not emptied, for another process may have mapped it. The table gets its space now: it
    is read where nothing was written, which a file system in memory that is full answers with
    a signal.
    """
    with contextlib.suppress(FileNotFoundError):
        if path.stat().st_size not in (0, layout.file_bytes):
            path.unlink()
    number = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if os.fstat(number).st_size != layout.file_bytes:
            os.ftruncate(number, layout.file_bytes)
        if hasattr(os, "posix_fallocate"):  # not on macOS
            os.posix_fallocate(number, layout.table, layout.file_bytes - layout.table)
    finally:
        os.close(number)


def write_record(
    path: Path, layout: PackLayout, number: int, video: DecodedFrames, context: bytes
) -> None:
    """Write record `number`; OSError if the file is gone or the disk is full."""
    slot, entry = _packed(layout, video, context)
    file = os.open(path, os.O_WRONLY)
    try:
        _write(file, slot, layout.slot(number).start)
        _write(file, [entry], layout.entry(number))
    finally:
        os.close(file)


def _packed(
    layout: PackLayout, video: DecodedFrames, context: bytes
) -> tuple[list[memoryview | bytes], bytes]:
    """The parts of a slot, and its entry."""
    rows = np.empty((video.num_frames, layout.row_bytes), np.uint8)
    at = 0
    for name, size in layout.sizes.items():
        rows[:, at : at + size] = video.by_name[name]
        at += size
    rows[:, at:] = _checksums(rows).view(np.uint8).reshape(-1, _CHECKSUM_BYTES)
    flat = rows.reshape(-1)
    counts = np.array([len(rows), len(context), google_crc32c.value(flat)], _WORD).tobytes()
    checksum = google_crc32c.value(counts + context)
    return [flat.data, context], counts + checksum.to_bytes(_CHECKSUM_BYTES, "little")


def _checksums(rows: np.ndarray) -> np.ndarray:
    """The checksum that the frame of each row should have."""
    frames = rows[:, :-_CHECKSUM_BYTES]
    return np.fromiter(map(google_crc32c.value, frames), _WORD, len(frames))


@functools.lru_cache
def _checksum_of_whole(rows: int, row_bytes: int) -> int:
    """The checksum of so many rows together, each of which ends with the one of its frame.

    It is the same whatever the frames are: where a row ends as it should, a cyclic redundancy check
    goes on from a state that only the row's length decides.
    """
    frame = bytes(row_bytes - _CHECKSUM_BYTES)
    row = frame + google_crc32c.value(frame).to_bytes(_CHECKSUM_BYTES, "little")
    return int(google_crc32c.value(row * rows))


def _write(file: int, parts: list[memoryview | bytes], at: int) -> None:
    if os.pwritev(file, parts, at) < sum(map(len, parts)):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class PackedShard:
    """The records of one file that have been written. Safe to use from several threads.

    What another process writes later is seen, too.
    """

    def __init__(self, path: Path, layout: PackLayout) -> None:
        """FileNotFoundError if the file is not there, DamagedPack if it has another size."""
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size != layout.file_bytes:
                raise DamagedPack(f"{path.name} has another size than it was made with")
            mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        self._bytes = np.frombuffer(mapped, np.uint8)  # stays there whoever removes the name
        self._entries = self._bytes[layout.table :].view(np.uint8).reshape(-1, _ENTRY.size)
        self._name, self._layout = path.name, layout

    def has(self, number: int) -> bool:
        """Whether record `number` has been written."""
        return bool(self._entries[number].tobytes() != _EMPTY)

    def record(self, number: int) -> PackedFrames | None:
        """Record `number`, or None if it has not been written; DamagedPack if it is not whole."""
        entry = self._entries[number].tobytes()
        if entry == _EMPTY:
            return None
        frames, length, of_rows, of_context = _ENTRY.unpack(entry)
        slot = self._layout.slot(number)
        middle = slot.start + frames * self._layout.row_bytes
        end = middle + length
        where = f"{self._name}, record {number}"
        counts = entry[:-_CHECKSUM_BYTES]
        if end > slot.stop:
            raise DamagedPack(f"{where}: its entry is damaged")
        context = self._bytes[middle:end].tobytes()
        if google_crc32c.value(counts + context) != of_context:
            raise DamagedPack(f"{where}: the checksum of its context is wrong")
        rows = self._bytes[slot.start : middle].reshape(frames, self._layout.row_bytes)
        return PackedFrames(rows, self._layout.sizes, _Features(context, where), of_rows, where)


class _Features(Mapping[str, Value]):
    """Those of a context, each taken when it is asked for.

    `decode_context` took them, strictly, when they were packed, and the bytes are the same. So
    protobuf's own parser finds the same in them, in a fifth of the time.
    """

    def __init__(self, context: bytes, where: str) -> None:
        try:
            self._by_name = tf.train.Features.FromString(context).feature
        except DecodeError as error:
            raise DamagedPack(f"{where}: its context is damaged") from error

    def __getitem__(self, name: str) -> Value:
        if name not in self._by_name:  # which protobuf would add
            raise KeyError(name)
        return _value(self._by_name[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)


def _value(feature: Any) -> Value:
    kind = feature.WhichOneof("kind")
    if kind == "int64_list":
        return _array(feature.int64_list.value, np.int64)
    if kind == "float_list":
        return _array(feature.float_list.value, np.float32)
    if kind == "bytes_list":
        return tuple(feature.bytes_list.value)
    return np.empty(0, bool)


def _array(values: Sequence[float], dtype: type[np.number[Any]]) -> np.ndarray:
    return np.fromiter(values, dtype, len(values))  # numpy.array takes seven times as long


class PackedFrames:
    """A video in a packed file; DamagedPack if frames that are taken are not as written."""

    def __init__(
        self,
        rows: np.ndarray,
        sizes: Mapping[str, int],
        features: Mapping[str, Value],
        checksum: int,
        where: str,
    ) -> None:
        self.features = features
        self._rows, self._sizes = rows, sizes
        self._checksum, self._where = checksum, where

    @property
    def num_frames(self) -> int:
        return len(self._rows)

    def frames(self, chosen: Chosen) -> dict[str, np.ndarray]:
        """The chosen frames of each feature: of a stretch the file's own bytes, else a copy."""
        rows = self._stretch(chosen) if isinstance(chosen, slice) else self._taken(chosen)
        frames = {}
        at = 0
        for name, size in self._sizes.items():
            frames[name] = rows[..., at : at + size]
            at += size
        return frames

    def _stretch(self, chosen: slice) -> np.ndarray:
        if google_crc32c.value(self._rows.reshape(-1)) != self._checksum:
            raise DamagedPack(f"{self._where}: the checksum of its frames is wrong")
        return self._rows[chosen]

    def _taken(self, chosen: np.ndarray) -> np.ndarray:
        rows = self._rows.take(chosen.reshape(-1), axis=0)  # in half the time of an index
        if google_crc32c.value(rows.reshape(-1)) != _checksum_of_whole(*rows.shape):
            raise DamagedPack(f"{self._where}: the checksum of a frame is wrong")
        return rows.reshape(*chosen.shape, self._rows.shape[1])
