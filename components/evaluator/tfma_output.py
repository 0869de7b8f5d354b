"""The evaluation artifact as TFMA reads it: metrics, plots, validation and configuration."""

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

from yt8m.components import storage
from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.artifacts.evaluation import Evaluation, SliceMetrics
from yt8m.components.evaluator.score_table import BASELINE, CANDIDATE
from yt8m.components.evaluator.tfma_gate import SliceKey, metrics_of, model_names
from yt8m.components.metrics.curves import CalibrationBin, CurvePoint
from yt8m.components.records.tfrecord import frame

METRICS_FILE = "metrics-00000-of-00001.tfrecord"
PLOTS_FILE = "plots-00000-of-00001.tfrecord"
VALIDATION_FILE = "validations.tfrecord"
CONFIG_FILE = "eval_config.json"

UserMetrics = Mapping[SliceKey, metrics_for_slice_pb2.MetricsForSlice]
UserPlots = Mapping[SliceKey, metrics_for_slice_pb2.PlotsForSlice]


def write_metrics(
    uri: str,
    parts: Iterable[tuple[SliceKey, SliceMetrics]],
    user_metrics: UserMetrics | None = None,
) -> None:
    """One record a slice; where there are intervals, TFMA shows the value with its bounds."""
    records = []
    for key, part in parts:
        values: dict[metric_types.MetricKey, Any] = {**metrics_of(part), **_bounded(part)}
        record = writer.convert_slice_metrics_to_proto((key, values), None)
        if user_metrics and key in user_metrics:
            record.metric_keys_and_values.extend(user_metrics[key].metric_keys_and_values)
        records.append(record)
    _write_records(storage.join(uri, METRICS_FILE), records)


def write_plots(uri: str, evaluation: Evaluation, user_plots: UserPlots) -> None:
    """Calibration, precision and recall of the pooled predictions on all data, as in the report.

    `user_plots` are those of the user's own eval config, which may be of slices too.
    """
    by_slice = {key: _copy(plots) for key, plots in user_plots.items()}
    if evaluation.calibration:
        overall = by_slice.setdefault((), writer.convert_slice_plots_to_proto(((), {}), None))
        _add_ours(overall, evaluation)
    _write_records(storage.join(uri, PLOTS_FILE), by_slice.values())


def write_validation(uri: str, verdict: validation_result_pb2.ValidationResult) -> None:
    """TFMA's verdict."""
    _write_records(storage.join(uri, VALIDATION_FILE), [verdict])


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
    storage.write_text(storage.join(uri, CONFIG_FILE), json_format.MessageToJson(run))


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


def _write_records(uri: str, messages: Iterable[Any]) -> None:
    storage.write_bytes(uri, b"".join(frame(m.SerializeToString()) for m in messages))


def _copy(plots: metrics_for_slice_pb2.PlotsForSlice) -> metrics_for_slice_pb2.PlotsForSlice:
    copied = metrics_for_slice_pb2.PlotsForSlice()
    copied.CopyFrom(plots)
    return copied


def _add_ours(plots: metrics_for_slice_pb2.PlotsForSlice, evaluation: Evaluation) -> None:
    has_baseline = BASELINE in evaluation.calibration
    names: dict[str, str] = dict(
        zip((CANDIDATE, BASELINE), model_names(has_baseline), strict=False)
    )
    positives = sum(found.positives for found in evaluation.classes)
    for model, bins in evaluation.calibration.items():
        added = plots.plot_keys_and_values.add()
        added.key.model_name = names[model]
        added.value.calibration_histogram_buckets.CopyFrom(_buckets(bins))
        points = evaluation.precision_recall[model]
        added.value.confusion_matrix_at_thresholds.CopyFrom(_matrices(points, bins, positives))


def _buckets(bins: Sequence[CalibrationBin]) -> metrics_for_slice_pb2.CalibrationHistogramBuckets:
    histogram = metrics_for_slice_pb2.CalibrationHistogramBuckets()
    for part in bins:
        bucket = histogram.buckets.add(
            lower_threshold_inclusive=part.low, upper_threshold_exclusive=part.high
        )
        bucket.num_weighted_examples.value = part.count
        bucket.total_weighted_label.value = part.count * (part.hit_rate or 0.0)
        bucket.total_weighted_refined_prediction.value = part.count * (part.mean_score or 0.0)
    return histogram


def _matrices(
    points: Sequence[CurvePoint], bins: Sequence[CalibrationBin], positives: int
) -> metrics_for_slice_pb2.ConfusionMatrixAtThresholds:
    """By rising threshold. Positives outside the top k are false negatives everywhere."""
    predictions = sum(part.count for part in bins)
    hits = round(sum(part.count * (part.hit_rate or 0.0) for part in bins))
    matrices = metrics_for_slice_pb2.ConfusionMatrixAtThresholds()
    for point in reversed(points):
        good = round(point.recall * positives)
        bad = round(good / point.precision) - good
        matrices.matrices.add(
            threshold=point.score,
            true_positives=good,
            false_positives=bad,
            false_negatives=positives - good,
            true_negatives=predictions - hits - bad,
            precision=point.precision,
            recall=point.recall,
        )
    return matrices
