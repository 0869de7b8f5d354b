"""The gate in TFMA's terms: an EvalConfig with its thresholds, and TFMA's own validator.

An empty SlicingSpec limits a threshold to all data; without one TFMA would check it on every slice.

TFMA compares plain numbers, so each slice of the data has these: `gap`, `map`, `perr`, `hit_at_1`,
`loss`, `example_count`; bounds of each metric's interval as `gap_lower` and `gap_upper`, of the
paired difference as `gap_diff_lower` and `gap_diff_upper`, and of the difference relative to the
baseline's value as `gap_relative_diff_lower` and `..._upper`; `map_lower` and so on likewise. What
is undefined is NaN, which passes no threshold.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

import tensorflow_model_analysis as tfma
from tensorflow_model_analysis.evaluators import metrics_validator
from tensorflow_model_analysis.metrics import metric_types
from tensorflow_model_analysis.proto import config_pb2, validation_result_pb2
from tensorflow_model_analysis.writers import metrics_plots_and_validations_writer as writer

from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.artifacts.evaluation import Evaluation, SliceMetrics
from yt8m.components.evaluator.config import SliceConfig
from yt8m.components.evaluator.thresholds import EXAMPLE_COUNT, GateLimit, LimitKind

SliceKey = tuple[tuple[str, str], ...]
Metrics = dict[metric_types.MetricKey, float]


def create_eval_config(
    limits: Sequence[GateLimit],
    slices: Sequence[SliceConfig],
    *,
    has_baseline: bool,
    more: config_pb2.EvalConfig | None = None,
) -> config_pb2.EvalConfig:
    """What is validated and recorded; `more` are the user's own metrics and thresholds."""
    config = config_pb2.EvalConfig()
    names = model_names(has_baseline)
    for name in names:
        config.model_specs.add(name=name, is_baseline=name == tfma.BASELINE_KEY)
    config.slicing_specs.add()
    for part in slices:
        config.slicing_specs.add(feature_keys=[part.column])
    spec = config.metrics_specs.add(model_names=names)
    by_number: dict[str, list[GateLimit]] = defaultdict(list)
    for limit in limits:
        if has_baseline or not limit.needs_baseline:
            by_number[limit.number].append(limit)
    for number, of_number in by_number.items():
        spec.per_slice_thresholds[number].thresholds.extend(
            _threshold(limit) for limit in of_number
        )
    if more is not None:
        config.metrics_specs.extend(more.metrics_specs)
    return config


def model_names(has_baseline: bool) -> list[str]:
    """TFMA calls a model that is alone by the empty name."""
    return [tfma.CANDIDATE_KEY, tfma.BASELINE_KEY] if has_baseline else [""]


def _threshold(limit: GateLimit) -> config_pb2.PerSliceMetricThreshold:
    column, _, value = limit.slice.partition("=")
    slicing = (
        config_pb2.SlicingSpec(feature_values={column: value})
        if column
        else config_pb2.SlicingSpec()
    )
    return config_pb2.PerSliceMetricThreshold(
        slicing_specs=[slicing],
        threshold=_change(limit) if limit.is_change else _value(limit),
    )


def _value(limit: GateLimit) -> config_pb2.MetricThreshold:
    bound = {"value": limit.limit}
    if limit.kind is LimitKind.AT_MOST:
        return config_pb2.MetricThreshold(
            value_threshold=config_pb2.GenericValueThreshold(upper_bound=bound)
        )
    return config_pb2.MetricThreshold(
        value_threshold=config_pb2.GenericValueThreshold(lower_bound=bound)
    )


def _change(limit: GateLimit) -> config_pb2.MetricThreshold:
    upper = limit.kind is LimitKind.CHANGE_AT_MOST
    direction = (
        config_pb2.MetricDirection.LOWER_IS_BETTER
        if upper
        else config_pb2.MetricDirection.HIGHER_IS_BETTER
    )
    field = "relative" if limit.kind is LimitKind.RELATIVE_CHANGE_AT_LEAST else "absolute"
    threshold = config_pb2.GenericChangeThreshold(
        direction=direction, **{field: {"value": limit.limit}}
    )
    return config_pb2.MetricThreshold(change_threshold=threshold)


def parts_of(evaluation: Evaluation) -> list[tuple[SliceKey, SliceMetrics]]:
    """All data and every slice, by TFMA's key."""
    slices = [(((p.column, p.value),), p) for p in evaluation.slices]
    return [((), evaluation.overall), *slices]


def metrics_of(part: SliceMetrics) -> Metrics:
    """The part's plain numbers by TFMA's keys."""
    has_baseline = bool(part.baseline)
    candidate = model_names(has_baseline)[0]
    metrics = {_key(name, candidate): v for name, v in candidate_numbers(part).items()}
    if has_baseline:
        for name, value in baseline_numbers(part).items():
            metrics[_key(name, tfma.BASELINE_KEY)] = value
        for name, value in difference_numbers(part).items():
            metrics[_key(name, candidate).make_diff_key()] = value
    return metrics


def _key(name: str, model: str) -> metric_types.MetricKey:
    return metric_types.MetricKey(name=name, model_name=model, example_weighted=None)


def validate(
    parts: Iterable[tuple[SliceKey, Metrics]], config: config_pb2.EvalConfig, *, rubber_stamp: bool
) -> validation_result_pb2.ValidationResult:
    """TFMA's verdict on all parts together."""
    combine = writer.CombineValidations(config, rubber_stamp=rubber_stamp)
    verdict = combine.create_accumulator()
    for part in parts:
        verdict = combine.add_input(verdict, metrics_validator.validate_metrics(part, config))
    return combine.extract_output(verdict)


def candidate_numbers(part: SliceMetrics) -> dict[str, float]:
    """All numbers of the candidate."""
    numbers = _model_numbers(part.candidate, part.examples)
    for name, difference in part.difference.items():
        theirs = _number(part.baseline[name].value)
        for side, bound in _bounds(difference):
            numbers[f"{name}_diff_{side}"] = bound
            numbers[f"{name}_relative_diff_{side}"] = bound / theirs if theirs > 0 else math.nan
    return numbers


def baseline_numbers(part: SliceMetrics) -> dict[str, float]:
    """The numbers of the baseline; none without one."""
    return _model_numbers(part.baseline, part.examples) if part.baseline else {}


def difference_numbers(part: SliceMetrics) -> dict[str, float]:
    """Candidate minus baseline, by metric; none without a baseline."""
    ours, theirs = candidate_numbers(part), baseline_numbers(part)
    return {name: ours[name] - theirs[name] for name in theirs}


def _model_numbers(estimates: dict[str, Estimate], examples: int) -> dict[str, float]:
    numbers = {name: _number(estimate.value) for name, estimate in estimates.items()}
    for name, estimate in estimates.items():
        numbers |= {f"{name}_{side}": bound for side, bound in _bounds(estimate)}
    numbers[EXAMPLE_COUNT] = float(examples)
    return numbers


def _bounds(estimate: Estimate) -> list[tuple[str, float]]:
    return [("lower", _number(estimate.lower)), ("upper", _number(estimate.upper))]


def _number(value: float | None) -> float:
    return math.nan if value is None else value
