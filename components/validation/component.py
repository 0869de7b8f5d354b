"""The declarations of SchemaGen, StatisticsGen and ValidationGate, and TFX's ExampleValidator."""

from __future__ import annotations

from tfx import types
from tfx.components import ExampleValidator
from tfx.dsl.components.base import base_beam_component, base_component, executor_spec
from tfx.types import standard_artifacts

from yt8m.components.declaration import Declaration, channels, parameters
from yt8m.components.validation.config import ValidationConfig
from yt8m.components.validation.executor import SchemaGenExecutor, ValidationGateExecutor
from yt8m.components.validation.statistics import statistics_options
from yt8m.components.validation.statistics_executor import StatisticsGenExecutor
from yt8m.schemas.code_digest import code_digest
from yt8m.schemas.config_tree import to_parameter
from yt8m.schemas.features import FeatureConfig, Level

_EXECUTORS = SchemaGenExecutor.__module__


class SchemaGenSpec(Declaration):
    """What passes in and out."""

    PARAMETERS = parameters("level", "features", "code_version")
    INPUTS = channels()
    OUTPUTS = channels(schema=standard_artifacts.Schema)


class SchemaGen(base_component.BaseComponent):
    """Outputs the curated `schema`. TFX's importer wants a file, whose path differs in an image."""

    SPEC_CLASS = SchemaGenSpec
    EXECUTOR_SPEC = executor_spec.ExecutorClassSpec(SchemaGenExecutor)

    def __init__(self, level: Level, features: FeatureConfig) -> None:
        """The curated schema for records of `level`."""
        super().__init__(
            SchemaGenSpec(
                level=level.value,
                features=to_parameter(features),
                code_version=_schema_version(level),
            )
        )


class StatisticsGenSpec(Declaration):
    """What passes in and out, by the names that TFX's executor knows."""

    PARAMETERS = parameters("stats_options_json", "code_version")
    INPUTS = channels(examples=standard_artifacts.Examples, schema=standard_artifacts.Schema)
    OUTPUTS = channels(statistics=standard_artifacts.ExampleStatistics)


class StatisticsGen(base_beam_component.BaseBeamComponent):
    """TFX's StatisticsGen, which needs no Beam pipeline for what one process can do."""

    SPEC_CLASS = StatisticsGenSpec
    EXECUTOR_SPEC = executor_spec.BeamExecutorSpec(StatisticsGenExecutor)

    def __init__(self, sample: types.BaseChannel, schema: types.BaseChannel) -> None:
        """Of `sample`; the schema says that labels are categories.

        Distinct values are counted in sketches, whose size is bounded: up to 5,000 classes and
        16,384 ids exactly, of more ids there is an estimate.
        """
        options = statistics_options()
        # Read back field by field: TFX 1.16 misses this one in what TFX 1.21 has compiled.
        vars(options).setdefault("_slice_sqls", None)
        super().__init__(
            StatisticsGenSpec(
                stats_options_json=options.to_json(),
                code_version=code_digest(StatisticsGenExecutor.__module__),
                examples=sample,
                schema=schema,
            )
        )


class ValidationGateSpec(Declaration):
    """What passes in and out."""

    PARAMETERS = parameters("config", "code_version")
    INPUTS = channels(
        statistics=standard_artifacts.ExampleStatistics,
        schema=standard_artifacts.Schema,
        anomalies=standard_artifacts.ExampleAnomalies,
    ) | channels(optional=True, baseline=standard_artifacts.Model)
    OUTPUTS = channels(validation=standard_artifacts.ExampleAnomalies)


class ValidationGate(base_component.BaseComponent):
    """Fails where ExampleValidator only records; nothing after it runs on bad data."""

    SPEC_CLASS = ValidationGateSpec
    EXECUTOR_SPEC = executor_spec.ExecutorClassSpec(ValidationGateExecutor)

    def __init__(
        self,
        config: ValidationConfig,
        *,
        statistics: types.BaseChannel,
        schema: types.BaseChannel,
        anomalies: types.BaseChannel,
        baseline: types.BaseChannel | None = None,
    ) -> None:
        """`baseline` is the model whose data's statistics drift is measured against.

        Put it upstream of Trainer and Transform with `add_upstream_node`.
        """
        super().__init__(
            ValidationGateSpec(
                config=to_parameter(config),
                code_version=code_digest(_EXECUTORS),
                statistics=statistics,
                schema=schema,
                anomalies=anomalies,
                baseline=baseline,
            )
        )


def create_example_validator(
    statistics: types.BaseChannel, schema: types.BaseChannel
) -> ExampleValidator:
    """Anomalies of the statistics against the schema."""
    return ExampleValidator(statistics=statistics, schema=schema)


def _schema_version(level: Level) -> str:
    """Of the code and of the curated text, which is data and not code."""
    import hashlib

    from yt8m.schemas.load import load_schema

    content = load_schema(level).SerializeToString(deterministic=True)
    return f"{code_digest(_EXECUTORS)}-{hashlib.sha256(content).hexdigest()[:8]}"
