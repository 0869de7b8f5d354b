"""The evaluation artifact as TFMA reads it: metrics, plots, validation and configuration.

TFMA's files are written from the evaluation and the decision. Metrics have their names and, where
there is one, their interval as a BoundedValue; what is undefined is NaN. TFMA has no word for a
limit on an interval's bound: such a limit is written as one on the value, and a failure of it
says in its message what was compared. It has no word for a second baseline either: a limit on the
change from the champion is no threshold, and its failure is one of a change.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import tensorflow_model_analysis as tfma
from google.protobuf import json_format
from tensorflow_model_analysis.proto import (
    config_pb2,
    metrics_for_slice_pb2,
    validation_result_pb2,
)

from yt8m.components import storage
from yt8m.components.artifacts.decision import Check, Decision, GateMode
from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.artifacts.evaluation import Evaluation, SliceMetrics
from yt8m.components.evaluator.config import SliceConfig
from yt8m.components.evaluator.gate import EXAMPLE_COUNT, GateLimit, Quantity
from yt8m.components.evaluator.score_table import BASELINE, CANDIDATE
from yt8m.components.metrics.curves import CalibrationBin, CurvePoint
from yt8m.components.records.tfrecord import frame

METRICS_FILE = "metrics-00000-of-00001.tfrecord"
PLOTS_FILE = "plots-00000-of-00001.tfrecord"
VALIDATION_FILE = "validations.tfrecord"
CONFIG_FILE = "eval_config.json"

UserMetrics = Mapping[str, metrics_for_slice_pb2.MetricsForSlice]  # by the slice's name
UserPlots = Mapping[str, metrics_for_slice_pb2.PlotsForSlice]


def model_names(has_baseline: bool) -> list[str]:
    """TFMA's names of the models; it calls a model that is alone by the empty name."""
    return [tfma.CANDIDATE_KEY, tfma.BASELINE_KEY] if has_baseline else [""]


def slice_name(key: metrics_for_slice_pb2.SliceKey) -> str:
    """The slice's name as `SliceMetrics.name`."""
    return ",".join(f"{k.column}={k.bytes_value.decode()}" for k in key.single_slice_keys)


def metrics_records(
    evaluation: Evaluation, user_metrics: UserMetrics
) -> list[metrics_for_slice_pb2.MetricsForSlice]:
    """One record a slice: our metrics, then the user's."""
    return [_metrics_record(part, user_metrics.get(part.name)) for part in evaluation.parts]


def _metrics_record(
    part: SliceMetrics, users: metrics_for_slice_pb2.MetricsForSlice | None
) -> metrics_for_slice_pb2.MetricsForSlice:
    record = metrics_for_slice_pb2.MetricsForSlice(slice_key=_slice_key(part))
    models = zip(model_names(bool(part.baseline)), (part.candidate, part.baseline), strict=False)
    for name, estimates in models:
        _add_metrics(record, _values(estimates, part), model_name=name)
    _add_metrics(record, part.difference, model_name=tfma.CANDIDATE_KEY, is_diff=True)
    if users is not None:
        record.metric_keys_and_values.extend(users.metric_keys_and_values)
    return record


def _values(estimates: Mapping[str, Estimate], part: SliceMetrics) -> dict[str, Estimate]:
    """A model's estimates, and the number of examples, which TFMA's views size their bars by."""
    return {**estimates, EXAMPLE_COUNT: Estimate(value=float(part.examples))}


def _slice_key(part: SliceMetrics) -> metrics_for_slice_pb2.SliceKey:
    key = metrics_for_slice_pb2.SliceKey()
    if part.column:
        key.single_slice_keys.add(column=part.column, bytes_value=part.value.encode())
    return key


def _add_metrics(
    record: metrics_for_slice_pb2.MetricsForSlice, estimates: Mapping[str, Estimate], **key: Any
) -> None:
    for name, estimate in estimates.items():
        added = record.metric_keys_and_values.add(key={"name": name, **key})
        if estimate.lower is None or estimate.upper is None:
            value = math.nan if estimate.value is None else estimate.value
            added.value.double_value.value = value
        else:
            added.value.bounded_value.value.value = estimate.value
            added.value.bounded_value.lower_bound.value = estimate.lower
            added.value.bounded_value.upper_bound.value = estimate.upper


def create_eval_config(
    limits: Sequence[GateLimit],
    slices: Sequence[SliceConfig],
    *,
    has_baseline: bool,
    users: config_pb2.EvalConfig | None,
) -> config_pb2.EvalConfig:
    """The limits that apply, as TFMA's thresholds, and the metrics of the user's own config."""
    config = config_pb2.EvalConfig()
    names = model_names(has_baseline)
    for name in names:
        config.model_specs.add(name=name, is_baseline=name == tfma.BASELINE_KEY)
    config.slicing_specs.add()
    for part in slices:
        config.slicing_specs.add(feature_keys=[part.column])
    spec = config.metrics_specs.add(model_names=names)
    for limit in limits:
        if (has_baseline or not limit.needs_baseline) and not limit.needs_champion:
            # TFMA checks a threshold without a slicing spec on every slice.
            spec.per_slice_thresholds[limit.metric].thresholds.add(
                slicing_specs=[_slicing_spec(limit)], threshold=_threshold(limit)
            )
    if users is not None:
        config.metrics_specs.extend(users.metrics_specs)
    return config


def _slicing_spec(limit: GateLimit) -> config_pb2.SlicingSpec:
    column, _, value = limit.slice.partition("=")
    return config_pb2.SlicingSpec(feature_values={column: value} if column else {})


def _threshold(limit: GateLimit) -> config_pb2.MetricThreshold:
    bound = {"value": limit.bound}
    if limit.quantity is Quantity.VALUE:
        side = {"upper_bound" if limit.is_maximum else "lower_bound": bound}
        return config_pb2.MetricThreshold(value_threshold=side)
    direction = config_pb2.MetricDirection
    change = {
        "direction": direction.LOWER_IS_BETTER if limit.is_maximum else direction.HIGHER_IS_BETTER,
        "relative" if limit.quantity is Quantity.RELATIVE_CHANGE else "absolute": bound,
    }
    return config_pb2.MetricThreshold(change_threshold=change)


def create_validation(
    evaluation: Evaluation,
    limits: Sequence[GateLimit],
    decision: Decision,
    users: validation_result_pb2.ValidationResult,
) -> validation_result_pb2.ValidationResult:
    """The decision in TFMA's terms; `users` is TFMA's verdict on the user's own config."""
    result = validation_result_pb2.ValidationResult()
    result.CopyFrom(users)
    result.validation_ok = decision.blessed
    result.rubber_stamp = decision.mode is GateMode.NONE
    parts = {part.name: part for part in evaluation.parts}
    slices = {slice_name(v.slice_key): v for v in result.metric_validations_per_slice}
    for limit, check in zip(limits, decision.checks, strict=False):  # the user's follow ours
        spec = _slicing_spec(limit)
        if not check.applied:
            continue
        if limit.slice not in parts:
            if spec not in result.missing_slices:
                result.missing_slices.append(spec)
            continue
        details = result.validation_details.slicing_details
        if spec not in [one.slicing_spec for one in details]:
            details.add(slicing_spec=spec, num_matching_slices=1)
        if not check.passed:
            part = parts[limit.slice]
            if limit.slice not in slices:
                slices[limit.slice] = result.metric_validations_per_slice.add(
                    slice_key=_slice_key(part)
                )
            slices[limit.slice].failures.append(_failure(limit, check, part))
    return result


def _failure(
    limit: GateLimit, check: Check, part: SliceMetrics
) -> validation_result_pb2.ValidationFailure:
    is_change = limit.needs_baseline or limit.needs_champion
    changes = part.champion_difference if limit.needs_champion else part.difference
    estimates = changes if is_change else _values(part.candidate, part)
    value = estimates.get(limit.metric, Estimate()).value
    observed = "undefined" if check.observed is None else f"{check.observed:.6g}"
    return validation_result_pb2.ValidationFailure(
        metric_key={
            "name": limit.metric,
            "model_name": model_names(bool(part.baseline))[0],
            "is_diff": is_change,
        },
        metric_threshold=_threshold(limit),
        metric_value={"double_value": {"value": math.nan if value is None else value}},
        message=f"{check.needed} is needed, it is {observed}",
    )


def write_metrics(uri: str, records: Iterable[metrics_for_slice_pb2.MetricsForSlice]) -> None:
    """Write one record a slice."""
    _write_records(storage.join(uri, METRICS_FILE), records)


def write_validation(uri: str, verdict: validation_result_pb2.ValidationResult) -> None:
    """Write the decision."""
    _write_records(storage.join(uri, VALIDATION_FILE), [verdict])


def write_eval_config(
    uri: str, config: config_pb2.EvalConfig, *, data: str, models: Sequence[str]
) -> None:
    """Write what was evaluated: configuration, data, models."""
    run = config_pb2.EvalRun(
        eval_config=config,
        version=tfma.__version__,
        data_location=data,
        file_format="tfrecords",
        model_locations=dict(zip(model_names(len(models) > 1), models, strict=True)),
    )
    storage.write_text(storage.join(uri, CONFIG_FILE), json_format.MessageToJson(run))


def write_plots(uri: str, evaluation: Evaluation, user_plots: UserPlots) -> None:
    """Calibration, precision and recall of the pooled predictions on all data, as in the report.

    `user_plots` are those of the user's own eval config, which may be of slices too.
    """
    by_slice = {key: _copy(plots) for key, plots in user_plots.items()}
    if evaluation.calibration:
        overall = by_slice.setdefault(
            "", metrics_for_slice_pb2.PlotsForSlice(slice_key=_slice_key(evaluation.overall))
        )
        _add_ours(overall, evaluation)
    _write_records(storage.join(uri, PLOTS_FILE), by_slice.values())


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
