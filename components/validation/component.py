"""The declarations of SchemaGen, StatisticsGen and ValidationGate; ExampleValidator is TFX's."""

from __future__ import annotations

import json

from google.protobuf import text_format
from tfx.types import standard_artifacts

from yt8m.components.declaration import Input, Output, Step
from yt8m.components.validation.config import ValidationConfig
from yt8m.components.validation.executor import SchemaGenExecutor, ValidationGateExecutor
from yt8m.components.validation.statistics import statistics_options
from yt8m.components.validation.statistics_executor import StatisticsGenExecutor
from yt8m.schemas.features import FeatureConfig, Level
from yt8m.schemas.load import load_schema


class SchemaGen(Step, executor=SchemaGenExecutor):
    """Outputs the curated `schema`. TFX's importer wants a file, whose path differs in an image."""

    # A tf.Metadata schema as protobuf text, so that TFX's cache sees its content.
    curated_schema: str

    schema = Output(standard_artifacts.Schema)


def create_schema_gen(level: Level, features: FeatureConfig) -> SchemaGen:
    """Create the step for records of `level` that hold `features`."""
    return SchemaGen(curated_schema=text_format.MessageToString(load_schema(level, features)))


def _options_json() -> str:
    fields = json.loads(statistics_options().to_json())
    # Read back field by field: TFX 1.16 misses this one in what TFX 1.21 has compiled.
    fields.setdefault("_slice_sqls", None)
    return json.dumps(fields, sort_keys=True)  # the same text, whichever of them compiles


class StatisticsGen(Step, executor=StatisticsGenExecutor):
    """TFX's StatisticsGen, which needs no Beam pipeline for what one process can do.

    The schema says that labels are categories. Distinct values are counted in sketches of bounded
    size: up to 5,000 classes and 16,384 ids exactly, more ids by an estimate.
    """

    stats_options_json: str = _options_json()  # as TFX's executor names it
    examples: Input[standard_artifacts.Examples]
    schema: Input[standard_artifacts.Schema]

    statistics = Output(standard_artifacts.ExampleStatistics)


class ValidationGate(Step, executor=ValidationGateExecutor):
    """Fails where ExampleValidator only records; nothing after it runs on bad data.

    Put it upstream of Trainer and Transform with `add_upstream_node`.
    """

    config: ValidationConfig
    statistics: Input[standard_artifacts.ExampleStatistics]
    schema: Input[standard_artifacts.Schema]
    anomalies: Input[standard_artifacts.ExampleAnomalies]
    # The model whose data's statistics drift is measured against.
    baseline: Input[standard_artifacts.Model] | None = None

    validation = Output(standard_artifacts.ExampleAnomalies)
