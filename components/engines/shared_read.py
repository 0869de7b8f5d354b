"""Reading TFRecord files so that every worker of an engine has a part of it.

Beam's own source is read where its pattern was looked up, by one worker on most engines. Here the
files are listed, large ones cut into pieces, and the pieces are spread before anything is read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import apache_beam as beam

from yt8m.components import storage
from yt8m.components.records.shard_reader import open_shard, record_lengths
from yt8m.components.records.tfrecord import FOOTER_BYTES, HEADER_BYTES, read_records

# Files are cut where there are fewer than so many: each worker then has several, and the looking
# for places to cut, which walks through a file, stays small beside the reading.
_PIECES = 64
_LEAST_BYTES = 256 << 10


class Piece(NamedTuple):
    """Records that follow one another in a file."""

    uri: str
    offset: int = 0  # of the first
    records: int | None = None  # None: to the file's end


def pieces_of(sizes: Mapping[str, int], *, least_bytes: int | None = None) -> Iterator[Piece]:
    """All records of the files of these sizes, in pieces that are about as large as each other."""
    wanted = max(least_bytes or _LEAST_BYTES, sum(sizes.values()) // _PIECES)
    for uri, size in sizes.items():
        # A seek in an object store is a request.
        number = math.ceil(size / wanted) if storage.local_path(uri) is not None else 1
        yield from _cut(uri, size / number) if number > 1 else [Piece(uri)]


def _cut(uri: str, piece_bytes: float) -> Iterator[Piece]:
    lengths, compression, fault = record_lengths(uri)
    if compression or fault:  # it cannot be cut, or its reader says what is wrong
        yield Piece(uri)
        return
    begin = offset = first = 0
    for number, length in enumerate(lengths, start=1):
        offset += HEADER_BYTES + length + FOOTER_BYTES
        if offset - begin >= piece_bytes or number == len(lengths):
            yield Piece(uri, begin, number - first)
            begin, first = offset, number


class SharedRead(beam.PTransform):
    """The records of all files that match a pattern, in no order."""

    def __init__(self, pattern: str) -> None:
        super().__init__()
        self._pattern = pattern

    def expand(self, pipeline: Any) -> beam.PCollection:
        return (
            pipeline
            | "Pattern" >> beam.Create([self._pattern], reshuffle=False)
            | "Pieces" >> beam.ParDo(_Pieces())
            | "Spread" >> beam.Reshuffle()
            | "Read" >> beam.ParDo(_ReadPiece()).with_output_types(bytes)
        )


class _Pieces(beam.DoFn):
    def process(self, pattern: str) -> Iterator[tuple[Any, ...]]:
        files = sorted(storage.find(pattern).items())
        sizes = {uri: one.size for uri, one in files if not one.is_dir}
        yield from map(tuple, pieces_of(sizes))


class _ReadPiece(beam.DoFn):
    def process(self, element: tuple[Any, ...]) -> Iterator[bytes]:
        piece = Piece(*element)
        with open_shard(piece.uri) as (file, _):
            if piece.offset:
                file.seek(piece.offset)
            for number, (_, record) in enumerate(read_records(file), start=1):
                yield record
                if number == piece.records:
                    return
