"""How often ValidationGate stops data of one distribution, and which shifts it finds.

    python benchmarks/comparisons.py
    python benchmarks/comparisons.py --pairs 20 --sizes 100,1000

Records are drawn from a generated pool and pass the statistics that StatisticsGen computes. A pair
of samples of one distribution that is stopped is a false stop. Then one sample of a pair is
changed: a feature scaled by 1.1, its most frequent class twice as frequent, its segments' times
moved by 50.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from records import encode_record, make_dataset, read_all, write_all

from yt8m.components.records.decode import Record, decode_record
from yt8m.components.validation.config import ValidationConfig
from yt8m.components.validation.drift import Comparison, compare
from yt8m.components.validation.statistics import compute_statistics, statistics_options
from yt8m.schemas.features import DEQUANTISE_BIAS, DEQUANTISE_SCALE, FeatureConfig, Level
from yt8m.schemas.load import load_schema

POOL, CLASSES = 4000, 1000
FEATURES = FeatureConfig(num_classes=CLASSES, sizes=(64, 16))
Change = Callable[["Pool", int, np.random.Generator], list[bytes]]


class Pool:
    """Records of one distribution, of which samples are drawn."""

    def __init__(self, level: Level, directory: Path) -> None:
        self.level = level
        data = make_dataset(
            directory,
            level=level.value,
            train=POOL,
            eval=1,
            classes=CLASSES,
            sizes=dict(zip(FEATURES.names, FEATURES.sizes, strict=True)),
            min_frames=20,
            max_frames=300 if level is Level.SEGMENT else 60,
        )
        self.records = [r for path in sorted(data.glob("train*")) for r in read_all(path)]
        self._file = directory / "sample.tfrecord"
        self._schema = load_schema(level, FEATURES)

    def draw(self, count: int, rng: np.random.Generator, weights: Any = None) -> list[bytes]:
        taken = rng.choice(len(self.records), count, p=weights)
        return [self.records[number] for number in taken]

    def statistics(self, records: Sequence[bytes]) -> Any:
        options = statistics_options()
        options.schema = self._schema
        write_all(self._file, records)
        return compute_statistics(
            [str(self._file)], options, sequences=self.level is not Level.VIDEO
        )

    def is_stopped(self, first: Sequence[bytes], second: Sequence[bytes]) -> bool:
        """Whether the second sample is told from the first, as skew or as drift."""
        train, other = self.statistics(first), self.statistics(second)
        config = ValidationConfig()
        return any(
            compare(kind, train, other, self._schema, config).anomalies for kind in Comparison
        )


def scaled(pool: Pool, count: int, rng: np.random.Generator) -> list[bytes]:
    return [_edited(record, _scale) for record in pool.draw(count, rng)]


def moved(pool: Pool, count: int, rng: np.random.Generator) -> list[bytes]:
    return [_edited(record, _move) for record in pool.draw(count, rng)]


def doubled(pool: Pool, count: int, rng: np.random.Generator) -> list[bytes]:
    """Records in which the most frequent class is twice as frequent as in the pool."""
    labels = [set(np.asarray(decode_record(r).features["labels"]).tolist()) for r in pool.records]
    ((top, times),) = Counter(label for one in labels for label in one).most_common(1)
    share = times / len(labels)
    has_it = np.array([top in one for one in labels])
    weights = np.where(has_it, 2.0, (1 - 2 * share) / (1 - share))
    return pool.draw(count, rng, weights / weights.sum())


def _edited(data: bytes, change: Callable[[Record], Record]) -> bytes:
    return encode_record(change(decode_record(data)))


def _scale(record: Record) -> Record:
    if not record.is_sequence:
        means = np.asarray(record.features["mean_rgb"]) * np.float32(1.1)
        features = {**record.features, "mean_rgb": means}
        return dataclasses.replace(record, features=features)
    values = np.asarray(record.feature_lists["rgb"]) * DEQUANTISE_SCALE + DEQUANTISE_BIAS
    stored = np.clip(np.round((values * 1.1 - DEQUANTISE_BIAS) / DEQUANTISE_SCALE), 0, 255)
    lists = {**record.feature_lists, "rgb": stored.astype(np.uint8)}
    return dataclasses.replace(record, feature_lists=lists)


def _move(record: Record) -> Record:
    names = ("segment_start_times", "segment_end_times")
    moved = {name: np.asarray(record.features[name]) + 50 for name in names}
    return dataclasses.replace(record, features={**record.features, **moved})


SHIFTS: Mapping[str, Change] = {"x 1.1": scaled, "top class x 2": doubled, "times + 50": moved}


def rows(levels: Sequence[Level], sizes: Sequence[int], pairs: int) -> Iterable[str]:
    """One line for each level and size."""
    for level in levels:
        with tempfile.TemporaryDirectory() as directory:
            pool = Pool(level, Path(directory) / "data")
            for size in sizes:
                rng = np.random.default_rng(size)
                stopped = sum(
                    pool.is_stopped(pool.draw(size, rng), pool.draw(size, rng))
                    for _ in range(pairs)
                )
                found = {
                    name: sum(
                        pool.is_stopped(pool.draw(size, rng), change(pool, size, rng))
                        for _ in range(max(1, pairs // 10))
                    )
                    for name, change in SHIFTS.items()
                    if change is not moved or level is Level.SEGMENT
                }
                told = ", ".join(
                    f"{name} {n} of {max(1, pairs // 10)}" for name, n in found.items()
                )
                yield f"| {level.value} | {size:,} | {stopped} of {pairs} | {told} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--sizes", default="100,1000,10000")
    parser.add_argument("--levels", default="video,frame,segment")
    args = parser.parse_args()
    print("| level | records | false stops | shifts found |\n| --- | --- | --- | --- |")
    levels = [Level(name) for name in args.levels.split(",")]
    for row in rows(levels, [int(size) for size in args.sizes.split(",")], args.pairs):
        print(row, flush=True)


if __name__ == "__main__":
    main()
