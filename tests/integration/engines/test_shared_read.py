"""Pieces of files hold every record once, and are about as large as each other."""

import gzip
from pathlib import Path

import apache_beam as beam
import pytest
from apache_beam.io.tfrecordio import ReadFromTFRecord
from apache_beam.testing.util import assert_that, equal_to

from yt8m.components.engines.runners import PortableRunner
from yt8m.components.engines.shared_read import Piece, SharedRead, pieces_of
from yt8m.components.records.tfrecord import frame
from yt8m.pipeline.beam import IN_PROCESS_RUNNER

RECORDS = [bytes([i]) * (100 + i) for i in range(200)]


def shard(path: Path, records: list[bytes] = RECORDS) -> str:
    path.write_bytes(b"".join(map(frame, records)))
    return str(path)


def cut(uri: str, **options: int) -> list[Piece]:
    return list(pieces_of({uri: Path(uri).stat().st_size}, **options))


def test_a_large_file_is_cut_into_even_pieces_without_a_gap(tmp_path):
    uri = shard(tmp_path / "a")
    pieces = cut(uri, least_bytes=10_000)
    assert sum(piece.records for piece in pieces) == len(RECORDS)
    ends = [piece.offset for piece in pieces[1:]] + [Path(uri).stat().st_size]
    sizes = [end - piece.offset for end, piece in zip(ends, pieces, strict=True)]
    assert len(sizes) == 5
    assert max(sizes) < 1.1 * min(sizes)


def test_files_are_whole_where_there_are_many(tmp_path):
    sizes = {shard(tmp_path / str(i)): (tmp_path / str(i)).stat().st_size for i in range(100)}
    assert list(pieces_of(sizes, least_bytes=1)) == [Piece(uri) for uri in sizes]


def test_a_compressed_file_a_damaged_one_and_one_elsewhere_are_whole(tmp_path):
    packed = tmp_path / "a.gz"
    packed.write_bytes(gzip.compress(b"".join(map(frame, RECORDS))))
    broken = Path(shard(tmp_path / "b"))
    broken.write_bytes(broken.read_bytes()[:-5])
    for uri in (str(packed), str(broken)):
        assert cut(uri, least_bytes=1000) == [Piece(uri)]
    assert list(pieces_of({"gs://bucket/x": 1 << 40})) == [Piece("gs://bucket/x")]


@pytest.mark.parametrize("bytes_a_piece", [1 << 20, 1000])
def test_every_record_of_every_file_is_read_once(tmp_path, monkeypatch, bytes_a_piece):
    monkeypatch.setattr("yt8m.components.engines.shared_read._LEAST_BYTES", bytes_a_piece)
    shard(tmp_path / "a-1", RECORDS[:120])
    shard(tmp_path / "a-2", RECORDS[120:])
    shard(tmp_path / "b", [b"other"])
    with beam.Pipeline(runner=IN_PROCESS_RUNNER) as pipeline:
        assert_that(pipeline | SharedRead(str(tmp_path / "a-*")), equal_to(RECORDS))


def test_what_tfx_reads_is_read_so_on_an_engine(tmp_path):
    """TFX's readers are this transform; the runner puts ours in its place."""
    uri = shard(tmp_path / "a")
    pipeline = beam.Pipeline(runner=PortableRunner())
    _ = pipeline | ReadFromTFRecord(uri)
    names = [part.full_label for part in pipeline._root_transform().parts[0].parts]
    assert [name.rpartition("/")[2] for name in names] == ["Pattern", "Pieces", "Spread", "Read"]
