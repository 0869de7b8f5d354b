"""Builders of tiny record files, and of damage done to them. Needs no TensorFlow.

data = make_dataset(tmp_path / "data", level="frame", train=12, eval=4)
flip_byte(data / "train0000.tfrecord", offset=300)
edit_record(data / "train0000.tfrecord", 3, drop_feature("labels"))
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from yt8m.components.artifacts.manifest import Shard
from yt8m.components.extras.synthetic.generate import generate
from yt8m.components.extras.synthetic.spec import DatasetSpec
from yt8m.components.records.decode import Record, Value, decode_record
from yt8m.components.records.tfrecord import frame, read_records
from yt8m.components.records.wire import (
    bytes_feature,
    encode_example,
    encode_sequence_example,
    field,
    float_feature,
    int64_feature,
)
from yt8m.schemas.config_tree import from_dict

TINY = {"train": 24, "eval": 12, "classes": 20, "shards": 2, "min_frames": 9, "max_frames": 12}
Edit = Callable[[Record], Record]
_KEPT_EXAMPLES = 200  # of a data set that is worth keeping in memory
_kept: dict[str, dict[str, bytes]] = {}  # by the spec, the content by the file


def generate_dataset(out: Path, *, level: str = "video", **values: Any) -> Path:
    """A generated data set in `out`; `values` are those of DatasetSpec."""
    return generate(_spec(level, values), out).out


def make_dataset(out: Path, *, level: str = "video", **values: Any) -> Path:
    """As `generate_dataset`, for tests of what reads it: the same values give the same bytes.

    Most tests ask for the same few, so the bytes are kept.
    """
    spec = _spec(level, values)
    if out.exists() or spec.total_examples > _KEPT_EXAMPLES:
        return generate(spec, out).out
    if (files := _kept.get(repr(spec))) is None:
        generate(spec, out)
        paths = (path for path in out.rglob("*") if path.is_file())
        _kept[repr(spec)] = {str(path.relative_to(out)): path.read_bytes() for path in paths}
        return out
    for name, content in files.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_bytes(content)
    return out


def _spec(level: str, values: dict[str, Any]) -> DatasetSpec:
    return from_dict(DatasetSpec, {**TINY, "level": level, **values})


def shard_of(path: Path, split: str, **values: Any) -> Shard:
    """The file in a manifest, as ExampleGen would list it."""
    count = len(record_offsets(path))
    size = path.stat().st_size
    return Shard(uri=str(path), split=split, records=count, bytes=size, digest=path.name, **values)


def read_all(path: Path) -> list[bytes]:
    """The serialized records of an undamaged file."""
    with path.open("rb") as file:
        return [record for _, record in read_records(file)]


def write_all(path: Path, records: Iterable[bytes]) -> Path:
    """A TFRecord file of `records`, with right checksums whatever they hold."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(frame(record) for record in records))
    return path


def record_offsets(path: Path) -> list[int]:
    """The byte offset at which each record's header begins."""
    with path.open("rb") as file:
        return [offset for offset, _ in read_records(file)]


# Damage to the file.


def truncate(path: Path, keep_bytes: int) -> None:
    """Cut the file off; a negative number is counted from its end."""
    data = path.read_bytes()
    path.write_bytes(data[:keep_bytes])


def flip_byte(path: Path, offset: int) -> None:
    """Turn all bits of one byte; a negative offset is counted from the end."""
    data = bytearray(path.read_bytes())
    data[offset] ^= 0xFF
    path.write_bytes(bytes(data))


def flip_byte_in_record(path: Path, index: int) -> None:
    """Damage the middle of the record number `index`, so that its checksum is wrong."""
    offset = record_offsets(path)[index]
    flip_byte(path, offset + 12 + len(read_all(path)[index]) // 2)


def compress(path: Path) -> Path:
    """Replace the file by its gzipped form with the same name."""
    path.write_bytes(gzip.compress(path.read_bytes()))
    return path


# Damage inside a record whose checksums are right.


def edit_record(path: Path, index: int, edit: Edit) -> None:
    """Replace the record number `index` by what `edit` makes of it."""
    records = read_all(path)
    records[index] = encode_record(edit(decode_record(records[index])))
    write_all(path, records)


def replace_record(path: Path, index: int, data: bytes) -> None:
    """Replace the record number `index` by any bytes, checksums right."""
    records = read_all(path)
    records[index] = data
    write_all(path, records)


def drop_feature(key: str) -> Edit:
    """Without the feature or feature list `key`."""

    def edit(record: Record) -> Record:
        features = {k: v for k, v in record.features.items() if k != key}
        lists = {k: v for k, v in record.feature_lists.items() if k != key}
        return Record(features, lists, record.is_sequence)

    return edit


def set_feature(key: str, value: Value | list[int]) -> Edit:
    """With `value` in the (context) feature `key`: texts, an array, or a list of integers."""

    def edit(record: Record) -> Record:
        new = np.asarray(value, dtype=np.int64) if isinstance(value, list) else value
        return Record({**record.features, key: new}, record.feature_lists, record.is_sequence)

    return edit


def set_frames(key: str, frames: np.ndarray | tuple[tuple[bytes, ...], ...]) -> Edit:
    """With other frames: [frames, size] uint8, or one tuple of texts a frame."""

    def edit(record: Record) -> Record:
        return Record(record.features, {**record.feature_lists, key: frames}, record.is_sequence)

    return edit


def encode_record(record: Record) -> bytes:
    """The inverse of `decode_record`."""
    features = {key: _encode(value) for key, value in record.features.items()}
    if not record.is_sequence:
        return encode_example(features)
    lists = {
        key: b"".join(field(1, _encode_frame(frame_)) for frame_ in frames)
        for key, frames in record.feature_lists.items()
    }
    return encode_sequence_example(features, lists)


def _encode_frame(value: np.ndarray | Value) -> bytes:
    if isinstance(value, np.ndarray) and value.dtype == np.uint8:
        return bytes_feature(value.tobytes())
    return _encode(value)


def _encode(value: Value) -> bytes:
    if isinstance(value, np.ndarray):
        if value.dtype == bool:  # of no kind
            return b""
        return int64_feature(value) if value.dtype.kind == "i" else float_feature(value)
    return bytes_feature(*value)
