"""Reads a shard in large blocks, verifying its framing, and goes on after a bad record if it can.

`read_records` of the records package stops at the first fault, as a reader should; here all
faults of a file are wanted, and speed: a few microseconds a record. Offsets are those of the
uncompressed stream.
"""

from __future__ import annotations

import gzip
import io
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO, NamedTuple, cast

import google_crc32c

from yt8m.components import storage
from yt8m.components.records.tfrecord import (
    FOOTER_BYTES,
    GZIP_MAGIC,
    HEADER_BYTES,
    MAX_RECORD_BYTES,
    too_long,
)

BLOCK_BYTES = 4 << 20
_PACKED_BYTES = 1 << 18
# Of an object in a store a request takes as long as this many bytes: smaller records are read on.
_LARGE_BYTES = 32 << 10
_OBJECT_BLOCK_BYTES = 8 << 20
_GZIP_BITS = 31  # zlib's word for: with gzip's header and checksum
UNKNOWN = -1  # in place of an offset
_HEADER = struct.Struct("<QI")
_CHECKSUM = struct.Struct("<I")
_DELTA = 0xA282EAD8
_ALL = 0xFFFFFFFF
_REST = "; the rest of the file cannot be read"
_CUT_OFF = "the file is cut off here"
_NOT_TFRECORD = "not a TFRecord file"
_LENGTH = "wrong checksum of the length" + _REST
_CONTENT = "wrong checksum"
_PADDED = "zeros follow it, which TensorFlow cannot read: gunzip the file and gzip it again"
# What a damaged gzip stream raises while it is read.
GZIP_FAULTS = (EOFError, zlib.error, gzip.BadGzipFile)


class RecordProblem(NamedTuple):
    """A fault of one record."""

    record: int
    offset: int
    reason: str


@dataclass
class Block:
    """Some consecutive records of a shard, and the faults met among them."""

    records: list[bytes] = field(default_factory=list)
    indices: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    problems: list[RecordProblem] = field(default_factory=list)
    framing: list[bytes] = field(default_factory=list)  # lengths and checksums, for a digest
    broken: bool = False  # after its last problem nothing more of the shard can be read


@contextmanager
def open_shard(uri: str) -> Iterator[tuple[BinaryIO, str]]:
    """The uncompressed content of a shard, and its compression as tf.data names it."""
    with storage.open_file(uri) as file:
        magic = file.read(len(GZIP_MAGIC))
        file.seek(0)
        if magic == GZIP_MAGIC:
            yield cast(BinaryIO, io.BufferedReader(_Gunzip(file), BLOCK_BYTES)), "GZIP"
        else:
            yield file, ""


def scan(file: BinaryIO, *, block_bytes: int = BLOCK_BYTES) -> Iterator[Block]:
    """All records of `file`, block by block, each with both checksums verified.

    A record with a wrong checksum is a problem and is skipped. After a wrong length or a cut
    nothing more can be found: what is left is one problem, and the block is `broken`.
    """
    buffer, base, index, ended = b"", 0, 0, False
    while not ended:
        more, fault = _read(file, max(block_bytes, _missing_bytes(buffer)))
        ended = not more or fault is not None
        buffer += more
        block, used, broken = _split(buffer, base, index)
        index += len(block.indices) + len(block.problems)
        base += used
        buffer = buffer[used:]
        if broken or (ended and (buffer or fault)):
            reason = broken or fault or _CUT_OFF
            block.problems.append(RecordProblem(index, base, reason))
            block.broken = ended = True
        yield block


def count_records(uri: str) -> tuple[int, str, RecordProblem | None]:
    """Number of records and compression by walking the lengths, without reading the contents."""
    lengths, compression, fault = record_lengths(uri)
    return len(lengths), compression, fault


class Framing(NamedTuple):
    """Result of a walk over a shard; the contents are not read."""

    lengths: list[int]  # of the records themselves
    checksums: list[int]  # of their contents, as the file has them
    compression: str
    fault: RecordProblem | None
    head: bytes = b""  # the first records with their framing, as they are in the file


def record_framing(uri: str, *, keep: int = 0) -> Framing:
    """Lengths and checksums of the records in a shard, up to the first fault.

    The contents of the first `keep` records are kept. Of an object in a store the contents of
    others are not fetched where records are large; where they are small, each byte is fetched once.
    """
    if storage.local_path(uri) is None:
        with storage.open_ranges(uri) as file:
            pieces = _RangedPieces(file)
            if pieces.read(0, len(GZIP_MAGIC), ahead=HEADER_BYTES) != GZIP_MAGIC:
                return _walk_pieces(pieces, keep)
    with open_shard(uri) as (file, compression):
        size = None
        if not compression:
            size = file.seek(0, io.SEEK_END)
            file.seek(0)
        return _walk(file, size, keep, compression)


def record_lengths(uri: str) -> tuple[list[int], str, RecordProblem | None]:
    """The lengths of the records themselves, and what `count_records` finds."""
    framing = record_framing(uri)
    return framing.lengths, framing.compression, framing.fault


def first_record(head: bytes) -> bytes:
    """The first record of a shard whose framing kept it; its content may be damaged."""
    length = int(_HEADER.unpack_from(head)[0])
    return head[HEADER_BYTES : HEADER_BYTES + length]


class _Walk:
    """Findings on the way through a shard."""

    def __init__(self, compression: str = "") -> None:
        self.lengths: list[int] = []
        self.checksums: list[int] = []
        self.head: list[bytes] = []
        self.offset = 0
        self._compression = compression

    def add(self, length: int, footer: bytes) -> None:
        self.lengths.append(length)
        self.checksums.append(int(_CHECKSUM.unpack(footer)[0]))
        self.offset += HEADER_BYTES + length + FOOTER_BYTES

    def ended(self, fault: str | None) -> Framing:
        records = len(self.lengths)
        problem = RecordProblem(records, self.offset, fault) if fault else None
        head = b"".join(self.head)
        return Framing(self.lengths, self.checksums, self._compression, problem, head)


def _walk(file: BinaryIO, size: int | None, keep: int, compression: str) -> Framing:
    walk = _Walk(compression)
    try:
        while header := file.read(HEADER_BYTES):
            if fault := _header_fault(header, index=len(walk.lengths)):
                return walk.ended(fault)
            length = int(_HEADER.unpack(header)[0])
            end = walk.offset + HEADER_BYTES + length + FOOTER_BYTES
            kept = len(walk.lengths) < keep
            if size is not None and end > size:
                return walk.ended(_CUT_OFF)
            content = b""
            if kept:
                content = file.read(length)
                if len(content) < length:
                    return walk.ended(_CUT_OFF)
            elif size is not None:
                file.seek(end - FOOTER_BYTES)
            elif not _pass_over(file, length):
                return walk.ended(_CUT_OFF)
            footer = file.read(FOOTER_BYTES)
            if len(footer) < FOOTER_BYTES:
                return walk.ended(_CUT_OFF)
            walk.add(length, footer)
            if kept:
                walk.head.append(header + content + footer)
    except GZIP_FAULTS as error:
        return walk.ended(_gzip_fault(error))
    return walk.ended(None)


def _walk_pieces(pieces: _RangedPieces, keep: int) -> Framing:
    """As `_walk`: with each record's end, the next one's header is fetched."""
    walk = _Walk()
    while header := pieces.read(walk.offset, walk.offset + HEADER_BYTES):
        if fault := _header_fault(header, index=len(walk.lengths)):
            return walk.ended(fault)
        length = int(_HEADER.unpack(header)[0])
        begin, end = walk.offset, walk.offset + HEADER_BYTES + length + FOOTER_BYTES
        if end > pieces.size:
            return walk.ended(_CUT_OFF)
        kept = len(walk.lengths) < keep
        wanted = begin if kept else end - FOOTER_BYTES
        ahead = _OBJECT_BLOCK_BYTES if length < _LARGE_BYTES else 0
        piece = pieces.read(wanted, end + HEADER_BYTES, ahead=ahead)[: end - wanted]
        walk.add(length, piece[-FOOTER_BYTES:])
        if kept:
            walk.head.append(piece)
    return walk.ended(None)


class _RangedPieces:
    """Pieces of a file, in ascending order, none of whose bytes is read twice."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._start, self._held = file, 0, b""
        self.size = file.seek(0, io.SEEK_END)

    def read(self, start: int, end: int, *, ahead: int = 0) -> bytes:
        """The bytes from `start` to `end`, or to the file's; up to `ahead` more are held."""
        end = min(end, self.size)
        held_to = self._start + len(self._held)
        if end > held_to:
            self._held = self._held[start - self._start :] if start < held_to else b""
            begin = start + len(self._held)
            self._file.seek(begin)
            self._held += self._file.read(min(max(end, begin + ahead), self.size) - begin)
            self._start = start
        return self._held[start - self._start : end - self._start]


def _split(buffer: bytes, base: int, first: int) -> tuple[Block, int, str | None]:
    """The whole records at the head of `buffer`, how far they reach, and what broke them off."""
    block = Block()
    crc, header, footer = google_crc32c.value, _HEADER.unpack_from, _CHECKSUM.unpack_from
    at, index, end = 0, first, len(buffer)
    while at + HEADER_BYTES <= end:
        length, check = header(buffer, at)
        value = crc(buffer[at : at + 8])
        if ((value >> 15 | value << 17) + _DELTA) & _ALL != check:
            return block, at, (_LENGTH if index else _NOT_TFRECORD)
        if length > MAX_RECORD_BYTES:
            return block, at, too_long(length) + _REST
        stop = at + HEADER_BYTES + length
        if stop + FOOTER_BYTES > end:
            break
        record = buffer[at + HEADER_BYTES : stop]
        value = crc(record)
        if ((value >> 15 | value << 17) + _DELTA) & _ALL == footer(buffer, stop)[0]:
            block.records.append(record)
            block.indices.append(index)
            block.offsets.append(base + at)
            block.framing.append(buffer[at : at + 8] + buffer[stop : stop + FOOTER_BYTES])
        else:
            block.problems.append(RecordProblem(index, base + at, _CONTENT))
        index += 1
        at = stop + FOOTER_BYTES
    return block, at, None


def _header_fault(header: bytes, *, index: int) -> str | None:
    if len(header) < HEADER_BYTES:
        return _CUT_OFF
    value = google_crc32c.value(header[:8])
    if ((value >> 15 | value << 17) + _DELTA) & _ALL != _HEADER.unpack(header)[1]:
        return _LENGTH if index else _NOT_TFRECORD
    length = _HEADER.unpack(header)[0]
    return too_long(length) + _REST if length > MAX_RECORD_BYTES else None


def _missing_bytes(buffer: bytes) -> int:
    """Of the record that `buffer` begins with; at most those of the longest record."""
    if len(buffer) < HEADER_BYTES:
        return 0
    return int(HEADER_BYTES + _HEADER.unpack_from(buffer)[0] + FOOTER_BYTES - len(buffer))


def _pass_over(file: BinaryIO, count: int) -> bool:
    """Whether `count` more bytes are there."""
    while count > 0 and (piece := file.read(min(count, BLOCK_BYTES))):
        count -= len(piece)
    return not count


class _Gunzip(io.RawIOBase):
    """Contents of a gzip file, read as TensorFlow reads it: Python's own reader skips zeros after a
    member.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._packed, self._ended = file, b"", True

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._unpack(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _unpack(self, size: int) -> bytes:
        while True:
            packed = self._packed or self._file.read(_PACKED_BYTES)
            if self._ended:
                if not packed:
                    return b""
                if not packed[0]:
                    raise gzip.BadGzipFile(_PADDED)
                self._member, self._ended = zlib.decompressobj(wbits=_GZIP_BITS), False
            data = self._member.decompress(packed, size)
            self._ended = self._member.eof
            self._packed = self._member.unused_data or self._member.unconsumed_tail
            if data:
                return data
            if not packed:
                raise EOFError("it breaks off")


def _read(file: BinaryIO, count: int) -> tuple[bytes, str | None]:
    """Up to `count` bytes; of a damaged gzip stream what still comes out, and the fault."""
    pieces = []
    try:
        while count > 0 and (piece := cast(io.BufferedReader, file).read1(count)):
            pieces.append(piece)
            count -= len(piece)
    except GZIP_FAULTS as error:
        return b"".join(pieces), _gzip_fault(error)
    return b"".join(pieces), None


def _gzip_fault(error: Exception) -> str:
    return f"the gzip stream is damaged or cut off ({error})"
