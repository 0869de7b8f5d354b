"""A stock TFX pipeline of our shape, written as TFX's own examples are; for `stages.py`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import tensorflow as tf
import tensorflow_model_analysis as tfma
import tf_keras
from google.protobuf import text_format
from tfx.components import (
    Evaluator,
    ExampleValidator,
    ImportExampleGen,
    Pusher,
    StatisticsGen,
    Trainer,
    Transform,
)
from tfx.components.schema_gen.import_schema_gen.component import ImportSchemaGen
from tfx.orchestration.metadata import sqlite_metadata_connection_config
from tfx.orchestration.pipeline import Pipeline
from tfx.proto import example_gen_pb2, pusher_pb2, trainer_pb2
from tfx_bsl.public import tfxio

from yt8m.components.transform import preprocessing
from yt8m.schemas.config_tree import to_dict
from yt8m.schemas.features import FeatureConfig, Level
from yt8m.schemas.load import load_schema

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))  # for VideoMetrics
PREPROCESSING_FN = f"{preprocessing.__name__}.preprocessing_fn"


def create_stock_pipeline(
    data: Path, root: Path, *, level: str, classes: int, steps: int, batch: int
) -> Any:
    """ImportExampleGen to Pusher, everything as TFX brings it; of frames, to Transform."""
    features = FeatureConfig(num_classes=classes)
    schema_file = root / "schema.pbtxt"
    root.mkdir(parents=True, exist_ok=True)
    schema_file.write_text(text_format.MessageToString(load_schema(Level(level), features)))
    split = example_gen_pb2.Input.Split
    inputs = example_gen_pb2.Input(
        splits=[
            split(name="train", pattern="train*"),
            split(name="eval", pattern="validate*"),
        ]
    )
    formats = example_gen_pb2.PayloadFormat
    examples = ImportExampleGen(
        input_base=str(data),
        input_config=inputs,
        payload_format=formats.FORMAT_TF_EXAMPLE
        if level == Level.VIDEO.value
        else formats.FORMAT_TF_SEQUENCE_EXAMPLE,
    )
    statistics = StatisticsGen(examples=examples.outputs["examples"])
    schema = ImportSchemaGen(schema_file=str(schema_file))
    validator = ExampleValidator(
        statistics=statistics.outputs["statistics"], schema=schema.outputs["schema"]
    )
    transform = Transform(
        examples=examples.outputs["examples"],
        schema=schema.outputs["schema"],
        preprocessing_fn=PREPROCESSING_FN,
        custom_config={"level": level, "features": to_dict(features), "config": {}},
    )
    components: list[Any] = [examples, statistics, schema, validator, transform]
    if level == Level.VIDEO.value:
        trainer = Trainer(
            run_fn="stock_pipeline.run_fn",
            examples=transform.outputs["transformed_examples"],
            transform_graph=transform.outputs["transform_graph"],
            schema=schema.outputs["schema"],
            train_args=trainer_pb2.TrainArgs(num_steps=steps),
            eval_args=trainer_pb2.EvalArgs(num_steps=1),
            custom_config={"classes": classes, "batch": batch},
        )
        evaluator = Evaluator(
            examples=examples.outputs["examples"],
            example_splits=["eval"],
            model=trainer.outputs["model"],
            eval_config=_eval_config(classes),
        )
        pusher = Pusher(
            model=trainer.outputs["model"],
            model_blessing=evaluator.outputs["blessing"],
            push_destination=pusher_pb2.PushDestination(
                filesystem=pusher_pb2.PushDestination.Filesystem(base_directory=str(root / "push"))
            ),
        )
        components += [trainer, evaluator, pusher]
    return Pipeline(
        pipeline_name="stock",
        pipeline_root=str(root / "artifacts"),
        components=components,
        enable_cache=True,
        metadata_connection_config=sqlite_metadata_connection_config(str(root / "metadata.db")),
        # The fastest of Beam's ways to run in one place; stock TFX would leave it to Beam.
        beam_pipeline_args=[
            "--runner=DirectRunner",
            "--direct_running_mode=in_memory",
            "--direct_num_workers=1",
        ],
    )


def run_fn(fn_args: Any) -> None:
    """A logistic model on the transformed examples, by Keras's own `fit`."""
    import tensorflow_transform as tft

    classes, batch = fn_args.custom_config["classes"], fn_args.custom_config["batch"]
    transformed = tft.TFTransformOutput(fn_args.transform_output)
    options = tfxio.TensorFlowDatasetOptions(batch_size=batch)
    dataset = fn_args.data_accessor.tf_dataset_factory(
        fn_args.train_files, options, transformed.transformed_metadata.schema
    )
    network = tf_keras.Sequential(
        [tf_keras.layers.Dense(classes, activation="sigmoid", name="classes")]
    )
    network.compile(optimizer=tf_keras.optimizers.legacy.Adam(0.01), loss=_cross_entropy(classes))
    network.fit(
        dataset.map(lambda rows: (rows["features"], tf.sparse.to_dense(rows["labels"], -1))),
        steps_per_epoch=fn_args.train_steps,
        verbose=0,
    )
    layer = transformed.transform_features_layer()
    spec = transformed.raw_feature_spec()
    spec.pop("labels")

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def scores(examples: tf.Tensor) -> dict[str, tf.Tensor]:
        vectors = layer(tf.io.parse_example(examples, spec))["features"]
        return {"scores": network(vectors)}

    network.transform_layer = layer
    signatures = {"serving_default": scores, "scores": scores}
    tf.saved_model.save(network, fn_args.serving_model_dir, signatures=signatures)


def _cross_entropy(classes: int) -> Any:
    def loss(labels: tf.Tensor, predictions: tf.Tensor) -> tf.Tensor:
        hot = tf.reduce_max(tf.one_hot(tf.cast(labels, tf.int64), classes), axis=1)
        terms = hot * tf.math.log(predictions + 1e-5) + (1 - hot) * tf.math.log(
            1 - predictions + 1e-5
        )
        return -tf.reduce_sum(terms, axis=1)

    return loss


def _eval_config(classes: int) -> Any:
    config = json.dumps({"num_classes": classes})[1:-1]
    return text_format.Parse(
        f"""
        model_specs {{ signature_name: "scores" prediction_key: "scores" label_key: "labels" }}
        slicing_specs {{}}
        metrics_specs {{
          metrics {{
            class_name: "VideoMetrics"
            module: "video_metrics"
            config: '{config}'
          }}
          thresholds {{ key: "gap" value {{ value_threshold {{ lower_bound {{ value: 0.0 }} }} }} }}
        }}
        options {{ include_default_metrics {{ value: false }} }}""",
        tfma.EvalConfig(),
    )
