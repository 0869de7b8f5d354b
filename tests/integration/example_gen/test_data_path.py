"""Records of every level through ExampleGen, statistics, validation and Transform, for real."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_transform as tft
from records import edit_record, make_dataset, read_all, set_feature
from tfx_runs import create_data_path, output, run, states

from yt8m.components.artifacts.manifest import Manifest
from yt8m.components.example_gen.config import DataConfig
from yt8m.components.preprocessing.arithmetic import normalize
from yt8m.components.records.decode import decode_record
from yt8m.schemas.features import FeatureConfig, Level, record_key

FEATURES = FeatureConfig(num_classes=1000)


@pytest.mark.parametrize("level", list(Level), ids=lambda level: level.value)
def test_every_level_reaches_a_transform_graph_that_equals_the_arithmetic(
    level: Level, tmp_path: Path
) -> None:
    data = make_dataset(tmp_path / "data", level=level.value, test=4)
    config = DataConfig(root=str(data), level=level)
    run(create_data_path(config, FEATURES, cache_dir=str(tmp_path / "verified")), tmp_path)

    examples = output(tmp_path, "ExampleGen", "examples")
    manifest = Manifest.from_json((Path(examples["uri"]) / "manifest.json").read_text())
    assert (manifest.examples("train"), manifest.examples("eval")) == (24, 12)
    assert examples["records"] == 40
    assert states(tmp_path, "ValidationGate") == ["COMPLETE"]
    assert output(tmp_path, "ValidationGate", "validation")["anomalies"] == 0

    records = read_all(data / "train0000.tfrecord")
    graph = output(tmp_path, "Transform", "transform_graph")["uri"]
    transformed = _transform(graph, records, level)
    _assert_equal_to_arithmetic(transformed, records, level)


@pytest.mark.parametrize("level", list(Level), ids=lambda level: level.value)
def test_one_feature_of_records_with_more_columns_reaches_the_transform_graph(
    level: Level, tmp_path: Path
) -> None:
    data = make_dataset(tmp_path / "data", level=level.value)
    for shard in data.glob("*.tfrecord"):
        for at in range(len(read_all(shard))):
            edit_record(shard, at, set_feature("title", (b"a film",)))
            if level.is_sequence:  # as in the published frame set
                edit_record(shard, at, set_feature("mean_rgb", np.ones(1024, np.float32)))
    features = FeatureConfig(names=("rgb",), sizes=(1024,), num_classes=1000)
    run(create_data_path(DataConfig(root=str(data), level=level), features), tmp_path)
    assert output(tmp_path, "ExampleGen", "examples")["records"] == 36
    assert states(tmp_path, "ValidationGate") == ["COMPLETE"]
    graph = tft.TFTransformOutput(output(tmp_path, "Transform", "transform_graph")["uri"])
    assert not {"title", "audio", "mean_audio"} & graph.raw_feature_spec().keys()


def _transform(graph: str, records: list[bytes], level: Level) -> dict[str, tf.Tensor]:
    """The records through the saved graph, fed as serving feeds it."""
    transform_output = tft.TFTransformOutput(graph)
    spec = transform_output.raw_feature_spec()
    if level.is_sequence:
        context = {key: value for key, value in spec.items() if key not in FEATURES.names}
        frames = {
            name: tf.io.RaggedFeature(tf.string, row_splits_dtype=tf.int64)
            for name in FEATURES.names
        }
        parsed, lists, _ = tf.io.parse_sequence_example(tf.constant(records), context, frames)
        parsed |= lists
    else:
        parsed = tf.io.parse_example(tf.constant(records), spec)
    return transform_output.transform_raw_features(parsed)


def _assert_equal_to_arithmetic(
    transformed: dict[str, tf.Tensor], records: list[bytes], level: Level
) -> None:
    decoded = [decode_record(record) for record in records]
    for at, record in enumerate(decoded):
        source = record.feature_lists if level.is_sequence else record.features
        features = {name: tf.constant(source[record_key(name, level)]) for name in FEATURES.names}
        expected = normalize(features, names=FEATURES.names, level=level)
        np.testing.assert_allclose(transformed["features"][at], expected, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(np.linalg.norm(expected, axis=-1), 1.0, rtol=1e-5)
    labels = tf.sparse.to_dense(transformed["labels"], default_value=-1).numpy()
    for row, record in zip(labels, decoded, strict=True):
        assert row[row >= 0].tolist() == list(record.features["labels"])
