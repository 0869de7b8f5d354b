"""The evaluation artifact as TFMA reads it: metrics, validation and configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import tensorflow_model_analysis as tfma
from google.protobuf import json_format, wrappers_pb2
from tensorflow_model_analysis.metrics import metric_types
from tensorflow_model_analysis.proto import (
    config_pb2,
    metrics_for_slice_pb2,
    validation_result_pb2,
)
from tensorflow_model_analysis.writers import metrics_plots_and_validations_writer as writer

from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.artifacts.evaluation import SliceMetrics
from yt8m.components.evaluator.tfma_gate import SliceKey, metrics_of, model_names
from yt8m.components.records.tfrecord import frame
from yt8m.components.storage import files

METRICS_FILE = "metrics-00000-of-00001.tfrecord"
VALIDATION_FILE = "validations.tfrecord"
CONFIG_FILE = "eval_config.json"

StockMetrics = Mapping[SliceKey, metrics_for_slice_pb2.MetricsForSlice]


def write_metrics(
    uri: str, parts: Iterable[tuple[SliceKey, SliceMetrics]], stock: StockMetrics | None = None
) -> None:
    """One record a slice; where there are intervals, TFMA shows the value with its bounds."""
    records = []
    for key, part in parts:
        values: dict[metric_types.MetricKey, Any] = {**metrics_of(part), **_bounded(part)}
        record = writer.convert_slice_metrics_to_proto((key, values), None)
        if stock and key in stock:
            record.metric_keys_and_values.extend(stock[key].metric_keys_and_values)
        records.append(record)
    _write_records(files.join(uri, METRICS_FILE), records)


def write_validation(uri: str, verdict: validation_result_pb2.ValidationResult) -> None:
    """TFMA's verdict."""
    _write_records(files.join(uri, VALIDATION_FILE), [verdict])


def write_eval_config(
    uri: str, config: config_pb2.EvalConfig, *, data: str, models: Mapping[str, str]
) -> None:
    """What was evaluated: configuration, data, models by name."""
    run = config_pb2.EvalRun(
        eval_config=config,
        version=tfma.__version__,
        data_location=data,
        file_format="tfrecords",
        model_locations=models,
    )
    files.write_text(files.join(uri, CONFIG_FILE), json_format.MessageToJson(run))


def _bounded(
    part: SliceMetrics,
) -> dict[metric_types.MetricKey, metrics_for_slice_pb2.BoundedValue]:
    candidate = model_names(bool(part.baseline))[0]
    rows = [(part.candidate, candidate, False), (part.difference, candidate, True)]
    if part.baseline:
        rows.append((part.baseline, tfma.BASELINE_KEY, False))
    return {
        metric_types.MetricKey(
            name=name, model_name=model, example_weighted=None, is_diff=is_diff
        ): _bounded_value(estimate)
        for estimates, model, is_diff in rows
        for name, estimate in estimates.items()
        if estimate.lower is not None and estimate.upper is not None
    }


def _bounded_value(estimate: Estimate) -> metrics_for_slice_pb2.BoundedValue:
    return metrics_for_slice_pb2.BoundedValue(
        value=wrappers_pb2.DoubleValue(value=estimate.value),
        lower_bound=wrappers_pb2.DoubleValue(value=estimate.lower),
        upper_bound=wrappers_pb2.DoubleValue(value=estimate.upper),
    )


def _write_records(uri: str, messages: Sequence[Any]) -> None:
    files.write_bytes(uri, b"".join(frame(m.SerializeToString()) for m in messages))
