"""Rows to shards of records: frames as bytes, vectors as they are."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from yt8m.components import storage
from yt8m.components.extras.packing.rows import Row, Table, read_rows
from yt8m.components.records.tfrecord import frame
from yt8m.components.records.validation import Expected, check_bytes
from yt8m.components.records.wire import (
    bytes_feature,
    encode_example,
    encode_sequence_example,
    float_feature,
    frames_feature_list,
    int64_feature,
    segment_ratings,
)
from yt8m.components.storage.lock import alone_in
from yt8m.schemas.errors import DataError, UserError
from yt8m.schemas.features import (
    DEQUANTISE_BIAS,
    DEQUANTISE_SCALE,
    ID,
    LABELS,
    QUANTISED_LEVELS,
    QUANTISED_MAX,
    QUANTISED_MIN,
    SEGMENT_LABELS,
    SEGMENT_SCORES,
    SEGMENT_START_TIMES,
    Level,
    record_key,
)

PUBLISHED_RANGE = (QUANTISED_MIN, QUANTISED_MAX)
_ZERO_BYTE = round(-DEQUANTISE_BIAS / DEQUANTISE_SCALE)  # the byte that stands for about 0


@dataclass(frozen=True, kw_only=True)
class Packing:
    """Form and place of the records to write."""

    level: Level
    out: Path
    split: str
    shards: int = 1
    # The numbers that the lowest and the highest byte stand for, in frames that are no bytes yet.
    value_range: tuple[float, float] = PUBLISHED_RANGE
    zeros: Mapping[str, int] = field(default_factory=dict)  # features to add, by size


@dataclass(kw_only=True)
class Packed:
    """Files and numbers that were written."""

    records: int = 0
    sizes: dict[str, int] = field(default_factory=dict)  # of each feature
    num_classes: int = 0  # one more than the highest label
    frames: int = 0  # of the longest video
    clipped: int = 0  # numbers outside the range
    numbers: int = 0  # that were made bytes
    files: list[str] = field(default_factory=list)
    repeated: int = 0  # rows that have the id of another
    twins: tuple[int, int] = (0, 0)  # two rows with one id, where there are any


def pack(table: Table, packing: Packing, *, advance: Callable[[int], None]) -> Packed:
    """Write the rows in their order, spread evenly over the shards; each is complete or absent.

    A second process that packs the same split there is refused: their shards would mix.
    """
    if not table.rows:
        raise DataError(f"{table.source}: holds no rows")
    lock = f".{packing.split}.pack.lock"  # another split may be packed beside it
    with alone_in(packing.out, lock, does=f"packs records of {packing.split}"):
        return _pack(table, packing, advance)


def _pack(table: Table, packing: Packing, advance: Callable[[int], None]) -> Packed:
    done, rows = Packed(), read_rows(table, packing.level)
    names = _names(packing.split, range(packing.shards))
    _check_alone(packing, names)
    ids = array("q")
    for number, name in enumerate(names):
        first, last = (n * table.rows // packing.shards for n in (number, number + 1))
        path = str(packing.out / name)
        with storage.atomic_write(path) as file:
            for record in _records(rows, last - first, packing, done, ids):
                file.write(frame(record))
                advance(1)
        done.files.append(path)
    _note_repeated(np.array(ids), done)
    return done


def _note_repeated(ids: np.ndarray, done: Packed) -> None:
    order = np.argsort(ids, kind="stable")
    (repeated,) = np.nonzero(np.diff(ids[order]) == 0)
    done.repeated = len(repeated)
    if len(repeated):
        first = int(repeated[0])
        done.twins = (int(order[first]), int(order[first + 1]))


def _check_alone(packing: Packing, names: list[str]) -> None:
    """Other shards of the split would be read with these, as if they were of one set."""
    found = (path.name for path in packing.out.glob(f"{packing.split}*.tfrecord*"))
    others = sorted(set(found) - set(names))
    if not others:
        return
    end = len(names) + len(others)
    if others == _names(packing.split, range(len(names), end)):  # of a pack into more shards
        listed = others[0] if len(others) == 1 else f"{others[0]} to {others[-1]}"
    else:
        listed = ", ".join(others)
    raise UserError(
        f"--out {packing.out}: holds other shards of {packing.split} ({listed}); "
        "remove them, or choose another directory"
    )


def _names(split: str, numbers: Iterable[int]) -> list[str]:
    return [f"{split}{number:04d}.tfrecord" for number in numbers]


def _records(
    rows: Iterator[Row], count: int, packing: Packing, done: Packed, ids: array[int]
) -> Iterator[bytes]:
    for _ in range(count):
        row = _with_zeros(next(rows), packing)
        ids.append(hash(row.id))  # of a few bytes, for there may be millions
        _note(row, done)
        record = _sequence(row, packing, done) if packing.level.is_sequence else _video(row)
        _check(record, packing.level, done)
        yield record
        done.records += 1


def _with_zeros(row: Row, packing: Packing) -> Row:
    """The row with the features of zeros beside its own."""
    lengths = [value.shape[:-1] for value in row.features.values()]
    dtype, zero = (np.uint8, _ZERO_BYTE) if packing.level.is_sequence else (np.float32, 0)
    for name in packing.zeros:
        if name in row.features:
            raise DataError(f"--zero {name}: the rows have a feature of this name")
    added = {
        name: np.full((*lengths[0], size), zero, dtype) for name, size in packing.zeros.items()
    }
    return replace(row, features={**row.features, **added})


def _note(row: Row, done: Packed) -> None:
    sizes = {name: value.shape[-1] for name, value in row.features.items()}
    done.sizes = done.sizes or sizes
    for name, size in sizes.items():
        if size != done.sizes[name]:
            raise DataError(
                f"row {done.records}: {name} has {size} numbers, and {done.sizes[name]} in the "
                "rows before it"
            )
    known = [row.labels] if row.labels is not None else []
    known += [row.ratings[SEGMENT_LABELS]] if row.ratings else []
    done.num_classes = max(done.num_classes, *(int(ids.max(initial=-1)) + 1 for ids in known), 0)


def _check(record: bytes, level: Level, done: Packed) -> None:
    """As ExampleGen will, whatever the arrays held."""
    sizes = {record_key(name, level): size for name, size in done.sizes.items()}
    findings = check_bytes(record, Expected(level, sizes))
    if findings.faults:
        raise DataError(f"row {done.records}: {'; '.join(findings.faults)}")


def _context(row: Row) -> dict[str, bytes]:
    features = {ID: bytes_feature(row.id.encode())}
    if row.labels is not None:
        features[LABELS] = int64_feature(row.labels)
    return features


def _video(row: Row) -> bytes:
    with np.errstate(over="ignore"):  # the check names what became infinite
        vectors = {
            record_key(name, Level.VIDEO): float_feature(value.astype(np.float32))
            for name, value in row.features.items()
        }
    return encode_example({**_context(row), **vectors})


def _sequence(row: Row, packing: Packing, done: Packed) -> bytes:
    context = _context(row)
    if row.ratings:
        starts = row.ratings[SEGMENT_START_TIMES].astype(np.int64)
        context |= segment_ratings(starts, row.ratings[SEGMENT_LABELS], row.ratings[SEGMENT_SCORES])
    lists = {}
    for name, value in row.features.items():
        lists[name] = frames_feature_list(_bytes_of(value, packing.value_range, done))
        done.frames = max(done.frames, len(value))
    return encode_sequence_example(context, lists)


def _bytes_of(values: np.ndarray, value_range: tuple[float, float], done: Packed) -> np.ndarray:
    """[frames, size] uint8: the nearest byte of each number, the ends for those beyond them."""
    if values.dtype == np.uint8:
        return values
    quantised, clipped = quantise(values, value_range)
    done.clipped += clipped
    done.numbers += values.size
    return quantised


def quantise(
    values: np.ndarray, value_range: tuple[float, float] = PUBLISHED_RANGE
) -> tuple[np.ndarray, int]:
    """The bytes that stand for `values`, and how many of these lie outside the range.

    A custom range is stretched over the published one first, for a byte's meaning is fixed.
    """
    low, high = value_range
    scaled = np.asarray(values, np.float64)
    clipped = int(np.count_nonzero((scaled < low) | (scaled > high)))
    stretched = QUANTISED_MIN + (scaled - low) * (QUANTISED_MAX - QUANTISED_MIN) / (high - low)
    steps = np.rint((stretched - DEQUANTISE_BIAS) / DEQUANTISE_SCALE)
    return np.clip(steps, 0, QUANTISED_LEVELS).astype(np.uint8), clipped
