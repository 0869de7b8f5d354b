"""Sources of generated records, for tests of whatever reads them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from records import compress, make_dataset, shard_of

from yt8m.components.inputs.config import Source
from yt8m.schemas.features import FeatureConfig, Level

SIZES = {"rgb": 16, "audio": 8}
FEATURES = FeatureConfig(sizes=(16, 8), num_classes=20)

Row = dict[str, np.ndarray]


def make_source(out: Path, level: Level, *, split: str = "train", **values: Any) -> Source:
    """A small generated data set as a source; `values` are those of DatasetSpec."""
    made = {"train": 50, "shards": 5, "sizes": SIZES, **values}
    data = make_dataset(out, level=level.value, **made)
    return source_of_files(sorted(data.glob(f"{split}*")), level, FEATURES)


def source_of_files(paths: list[Path], level: Level, features: FeatureConfig) -> Source:
    """Shards as a manifest would list them."""
    shards = tuple(shard_of(path, "train") for path in paths)
    return Source(shards=shards, level=level, features=features)


def gzipped(source: Source) -> Source:
    """The same source, whose shards are compressed."""
    for shard in source.shards:
        compress(Path(shard.uri))
    shards = tuple(dataclasses.replace(shard, compression="GZIP") for shard in source.shards)
    return dataclasses.replace(source, shards=shards)


def batches(dataset: tf.data.Dataset, count: int) -> list[Row]:
    """The first `count` batches as arrays."""
    return [{k: v.numpy() for k, v in batch.items()} for batch in dataset.take(count)]


def assert_same(found: list[Row], expected: list[Row]) -> None:
    """Batch by batch, key by key, to the last bit."""
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert a.keys() == b.keys()
        for key in a:
            np.testing.assert_array_equal(a[key], b[key], err_msg=key)
