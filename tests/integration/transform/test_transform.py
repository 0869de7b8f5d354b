"""TFX Transform with our preprocessing_fn: materialised, and for one feature alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tensorflow as tf
import tensorflow_transform as tft
from records import make_dataset, read_all
from tfx_runs import output, published, run
from training import trainer_config

from yt8m.components.artifacts.manifest import Manifest
from yt8m.components.artifacts.training_curve import read_curve
from yt8m.components.example_gen.component import ExampleGen
from yt8m.components.example_gen.config import DataConfig
from yt8m.components.records.decode import decode_record
from yt8m.components.trainer.component import create_trainer, training_config
from yt8m.components.trainer.config import TrainerConfig
from yt8m.components.transform.component import create_transform
from yt8m.components.transform.config import TransformConfig
from yt8m.components.validation.component import create_schema_gen
from yt8m.schemas.features import FeatureConfig, Level


def _run(
    root: Path,
    data: Path,
    config: TransformConfig,
    features: FeatureConfig,
    trainer: TrainerConfig | None = None,
) -> str:
    example_gen = ExampleGen(config=DataConfig(root=str(data)), features=features)
    schema_gen = create_schema_gen(Level.VIDEO, features)
    transform = create_transform(
        config,
        features,
        Level.VIDEO,
        examples=example_gen.outputs["sample"],
        schema=schema_gen.outputs["schema"],
    )
    steps = [example_gen, schema_gen, transform]
    if trainer is not None:
        checkpoints = str(root / "checkpoints")
        custom = training_config(trainer, features, Level.VIDEO, checkpoint_root=checkpoints)
        steps.append(
            create_trainer(
                trainer,
                custom_config=custom,
                examples=transform.outputs["transformed_examples"],
                transform_graph=transform.outputs["transform_graph"],
                schema=schema_gen.outputs["schema"],
            )
        )
    run(steps, root)
    return str(output(root, "Transform", "transform_graph")["uri"])


def test_nothing_is_materialised_unless_asked_and_then_it_is_what_the_graph_gives(
    tmp_path: Path,
) -> None:
    data, features = make_dataset(tmp_path / "data"), FeatureConfig(num_classes=1000)
    _run(tmp_path / "not", data, TransformConfig(), features)
    assert {a["name"] for a in published(tmp_path / "not", "Transform")} == {"transform_graph"}

    graph = _run(tmp_path / "so", data, TransformConfig(materialize=True), features)
    uri = output(tmp_path / "so", "Transform", "transformed_examples")["uri"]
    written = sorted(map(str, Path(uri, "Split-train").iterdir()))
    spec = tft.TFTransformOutput(graph).transformed_feature_spec()
    rows = list(
        tf.data.TFRecordDataset(written, compression_type="GZIP").map(
            lambda record: tf.io.parse_single_example(record, spec)
        )
    )
    assert len(rows) == 24
    by_id = {
        record.features["id"][0]: record
        for shard in data.glob("train*")
        for record in map(decode_record, read_all(shard))
    }
    for row in rows:
        record = by_id[row["id"].numpy()]
        joined = np.concatenate([record.features["mean_rgb"], record.features["mean_audio"]])
        np.testing.assert_allclose(row["features"], joined / np.linalg.norm(joined), atol=1e-6)


def test_the_trainer_learns_from_what_transform_has_written(tmp_path: Path) -> None:
    data, features = make_dataset(tmp_path / "data"), FeatureConfig(num_classes=1000)
    trainer = trainer_config(max_steps=4, validation={"every_steps": 4})
    _run(tmp_path, data, TransformConfig(materialize=True), features, trainer)
    directory = Path(output(tmp_path, "Trainer", "model_run")["uri"])
    manifest = Manifest.from_json((directory / "manifest.json").read_text())
    written = Path(output(tmp_path, "Transform", "transformed_examples")["uri"])
    assert {Path(shard.uri).parents[1] for shard in manifest.shards} == {written}
    assert (manifest.examples("train"), manifest.examples("eval")) == (24, 12)
    rows = read_curve(str(directory / "training.jsonl"))
    (validated,) = [row for row in rows if row["kind"] == "validation" and row["step"] == 4]
    assert validated["videos"] == 12
    serve = tf.saved_model.load(
        str(Path(output(tmp_path, "Trainer", "model")["uri"], "Format-Serving"))
    ).signatures["scores"]
    records = read_all(data / "validate0000.tfrecord")  # a served model takes the published ones
    assert serve(examples=tf.constant(records))["scores"].shape == (len(records), 1000)


def test_one_feature_of_another_size_is_a_matter_of_configuration(tmp_path: Path) -> None:
    data = make_dataset(tmp_path / "data", sizes={"audio": 32})
    features = FeatureConfig(names=("audio",), sizes=(32,), num_classes=1000)
    graph = tft.TFTransformOutput(_run(tmp_path, data, TransformConfig(), features))
    records = read_all(data / "train0000.tfrecord")
    parsed = tf.io.parse_example(tf.constant(records), graph.raw_feature_spec())
    vectors = graph.transform_raw_features(parsed)["features"].numpy()
    expected = np.stack([decode_record(record).features["mean_audio"] for record in records])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(vectors, expected, atol=1e-6)
