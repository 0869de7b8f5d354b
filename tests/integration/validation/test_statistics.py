"""StatisticsGen beside TFX's own, which is an oracle: its Beam pipeline, and exact counts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow_data_validation as tfdv
from records import compress, flip_byte_in_record, make_dataset, read_all
from tensorflow_metadata.proto.v0 import statistics_pb2
from tfx.components import StatisticsGen as StockStatisticsGen
from tfx_runs import output, run

from yt8m.components.example_gen.component import ExampleGen
from yt8m.components.example_gen.config import DataConfig
from yt8m.components.records.decode import decode_record
from yt8m.components.validation.component import StatisticsGen, create_schema_gen
from yt8m.components.validation.statistics import compute_statistics
from yt8m.schemas.errors import DataError
from yt8m.schemas.features import FeatureConfig, Level
from yt8m.schemas.load import load_schema

FEATURES = FeatureConfig(num_classes=1000)
Features = dict[str, Any]


def _features(path: Path) -> Features:
    content = statistics_pb2.DatasetFeatureStatisticsList.FromString(path.read_bytes())
    (dataset,) = content.datasets
    return {"/".join(feature.path.step): feature for feature in dataset.features}


def _numbers(feature: Any) -> list[float]:
    text = feature.HasField("string_stats")
    one = feature.string_stats if text else feature.num_stats
    common = one.common_stats
    found = [common.num_non_missing, common.num_missing, common.tot_num_values]
    found += [common.min_num_values, common.max_num_values, common.avg_num_values]
    if text:
        return [*found, one.unique, one.avg_length]
    return [*found, one.mean, one.std_dev, one.min, one.max, one.num_zeros]


def _classes(feature: Any) -> dict[int, float]:
    ranked = feature.string_stats.rank_histogram.buckets
    return {int(bucket.label): bucket.sample_count for bucket in ranked}


def _statistics_of(data: Path, level: Level, root: Path, *, stock: bool) -> Path:
    root.mkdir()
    example_gen = ExampleGen(config=DataConfig(root=str(data), level=level), features=FEATURES)
    schema_gen = create_schema_gen(level, FEATURES)
    sample, schema = example_gen.outputs["sample"], schema_gen.outputs["schema"]
    exact = tfdv.StatsOptions(num_rank_histogram_buckets=5000)
    node = (
        StockStatisticsGen(examples=sample, schema=schema, stats_options=exact)
        if stock
        else StatisticsGen(examples=sample, schema=schema)
    )
    run([example_gen, schema_gen, node], root)
    return Path(output(root, "StatisticsGen", "statistics")["uri"])


@pytest.mark.parametrize("level", ["video", "frame", "segment"])
def test_they_are_those_of_tfx_s_own_component(level: str, tmp_path: Path) -> None:
    data = make_dataset(tmp_path / "data", level=level, train=60, eval=30)
    if level == "video":
        compress(data / "train0000.tfrecord")
    ours, theirs = (
        _statistics_of(data, Level(level), tmp_path / name, stock=name == "stock")
        for name in ("ours", "stock")
    )
    for split in ("train", "eval"):
        found, expected = (
            _features(each / f"Split-{split}" / "FeatureStats.pb") for each in (ours, theirs)
        )
        assert found.keys() == expected.keys()
        for name, feature in found.items():
            assert feature.type == expected[name].type
            np.testing.assert_allclose(
                _numbers(feature), _numbers(expected[name]), rtol=1e-6, err_msg=name
            )
        labels = "labels" if level != "segment" else "segment_labels"
        assert _classes(found[labels]) == _classes(expected[labels])


def test_every_class_is_counted_and_memory_holds_no_ids(tmp_path: Path) -> None:
    data = make_dataset(tmp_path, train=300, eval=10)
    shards = sorted(map(str, data.glob("train*")))
    node = StatisticsGen(
        examples=ExampleGen(config=DataConfig(), features=FEATURES).outputs["sample"],
        schema=create_schema_gen(Level.VIDEO, FEATURES).outputs["schema"],
    )
    options = tfdv.StatsOptions.from_json(node.exec_properties["stats_options_json"])
    options.schema = load_schema(Level.VIDEO, FEATURES)
    assert options.use_sketch_based_topk_uniques  # of an engine's workers, too
    found = compute_statistics(shards, options, sequences=False).datasets[0]
    features = {str(one.path.step[0]): one for one in found.features}
    counts = Counter(
        int(label)
        for shard in map(Path, shards)
        for record in read_all(shard)
        for label in decode_record(record).features["labels"]
    )
    assert found.num_examples == 300
    assert _classes(features["labels"]) == counts
    assert features["id"].string_stats.unique == 300


def test_a_record_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    data = make_dataset(tmp_path, train=20, eval=10)
    shard = data / "train0000.tfrecord"
    flip_byte_in_record(shard, 3)
    with pytest.raises(DataError, match=r"train0000\.tfrecord: record 3 at byte \d+: wrong check"):
        compute_statistics([str(shard)], tfdv.StatsOptions(), sequences=False)
