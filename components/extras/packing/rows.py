"""Rows of custom data: from NumPy files, a folder of them, or Parquet, a few at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from yt8m.schemas.errors import DataError, UserError
from yt8m.schemas.features import (
    ID,
    LABELS,
    SEGMENT_END_TIMES,
    SEGMENT_LABELS,
    SEGMENT_SCORES,
    SEGMENT_START_TIMES,
    Level,
    record_key,
)
from yt8m.schemas.npz_faults import NPZ_FAULTS

NUM_FRAMES = "num_frames"
_ROWS_AT_ONCE = 256
_RATINGS = (SEGMENT_START_TIMES, SEGMENT_LABELS, SEGMENT_SCORES)
_KNOWN = (ID, LABELS, NUM_FRAMES, *_RATINGS, SEGMENT_END_TIMES)


@dataclass(frozen=True, kw_only=True)
class Table:
    """Columns of equal length; a cell is a number, a text, or an array."""

    source: str
    columns: tuple[str, ...]
    rows: int
    batches: Iterator[Mapping[str, Any]]  # each column's next cells


@dataclass(frozen=True, kw_only=True, eq=False)
class Row:
    """One video."""

    id: str
    labels: np.ndarray | None  # class ids; None in records without
    features: dict[str, np.ndarray]  # [size], or [frames, size]
    ratings: dict[str, np.ndarray]  # at segment level


def open_table(path: Path) -> Table:
    """The table in `path`: FILE.npz, a directory of .npy files, or FILE.parquet."""
    if path.is_dir():
        arrays: dict[str, np.ndarray] = {}
        for file in sorted(path.glob("*.npy")):
            arrays |= _load(file)
        return _of_arrays(path, arrays)
    if path.suffix == ".npz":
        return _of_arrays(path, _load(path))
    if path.suffix in (".parquet", ".pq"):
        return _of_parquet(path)
    raise UserError(f"--input {path}: give a .npz or .parquet file, or a folder of .npy files")


def feature_columns(table: Table, level: Level) -> dict[str, str]:
    """Column by name of feature; `mean_rgb` is the feature rgb at video level."""
    prefix = record_key("", level)
    columns: dict[str, str] = {}
    for column in table.columns:
        if column not in _KNOWN:
            other = columns.setdefault(column.removeprefix(prefix), column)
            if other != column:
                raise DataError(f"{table.source}: columns {other} and {column} are one feature")
    if not columns:
        raise DataError(
            f"{table.source}: no features; every column but {', '.join(_KNOWN)} is one, and it has "
            f"{', '.join(table.columns) or 'none'}"
        )
    return columns


def read_rows(table: Table, level: Level) -> Iterator[Row]:
    """The rows, checked one by one; DataError names the first that does not fit."""
    features = feature_columns(table, level)
    if level is Level.SEGMENT:
        lacking = [name for name in _RATINGS if name not in table.columns]
        if lacking:
            raise DataError(f"{table.source}: level segment needs a column {' and '.join(lacking)}")
    number = 0
    for batch in table.batches:
        for place in range(len(next(iter(batch.values())))):
            cells = {name: column[place] for name, column in batch.items()}
            try:
                yield _row(cells, number, level, features)
            except (ValueError, TypeError) as error:
                raise DataError(f"{table.source}: row {number}: {error}") from error
            number += 1


def _row(cells: Mapping[str, Any], number: int, level: Level, features: Mapping[str, str]) -> Row:
    named = {name: np.asarray(_plain(cells[column])) for name, column in features.items()}
    if level.is_sequence:
        named = _frames(named, cells.get(NUM_FRAMES))
    else:
        _require_vectors(named)
    ratings = {}
    if level is Level.SEGMENT:
        ratings = _segment_ratings(cells)
    return Row(
        id=_text(cells[ID]) if ID in cells else f"{number:08d}",
        labels=_labels(cells[LABELS]) if LABELS in cells else None,
        features=named,
        ratings=ratings,
    )


def _segment_ratings(cells: Mapping[str, Any]) -> dict[str, np.ndarray]:
    columns = {name: np.atleast_1d(np.asarray(_plain(cells[name]))) for name in _RATINGS}
    if len({value.shape for value in columns.values()}) > 1:
        told = ", ".join(f"{name} {value.shape}" for name, value in columns.items())
        raise ValueError(f"ratings differ in shape ({told})")
    kept = columns[SEGMENT_START_TIMES] >= 0
    return {name: value[kept] for name, value in columns.items()}


def _frames(features: dict[str, np.ndarray], count: Any) -> dict[str, np.ndarray]:
    cut = {}
    for name, value in features.items():
        if value.ndim != 2 or not len(value):
            raise ValueError(f"{name} has shape {value.shape}: expected [frames, size], 1 or more")
        if count is not None and not 0 < count <= len(value):
            raise ValueError(f"{NUM_FRAMES} is {count}, and {name} has {len(value)} frames")
        cut[name] = value if count is None else value[: int(count)]
    lengths = {name: len(value) for name, value in cut.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{count} of {name}" for name, count in lengths.items())
        raise ValueError(f"features differ in their number of frames ({told})")
    _require_finite(cut)
    return cut


def _require_vectors(features: Mapping[str, np.ndarray]) -> None:
    for name, value in features.items():
        if value.ndim != 1 or not len(value):
            raise ValueError(
                f"{name} has shape {value.shape}: expected [size], one vector per video"
            )
    _require_finite(features)


def _require_finite(features: Mapping[str, np.ndarray]) -> None:
    for name, value in features.items():
        if value.dtype.kind not in "buif":
            raise ValueError(f"{name} holds {value.dtype}, not numbers")
        if not np.isfinite(value).all():
            raise ValueError(f"{name} holds a number that is not finite")


def _labels(cell: Any) -> np.ndarray:
    """Class ids of a list, padded with -1 or not, or of a row of zeros and ones as bool."""
    values = np.atleast_1d(np.asarray(_plain(cell)))
    if values.dtype == bool:
        return np.flatnonzero(values)
    if values.size and values.dtype.kind not in "iu":
        raise ValueError(
            f"labels hold {values.dtype}: expected class ids, padded with -1, or one bool per class"
        )
    outside = values[(values < -1) | (values > np.iinfo(np.int64).max)]
    if len(outside):
        raise ValueError(f"label {outside[0]}: class ids are 0 or more, padded with -1")
    if np.count_nonzero(values == 0) > 1:
        raise ValueError("class 0 is given twice: pad with -1, or give one bool per class")
    return np.unique(values[values >= 0]).astype(np.int64)


def _text(cell: Any) -> str:
    """A text that a record can hold: ValueError where it is not UTF-8."""
    return cell.decode() if isinstance(cell, bytes) else str(cell).encode().decode()


def _plain(cell: Any) -> Any:
    """Lists of lists as one array, which Parquet's readers give as arrays of arrays."""
    if isinstance(cell, np.ndarray) and cell.dtype == object:
        return np.stack([np.asarray(part) for part in cell]) if len(cell) else np.empty(0)
    return cell


def _load(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file, by name; a single one has the file's."""
    try:
        loaded = np.load(path, allow_pickle=False, mmap_mode="r" if path.suffix == ".npy" else None)
        if isinstance(loaded, np.ndarray):
            return {path.stem: loaded}
        return {name: loaded[name] for name in loaded.files}
    except FileNotFoundError as error:
        raise UserError(f"--input {path}: no such file") from error
    except NPZ_FAULTS as error:
        raise DataError(f"{path}: not a readable NumPy file ({error})") from error


def _of_arrays(path: Path, arrays: dict[str, np.ndarray]) -> Table:
    lengths = {name: len(array) if array.ndim else 0 for name, array in arrays.items()}
    if not lengths or len(set(lengths.values())) > 1:
        told = ", ".join(f"{count} of {name}" for name, count in lengths.items()) or "no array"
        raise DataError(f"{path}: arrays must have one row per video, but have {told}")
    rows = next(iter(lengths.values()))

    def batches() -> Iterator[Mapping[str, Any]]:
        for start in range(0, rows, _ROWS_AT_ONCE):
            yield {name: array[start : start + _ROWS_AT_ONCE] for name, array in arrays.items()}

    return Table(source=str(path), columns=tuple(arrays), rows=rows, batches=batches())


def _of_parquet(path: Path) -> Table:
    import pyarrow as pa
    import pyarrow.parquet as pq
    import pyarrow_hotfix  # noqa: F401  (a file from elsewhere could run code otherwise)

    try:
        file = pq.ParquetFile(path)
    except FileNotFoundError as error:
        raise UserError(f"--input {path}: no such file") from error
    except (OSError, pa.ArrowInvalid) as error:
        raise DataError(f"{path}: not a readable Parquet file ({error})") from error

    def batches() -> Iterator[Mapping[str, Any]]:
        first = 0
        try:
            for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE):
                if batch.num_rows:
                    yield {
                        name: _cells(column, f"{path}: column {name}", first)
                        for name, column in zip(batch.schema.names, batch.columns, strict=True)
                    }
                first += batch.num_rows
        except (OSError, pa.ArrowException) as error:
            raise DataError(f"{path}: not a readable Parquet file ({error})") from error

    return Table(
        source=str(path),
        columns=tuple(file.schema_arrow.names),
        rows=file.metadata.num_rows,
        batches=batches(),
    )


def _cells(column: Any, where: str, first: int) -> Any:  # pyarrow's, from row `first` on
    if column.null_count:
        row = first + int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise DataError(f"{where}, row {row}: is empty")
    return column.to_numpy(zero_copy_only=False)
