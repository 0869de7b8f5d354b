"""The declarations of SchemaGen and ValidationGate, and the stock components between them."""

from __future__ import annotations

import json

import tensorflow_data_validation as tfdv
from tfx import types
from tfx.components import ExampleValidator, StatisticsGen
from tfx.dsl.components.base import base_component, executor_spec
from tfx.types import component_spec, standard_artifacts

from yt8m.components.validation.config import ValidationConfig
from yt8m.components.validation.executor import SchemaGenExecutor, ValidationGateExecutor
from yt8m.schemas.code_version import code_version
from yt8m.schemas.config_tree import to_dict
from yt8m.schemas.features import FeatureConfig, Level

_EXECUTORS = SchemaGenExecutor.__module__
# Bins run from a sample's smallest value to its largest, so no two samples have the same ones.
# With TFDV's 10 that alone put samples of one distribution 0.03 apart, of whatever size.
_BINS = 100
_RANKED = 5000  # labels that are counted by class; the published vocabulary has 3,862


class SchemaGenSpec(component_spec.ComponentSpec):
    """What passes in and out."""

    PARAMETERS = {  # noqa: RUF012  (TFX's way)
        "level": component_spec.ExecutionParameter(type=str),
        "features": component_spec.ExecutionParameter(type=str),
        "code_version": component_spec.ExecutionParameter(type=str),
    }
    INPUTS: dict[str, component_spec.ChannelParameter] = {}  # noqa: RUF012
    OUTPUTS = {  # noqa: RUF012
        "schema": component_spec.ChannelParameter(type=standard_artifacts.Schema),
    }


class SchemaGen(base_component.BaseComponent):
    """Outputs the curated `schema`. TFX's importer wants a file, whose path differs in an image."""

    SPEC_CLASS = SchemaGenSpec
    EXECUTOR_SPEC = executor_spec.ExecutorClassSpec(SchemaGenExecutor)

    def __init__(self, level: Level, features: FeatureConfig) -> None:
        """The curated schema for records of `level`."""
        super().__init__(
            SchemaGenSpec(
                level=level.value,
                features=json.dumps(to_dict(features), sort_keys=True),
                code_version=_schema_version(level),
                schema=types.Channel(type=standard_artifacts.Schema),
            )
        )


class ValidationGateSpec(component_spec.ComponentSpec):
    """What passes in and out."""

    PARAMETERS = {  # noqa: RUF012
        "config": component_spec.ExecutionParameter(type=str),
        "code_version": component_spec.ExecutionParameter(type=str),
    }
    INPUTS = {  # noqa: RUF012
        "statistics": component_spec.ChannelParameter(type=standard_artifacts.ExampleStatistics),
        "schema": component_spec.ChannelParameter(type=standard_artifacts.Schema),
        "anomalies": component_spec.ChannelParameter(type=standard_artifacts.ExampleAnomalies),
        "baseline": component_spec.ChannelParameter(type=standard_artifacts.Model, optional=True),
    }
    OUTPUTS = {  # noqa: RUF012
        "validation": component_spec.ChannelParameter(type=standard_artifacts.ExampleAnomalies),
    }


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
                config=json.dumps(to_dict(config), sort_keys=True),
                code_version=code_version(_EXECUTORS),
                statistics=statistics,
                schema=schema,
                anomalies=anomalies,
                baseline=baseline,
                validation=types.Channel(type=standard_artifacts.ExampleAnomalies),
            )
        )


def create_statistics_gen(sample: types.BaseChannel, schema: types.BaseChannel) -> StatisticsGen:
    """Statistics of the bounded sample; the schema says that labels are categories."""
    options = tfdv.StatsOptions(num_histogram_buckets=_BINS, num_rank_histogram_buckets=_RANKED)
    return StatisticsGen(examples=sample, schema=schema, stats_options=options)


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
    return f"{code_version(_EXECUTORS)}-{hashlib.sha256(content).hexdigest()[:8]}"
