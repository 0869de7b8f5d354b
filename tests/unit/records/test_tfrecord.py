"""TFRecord framing: what is written is read, and damage is found where it is."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yt8m.components.records.tfrecord import (
    FOOTER_BYTES,
    HEADER_BYTES,
    BrokenRecord,
    frame,
    masked_crc32c,
    read_records,
    write_records,
)

RECORDS = st.lists(st.binary(max_size=300), max_size=6)


@given(RECORDS)
def test_records_come_back_in_order_with_their_offsets(records):
    file = io.BytesIO()
    assert write_records(file, records) == len(records)
    file.seek(0)
    found = list(read_records(file))
    assert [record for _, record in found] == records
    whole = file.getvalue()
    for offset, record in found:
        assert whole[offset + HEADER_BYTES :].startswith(record)


def test_checksum_is_that_of_the_published_format():
    # CRC-32C of "123456789" is 0xE3069283 (RFC 3720); masked: rotated by 15 bits, plus a constant.
    crc = 0xE3069283
    rotated = (crc >> 15 | crc << 17) & 0xFFFFFFFF
    assert masked_crc32c(b"123456789") == (rotated + 0xA282EAD8) & 0xFFFFFFFF


@given(RECORDS.filter(bool), st.data())
def test_any_flipped_bit_is_found(records, data):
    whole = bytearray(b"".join(map(frame, records)))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(BrokenRecord) as error:
        list(read_records(io.BytesIO(bytes(whole))))
    assert error.value.offset <= at
    ends = [0]
    for record in records:
        ends.append(ends[-1] + HEADER_BYTES + len(record) + FOOTER_BYTES)
    assert ends[error.value.index] <= at < ends[error.value.index + 1]


@given(RECORDS.filter(bool), st.data())
def test_a_cut_is_found_unless_it_falls_between_two_records(records, data):
    whole = b"".join(map(frame, records))
    keep = data.draw(st.integers(0, len(whole) - 1))
    boundaries = {0}
    for record in records:
        boundaries.add(max(boundaries) + HEADER_BYTES + len(record) + FOOTER_BYTES)
    if keep in boundaries:
        list(read_records(io.BytesIO(whole[:keep])))
    else:
        with pytest.raises(BrokenRecord, match="cut off"):
            list(read_records(io.BytesIO(whole[:keep])))


def test_a_file_of_another_kind_is_called_so():
    with pytest.raises(BrokenRecord, match="record 0 at byte 0: not a TFRecord file"):
        list(read_records(io.BytesIO(b"Index,TrainVideoCount\n0,788288\n")))
