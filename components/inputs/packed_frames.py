"""A shard's records in a file to be mapped: frames side by side, then a table of all else.

    frames of record 0, feature by feature | frames of record 1 | ... | table | trailer

The table is an npz: of each record the number of frames and the checksum of their bytes, and of
each list of numbers (labels, ratings) its lengths and its values. Texts, which training does not
look at, are left out.
"""

from __future__ import annotations

import io
import mmap
import struct
from collections.abc import Mapping
from pathlib import Path

import google_crc32c
import numpy as np

from yt8m.components.records.decode import Frames, Record, Value

_TRAILER = struct.Struct("<QII8s")  # where the table begins, its checksum, nothing, the format
_FORMAT = b"yt8m-fr1"
_FRAMES, _CHECKSUMS = "frames", "checksums"
_COUNTS, _VALUES = "counts/", "values/"


class DamagedPack(ValueError):  # noqa: N818  (names a thing found)
    """A file whose bytes are not those that were written."""


class PackWriter:
    """Writes the records of one shard, with the frames of the features `sizes`."""

    def __init__(self, path: Path, sizes: Mapping[str, int]) -> None:
        self._sizes = sizes
        self._file = path.open("xb")
        self._counts: list[int] = []
        self._checksums: list[int] = []
        self._lists: dict[str, list[np.ndarray]] = {}

    def add(self, record: Record) -> None:
        """Write one more record; ValueError where its frames are not of these features."""
        parts = [_frames_of(record, name, size) for name, size in self._sizes.items()]
        if len({len(part) for part in parts}) > 1:
            raise ValueError("features of a record differ in their number of frames")
        data = b"".join(part.tobytes() for part in parts)
        self._file.write(data)
        for name, values in record.features.items():
            if isinstance(values, np.ndarray):
                rows = self._lists.setdefault(name, [])
                rows += [values[:0]] * (len(self._counts) - len(rows))  # of records without it
                rows.append(values)
        self._counts.append(len(parts[0]))
        self._checksums.append(google_crc32c.value(data))

    def finish(self) -> None:
        """Write the table, after the last record."""
        table = _packed_table(self._counts, self._checksums, self._lists)
        place = self._file.tell()
        self._file.write(table)
        self._file.write(_TRAILER.pack(place, google_crc32c.value(table), 0, _FORMAT))
        self._file.close()


def _frames_of(record: Record, name: str, size: int) -> np.ndarray:
    frames = record.feature_lists.get(name)
    if not isinstance(frames, np.ndarray) or frames.shape[1] != size:
        raise ValueError(f"frames of feature {name} are not all of {size} bytes")
    return frames


def _packed_table(
    counts: list[int], checksums: list[int], lists: Mapping[str, list[np.ndarray]]
) -> bytes:
    table = {
        _FRAMES: np.array(counts, np.uint32),
        _CHECKSUMS: np.array(checksums, np.uint32),
    }
    for name, rows in lists.items():
        rows += [rows[0][:0]] * (len(counts) - len(rows))
        kinds = {row.dtype for row in rows if len(row)}
        if len(kinds) > 1:
            raise ValueError(f"{name} holds integers in one record and floats in another")
        table[_COUNTS + name] = np.array([len(row) for row in rows], np.uint32)
        table[_VALUES + name] = np.concatenate([row.astype(*kinds or (np.int64,)) for row in rows])
    file = io.BytesIO()
    np.savez(file, **table)
    return file.getvalue()


class PackedShard:
    """The records of one file. Safe to use from several threads."""

    def __init__(self, path: Path, sizes: Mapping[str, int]) -> None:
        """DamagedPack where the table is not whole; frames are verified at their first reading."""
        with path.open("rb") as file:
            try:
                mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
            except ValueError as error:
                raise DamagedPack(f"{path.name}: {error}") from error
        self._bytes = np.frombuffer(mapped, np.uint8)  # stays there whoever removes the name
        self._name, self._sizes = path.name, dict(sizes)
        table = self._table()
        self._counts = table.pop(_FRAMES).astype(np.int64)
        self._checksums = table.pop(_CHECKSUMS)
        self._ends = np.cumsum(self._counts) * sum(sizes.values())
        self._is_verified = np.zeros(len(self._counts), bool)
        self._lists = {
            name.removeprefix(_VALUES): (values, np.cumsum(table[_COUNTS + name[len(_VALUES) :]]))
            for name, values in table.items()
            if name.startswith(_VALUES)
        }

    def _table(self) -> dict[str, np.ndarray]:
        end = len(self._bytes) - _TRAILER.size
        if end < 0:
            raise DamagedPack(f"{self._name} is cut off")
        place, checksum, _, form = _TRAILER.unpack(self._bytes[end:].tobytes())
        table = self._bytes[place:end].tobytes()
        if form != _FORMAT or google_crc32c.value(table) != checksum:
            raise DamagedPack(f"{self._name}: the checksum of its table is wrong")
        with np.load(io.BytesIO(table), allow_pickle=False) as arrays:
            return dict(arrays)

    def __len__(self) -> int:
        return len(self._counts)

    def record(self, number: int) -> Record:
        """Record `number`, its frames views of the file; DamagedPack if they are not as written."""
        count, end = int(self._counts[number]), int(self._ends[number])
        data = self._bytes[end - count * sum(self._sizes.values()) : end]
        if not self._is_verified[number]:
            if google_crc32c.value(data) != self._checksums[number]:
                raise DamagedPack(f"{self._name}: the checksum of record {number} is wrong")
            self._is_verified[number] = True
        frames: dict[str, Frames] = {}
        at = 0
        for name, size in self._sizes.items():
            frames[name] = data[at : at + count * size].reshape(count, size)
            at += count * size
        lists: dict[str, Value] = {name: _row(*part, number) for name, part in self._lists.items()}
        return Record(lists, frames, is_sequence=True)


def _row(values: np.ndarray, ends: np.ndarray, number: int) -> np.ndarray:
    return values[int(ends[number - 1]) if number else 0 : int(ends[number])]
