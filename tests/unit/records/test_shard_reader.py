"""Reading in blocks gives the same as reading record by record, whatever the sizes."""

from __future__ import annotations

import gzip
import io
import os
import struct
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yt8m.components.records.shard_reader import RecordProblem, count_records, open_shard, scan
from yt8m.components.records.tfrecord import BrokenRecord, frame, masked_crc32c, read_records

RECORDS = st.lists(st.binary(max_size=300), max_size=20)
BLOCK = st.integers(1, 500)


@given(records=RECORDS, block_bytes=BLOCK)
def test_any_block_size_gives_all_records_with_their_offsets(
    records: list[bytes], block_bytes: int
) -> None:
    content = b"".join(map(frame, records))
    blocks = list(scan(io.BytesIO(content), block_bytes=block_bytes))
    found = [
        (offset, record)
        for block in blocks
        for offset, record in zip(block.offsets, block.records, strict=True)
    ]
    assert found == list(read_records(io.BytesIO(content)))
    assert [index for block in blocks for index in block.indices] == list(range(len(records)))
    assert not any(block.problems for block in blocks)


@given(
    records=st.lists(st.binary(min_size=1, max_size=300), min_size=1, max_size=12), data=st.data()
)
@settings(max_examples=200)
def test_any_flipped_byte_and_any_cut_is_found_where_the_strict_reader_finds_it(
    records: list[bytes], data: st.DataObject
) -> None:
    content = bytearray(b"".join(map(frame, records)))
    at = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        content[at] ^= data.draw(st.integers(1, 255))
    else:
        del content[at:]
    blocks = list(scan(io.BytesIO(content), block_bytes=data.draw(BLOCK)))
    problems = [problem for block in blocks for problem in block.problems]
    strict = _first_fault(bytes(content))
    assert [(p.record, p.offset) for p in problems[:1]] == strict
    assert len(problems) <= 1


@pytest.mark.parametrize("power", [27.1, 30, 31, 32, 40, 62, 63])
@pytest.mark.parametrize("gzipped", [False, True])
def test_a_length_that_no_record_has_costs_neither_time_nor_memory(
    tmp_path: Path, power: float, gzipped: bool
) -> None:
    path = tmp_path / "shard"
    header = struct.pack("<Q", int(2**power))
    content = frame(b"first") + header + struct.pack("<I", masked_crc32c(header))
    path.write_bytes(gzip.compress(content) if gzipped else content)
    if not gzipped:
        os.truncate(path, 3 << 30)  # of which nothing is on the disk
    tracemalloc.start()
    with open_shard(str(path)) as (file, _):
        blocks = list(scan(file))
    counted, _, fault = count_records(str(path))
    with (
        path.open("rb") as plain,
        pytest.raises(BrokenRecord, match=r"no record has more|TFRecord"),
    ):
        list(read_records(plain))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 100e6
    (problem,) = (problem for block in blocks for problem in block.problems)
    assert "no record has more than 134,217,728" in problem.reason
    assert (problem.record, problem.offset) == (1, len(frame(b"first")))
    assert (counted, fault) == (1, problem)


def test_a_record_of_many_blocks_is_read_in_time_that_grows_as_it_does() -> None:
    record = os.urandom(24 << 20)
    started = time.process_time()
    (found,) = (
        r for block in scan(io.BytesIO(frame(record)), block_bytes=1 << 10) for r in block.records
    )
    assert found == record
    assert time.process_time() - started < 20  # 300 GB copied, where the buffer grew block by block


@pytest.mark.parametrize("size", [1, 2, 512])
def test_zeros_after_a_gzip_stream_which_stop_tensorflow_are_named(
    tmp_path: Path, size: int
) -> None:
    path = tmp_path / "shard"
    whole = gzip.compress(frame(b"a")) + gzip.compress(b"") + gzip.compress(frame(b"b"))
    path.write_bytes(whole)
    assert count_records(str(path)) == (2, "GZIP", None)
    path.write_bytes(whole + bytes(size))
    with open_shard(str(path)) as (file, _):
        blocks = list(scan(file))
    assert [record for block in blocks for record in block.records] == [b"a", b"b"]
    (problem,) = (problem for block in blocks for problem in block.problems)
    assert "zeros follow it" in problem.reason
    assert count_records(str(path))[2] == problem


def test_a_gzip_bomb_is_read_in_flat_memory(tmp_path: Path) -> None:
    path = tmp_path / "shard"
    with gzip.open(path, "wb", compresslevel=1) as packed:
        for _ in range(300):
            packed.write(frame(bytes(1 << 20)))
    tracemalloc.start()
    with open_shard(str(path)) as (file, _):
        assert sum(len(block.records) for block in scan(file)) == 300
    assert count_records(str(path)) == (300, "GZIP", None)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert path.stat().st_size < 2 << 20
    assert most < 40e6


def _first_fault(content: bytes) -> list[tuple[int, int]]:
    try:
        list(read_records(io.BytesIO(content)))
    except BrokenRecord as fault:
        return [(fault.index, fault.offset)]
    return []


def test_after_a_wrong_checksum_the_next_records_are_read() -> None:
    frames = [frame(b"record %d" % at) for at in range(5)]
    frames[2] = frames[2][:-6] + b"\xff" + frames[2][-5:]
    (*_, block) = [b for b in scan(io.BytesIO(b"".join(frames))) if b.indices or b.problems]
    assert block.indices == [0, 1, 3, 4]
    assert block.problems == [RecordProblem(2, len(frames[0]) * 2, "wrong checksum")]


@pytest.mark.parametrize("gzipped", [False, True])
def test_counting_agrees_with_reading(tmp_path: Path, gzipped: bool) -> None:
    content = b"".join(frame(bytes(at * 37)) for at in range(50))
    path = tmp_path / "shard"
    path.write_bytes(gzip.compress(content) if gzipped else content)
    assert count_records(str(path)) == (50, "GZIP" if gzipped else "", None)
    with open_shard(str(path)) as (file, compression):
        assert compression == ("GZIP" if gzipped else "")
        assert sum(len(block.records) for block in scan(file)) == 50


def test_what_a_damaged_gzip_stream_still_holds_is_kept(tmp_path: Path) -> None:
    content = b"".join(frame(bytes(1000) + bytes([at])) for at in range(200))
    packed = gzip.compress(content, compresslevel=0)
    (tmp_path / "shard").write_bytes(packed[: len(packed) // 2])
    with open_shard(str(tmp_path / "shard")) as (file, _):
        blocks = list(scan(file))
    read = sum(len(block.records) for block in blocks)
    assert 30 < read < 110
    assert [p.record for block in blocks for p in block.problems] == [read]
