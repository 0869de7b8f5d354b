"""Transform's graph of generated records, made by TensorFlow Transform itself."""

from __future__ import annotations

import functools
from pathlib import Path

import apache_beam as beam
import tensorflow_transform.beam as tft_beam
from tfx_bsl.tfxio import tf_example_record, tf_sequence_example_record

from yt8m.components.transform.preprocessing import preprocessing_fn
from yt8m.schemas.config_tree import to_dict
from yt8m.schemas.features import FeatureConfig, Level
from yt8m.schemas.load import load_schema


def make_transform_graph(
    pattern: str, out: Path, *, level: Level, features: FeatureConfig, function: str = ""
) -> Path:
    """The directory that TFX's Transform would publish as `transform_graph`."""
    schema = load_schema(level, features)
    kind = (
        tf_sequence_example_record.TFSequenceExampleRecord
        if level.is_sequence
        else tf_example_record.TFExampleRecord
    )
    records = kind(pattern, schema=schema, telemetry_descriptors=["test"])
    fn = functools.partial(
        preprocessing_fn,
        custom_config={
            "level": level.value,
            "features": to_dict(features),
            "config": {"function": function},
        },
    )
    with beam.Pipeline() as pipeline, tft_beam.Context(temp_dir=str(out / "temporary")):
        data = pipeline | records.BeamSource()
        transform_fn = (data, records.TensorAdapterConfig()) | tft_beam.AnalyzeDataset(fn)
        _ = transform_fn | tft_beam.WriteTransformFn(str(out / "graph"))
    return out / "graph"
