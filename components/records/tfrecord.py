"""TFRecord framing: length, its checksum, the record, its checksum. No TensorFlow needed."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import BinaryIO

import google_crc32c
import numpy as np

HEADER_BYTES = 12  # uint64 length, uint32 masked checksum of the length
FOOTER_BYTES = 4  # uint32 masked checksum of the record
GZIP_MAGIC = b"\x1f\x8b"
MAX_RECORD_BYTES = 128 << 20  # a video of a day; a longer one is no record, and is not read

_LENGTH = struct.Struct("<Q")
_CHECKSUM = struct.Struct("<I")
_MASK_DELTA = 0xA282EAD8


class BrokenRecord(ValueError):  # noqa: N818  (names a thing found, which callers collect)
    """The file breaks off or its checksum is wrong at `offset`, in the record number `index`."""

    def __init__(self, reason: str, index: int, offset: int) -> None:
        super().__init__(reason, index, offset)  # all of them, so that it passes between processes
        self.reason, self.index, self.offset = reason, index, offset

    def __str__(self) -> str:
        return f"record {self.index} at byte {self.offset}: {self.reason}"


def masked_crc32c(data: bytes | np.ndarray) -> int:
    """The checksum as TFRecord stores it: rotated, so that a file of checksums is no trap."""
    crc = google_crc32c.value(data)
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & 0xFFFFFFFF


def frame(record: bytes) -> bytes:
    """`record` as it is stored in a file."""
    length = _LENGTH.pack(len(record))
    return b"".join(
        (
            length,
            _CHECKSUM.pack(masked_crc32c(length)),
            record,
            _CHECKSUM.pack(masked_crc32c(record)),
        )
    )


def too_long(length: int) -> str:
    """Why a record of so many bytes is not read."""
    return f"a length of {length:,} bytes, and no record has more than {MAX_RECORD_BYTES:,}"


def write_records(file: BinaryIO, records: Iterable[bytes]) -> int:
    """Append `records` to `file`; returns how many there were."""
    count = 0
    for record in records:
        file.write(frame(record))
        count += 1
    return count


def read_records(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Byte offset and content of each record, both checksums verified; BrokenRecord otherwise."""
    index = offset = 0
    while header := file.read(HEADER_BYTES):
        if len(header) < HEADER_BYTES:
            raise BrokenRecord("the file is cut off in a header", index=index, offset=offset)
        (length,) = _LENGTH.unpack_from(header)
        if _CHECKSUM.unpack_from(header, 8)[0] != masked_crc32c(header[:8]):
            why = "wrong checksum of the length" if index else "not a TFRecord file"
            raise BrokenRecord(why, index=index, offset=offset)
        if length > MAX_RECORD_BYTES:
            raise BrokenRecord(too_long(length), index=index, offset=offset)
        record, footer = file.read(length), file.read(FOOTER_BYTES)
        if len(footer) < FOOTER_BYTES:
            raise BrokenRecord("the file is cut off in a record", index=index, offset=offset)
        if _CHECKSUM.unpack(footer)[0] != masked_crc32c(record):
            raise BrokenRecord("wrong checksum of the record", index=index, offset=offset)
        yield offset, record
        index += 1
        offset += HEADER_BYTES + length + FOOTER_BYTES
