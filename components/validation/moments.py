"""Mean and mean square of each feature's values, example by example, within TFDV's statistics.

The values of one vector hang together, so what chance does to a feature's mean follows from how
examples differ, and not from the number of values. TFDV keeps only the latter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import tensorflow_data_validation as tfdv
from tensorflow_metadata.proto.v0 import statistics_pb2

from yt8m.schemas.features import DEQUANTISE_BIAS, DEQUANTISE_SCALE

# Of a video's frames each tenth: neighbours are alike, and all would cost more than TFDV itself.
_FRAME_STEP = 10
_NAMES = ("examples", "mean", "mean_variance", "square", "square_variance")
_PREFIX = "yt8m_"
Path = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Moments:
    """Over examples: mean and variance of their values' mean, and of their mean square."""

    examples: float
    mean: float
    mean_variance: float
    square: float
    square_variance: float


class MomentsGenerator(tfdv.CombinerStatsGenerator):
    """Counts and sums of each feature as TFDV's combiners keep theirs."""

    def __init__(self) -> None:
        super().__init__("yt8m_moments")

    def create_accumulator(self) -> dict[Path, np.ndarray]:
        return {}

    def add_input(
        self, accumulator: dict[Path, np.ndarray], batch: pa.RecordBatch
    ) -> dict[Path, np.ndarray]:
        for path, column in _columns(batch):
            means, squares = column
            sums = [len(means), means.sum(), (means**2).sum(), squares.sum(), (squares**2).sum()]
            accumulator[path] = accumulator.get(path, 0.0) + np.array(sums, np.float64)
        return accumulator

    def merge_accumulators(self, accumulators: Any) -> dict[Path, np.ndarray]:
        merged: dict[Path, np.ndarray] = {}
        for one in accumulators:
            for path, sums in one.items():
                merged[path] = merged.get(path, 0.0) + sums
        return merged

    def extract_output(
        self, accumulator: dict[Path, np.ndarray]
    ) -> statistics_pb2.DatasetFeatureStatistics:
        statistics = statistics_pb2.DatasetFeatureStatistics()
        for path, sums in sorted(accumulator.items()):
            feature = statistics.features.add(path={"step": path})
            for name, value in zip(_NAMES, _moments(sums), strict=True):
                feature.custom_stats.add(name=_PREFIX + name, num=value)
        return statistics


def moments_of(feature: statistics_pb2.FeatureNameStatistics) -> Moments | None:
    """The generator's moments of a feature; None without finite numbers."""
    noted = {one.name: one.num for one in feature.custom_stats}
    values = {name: noted.get(_PREFIX + name, np.nan) for name in _NAMES}
    return Moments(**values) if np.isfinite(list(values.values())).all() else None


def _moments(sums: np.ndarray) -> list[float]:
    count, mean, mean_squares, square, square_squares = sums
    mean, square = mean / count, square / count
    return [
        count,
        mean,
        max(0.0, mean_squares / count - mean**2),
        square,
        max(0.0, square_squares / count - square**2),
    ]


def _columns(batch: pa.RecordBatch) -> Iterator[tuple[Path, tuple[np.ndarray, np.ndarray]]]:
    """Means and mean squares of the examples of each column that holds numbers, or frames."""
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if pa.types.is_struct(column.type):
            for field in column.type:
                sums = _of_frames(column.field(field.name))
                if len(sums[0]):
                    yield (name, field.name), sums
        elif pa.types.is_large_list(column.type) and _is_number(column.type.value_type):
            values = column.flatten().to_numpy(zero_copy_only=False)
            sums = _by_example(values.astype(np.float64), _sizes(column))
            if len(sums[0]):
                yield (name,), sums


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))


def _of_frames(column: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Of frames as texts of one byte a dimension: a list of lists with one text."""
    means, squares = [], []
    for frames in column.to_pylist():
        taken = b"".join(text for one in (frames or ())[::_FRAME_STEP] for text in one)
        if taken:
            stored = np.frombuffer(taken, np.uint8)
            values = np.bincount(stored, minlength=256) / len(stored)
            means.append(values @ _DEQUANTISED)
            squares.append(values @ _DEQUANTISED**2)
    return np.array(means), np.array(squares)


_DEQUANTISED = np.arange(256) * DEQUANTISE_SCALE + DEQUANTISE_BIAS


def _sizes(column: pa.Array) -> np.ndarray:
    return np.asarray(np.diff(column.offsets.to_numpy()))


def _by_example(values: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    sizes = sizes[sizes > 0]
    starts = np.cumsum(sizes) - sizes
    if not len(sizes):
        return np.zeros(0), np.zeros(0)
    return np.add.reduceat(values, starts) / sizes, np.add.reduceat(values**2, starts) / sizes
