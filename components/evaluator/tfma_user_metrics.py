"""The user's own eval config: metrics that TFMA computes, in the pass that scores the models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import apache_beam as beam
import numpy as np
import tensorflow_model_analysis as tfma
from google.protobuf import text_format
from tensorflow_model_analysis.evaluators import metrics_plots_and_validations_evaluator
from tensorflow_model_analysis.metrics import metric_specs, metric_types
from tensorflow_model_analysis.proto import (
    config_pb2,
    metrics_for_slice_pb2,
    validation_result_pb2,
)
from tensorflow_model_analysis.writers import metrics_plots_and_validations_writer as writer

from yt8m.components import storage
from yt8m.components.artifacts.decision import Check
from yt8m.components.artifacts.estimate import estimate_of, paired_difference
from yt8m.components.artifacts.evaluation import Evaluation, SliceMetrics
from yt8m.components.evaluator.config import EvaluatorConfig, GateConfig, SliceConfig
from yt8m.components.evaluator.gate import EXAMPLE_COUNT
from yt8m.components.evaluator.score_table import CANDIDATE, ScoreTable
from yt8m.components.evaluator.scoring import ScoredBatch
from yt8m.components.evaluator.slices import slices_of
from yt8m.components.evaluator.tfma_output import (
    UserMetrics,
    UserPlots,
    model_names,
    slice_name,
)
from yt8m.components.evaluator.thresholds import nearest
from yt8m.components.metrics.catalogue import MetricInfo, info_of
from yt8m.components.metrics.own import with_own
from yt8m.components.records.tfrecord import frame, read_records
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.own_code import missing_module
from yt8m.schemas.roles import own_modules
from yt8m.schemas.vocabulary import Vocabulary

_METRICS_FILE, _PLOTS_FILE = ".user-metrics.tfrecord", ".user-plots.tfrecord"
_VALIDATION_FILE = ".user-validation.tfrecord"


def parse_user_metrics(text: str, *, has_baseline: bool) -> config_pb2.EvalConfig | None:
    """The user's metrics for our models; None where there are none."""
    if not text.strip():
        return None
    try:
        config = text_format.Parse(text, config_pb2.EvalConfig())
    except text_format.ParseError as error:
        raise ConfigError(
            f"evaluator.eval_config: not a tfma.EvalConfig as protobuf text ({error})"
        ) from error
    given = [n for n in ("model_specs", "slicing_specs") if getattr(config, n)]
    if given or not config.metrics_specs:
        wrong = f"{' and '.join(given)} are set" if given else "there are no metrics_specs"
        raise ConfigError(
            f"evaluator.eval_config: {wrong}; it takes metrics_specs, while the models are the "
            "run's and slices come from evaluator.slices"
        )
    for name in model_names(has_baseline):
        config.model_specs.add(name=name, is_baseline=name == tfma.BASELINE_KEY)
    # Otherwise TFMA looks for metrics in the models themselves, which ours do not have.
    config.options.include_default_metrics.value = False
    return tfma.utils.update_eval_config_with_defaults(
        config, has_baseline=has_baseline, rubber_stamp=True
    )


def check_user_metrics(evaluator: EvaluatorConfig, gate: GateConfig) -> None:
    """ConfigError where the eval config is none, or a threshold names a metric that nobody adds."""
    config = parse_user_metrics(evaluator.eval_config, has_baseline=True)
    if config is None or any(missing_module(module) for module in own_modules(evaluator)):
        return
    ours = [m.name for m in with_own(evaluator.metrics, "evaluator.metrics")]
    computations = metric_specs.to_computations(config.metrics_specs, eval_config=config)
    keys = (key for computation in computations for key in computation.keys)
    users = {key.name for key in keys if not (key.sub_key or key.aggregation_type)}
    public = sorted(name for name in users if not name.startswith("_"))
    names = list(dict.fromkeys([*ours, EXAMPLE_COUNT, *public]))
    problems = [
        f"gate.thresholds[{i}].metric = {threshold.metric!r}: must be one of {', '.join(names)}"
        f"{nearest(threshold.metric, names)} (a metric by class takes its threshold in "
        "evaluator.eval_config)"
        for i, threshold in enumerate(gate.thresholds)
        if threshold.metric not in names
    ]
    if problems:
        raise ConfigError(problems)


@dataclass(frozen=True, kw_only=True)
class Extracts:
    """Examples with the slices that they are in."""

    slices: tuple[SliceConfig, ...]
    vocabulary: Vocabulary | None = None

    def of(self, batch: ScoredBatch, part: ScoreTable) -> Iterator[dict[str, Any]]:
        """The examples of `batch`, whose metrics are `part`; labels are multi-hot rows."""
        rows = len(batch.rows)
        keys: list[list[tuple[tuple[str, str], ...]]] = [[()] for _ in range(rows)]
        for part_slice in slices_of(part, self.slices, self.vocabulary):
            for row in np.flatnonzero(part_slice.chosen).tolist():
                keys[row].append(((part_slice.column, part_slice.value),))
        scores = {name: _weighted(values, batch) for name, values in batch.scores.items()}
        hot = np.zeros(scores[CANDIDATE].shape, np.float32)
        videos, columns = np.nonzero(batch.rows.labels >= 0)
        hot[videos, batch.rows.labels[videos, columns]] = 1.0
        for row in range(rows):
            yield {
                tfma.LABELS_KEY: _by_model(dict.fromkeys(scores, hot[row])),
                tfma.PREDICTIONS_KEY: _by_model(
                    {name: values[row] for name, values in scores.items()}
                ),
                tfma.SLICE_KEY_TYPES_KEY: keys[row],
            }


def _weighted(scores: np.ndarray, batch: ScoredBatch) -> np.ndarray:
    return scores if batch.label_weights is None else scores * batch.label_weights


def _by_model(values: dict[str, np.ndarray]) -> Any:
    """TFMA keys by model only where there are several."""
    return values if len(values) > 1 else values[CANDIDATE]


def add_user_metrics(
    examples: beam.PCollection, config: config_pb2.EvalConfig, evaluation_uri: str
) -> None:
    """Let TFMA compute and validate its metrics of `examples`, and keep them to be collected."""
    evaluator = metrics_plots_and_validations_evaluator.MetricsPlotsAndValidationsEvaluator(
        eval_config=config
    )
    evaluation = examples | "UserMetrics" >> evaluator.ptransform
    kept = [
        (_METRICS_FILE, evaluation[tfma.METRICS_KEY] | "Metrics" >> beam.Map(_metrics_proto)),
        (
            _VALIDATION_FILE,
            evaluation[tfma.VALIDATIONS_KEY]
            # A config without thresholds is no failure.
            | "Validation"
            >> beam.CombineGlobally(writer.CombineValidations(config, rubber_stamp=True)),
        ),
    ]
    if tfma.PLOTS_KEY in evaluation:
        kept.append((_PLOTS_FILE, evaluation[tfma.PLOTS_KEY] | "Plots" >> beam.Map(_plots_proto)))
    for name, messages in kept:
        _ = messages | f"Keep {name}" >> _Keep(storage.join(evaluation_uri, name))


def _metrics_proto(part: tuple[Any, Any]) -> metrics_for_slice_pb2.MetricsForSlice:
    return writer.convert_slice_metrics_to_proto(part, None)


def _plots_proto(part: tuple[Any, Any]) -> metrics_for_slice_pb2.PlotsForSlice:
    return writer.convert_slice_plots_to_proto(part, None)


class _Keep(beam.PTransform):
    """Writes all messages to one file."""

    def __init__(self, place: str) -> None:
        super().__init__()
        self._place = place

    def expand(self, messages: beam.PCollection) -> beam.PCollection:
        place = self._place
        return (
            messages
            | "AsBytes" >> beam.Map(lambda message: message.SerializeToString())
            | "Together" >> beam.combiners.ToList()
            | "Write"
            >> beam.Map(lambda rows: storage.write_bytes(place, b"".join(map(frame, rows))))
        )


@dataclass(frozen=True, kw_only=True)
class UserResults:
    """TFMA's results for the user's own config; empty without one."""

    metrics: UserMetrics
    plots: UserPlots
    validation: validation_result_pb2.ValidationResult


def collect_user_results(evaluation_uri: str) -> UserResults:
    """Read and remove the files that `add_user_metrics` left."""
    metrics = _collect(evaluation_uri, _METRICS_FILE, metrics_for_slice_pb2.MetricsForSlice)
    plots = _collect(evaluation_uri, _PLOTS_FILE, metrics_for_slice_pb2.PlotsForSlice)
    kind = validation_result_pb2.ValidationResult
    validations = _collect(evaluation_uri, _VALIDATION_FILE, kind)
    return UserResults(
        metrics={slice_name(message.slice_key): message for message in metrics},
        plots={slice_name(message.slice_key): message for message in plots},
        validation=validations[0] if validations else kind(),
    )


def _collect(evaluation_uri: str, name: str, kind: Any) -> list[Any]:
    place = storage.join(evaluation_uri, name)
    if not storage.exists(place):
        return []
    with storage.open_file(place) as file:
        messages = [kind.FromString(data) for _, data in read_records(file)]
    storage.remove(place)
    return messages


def with_user_metrics(evaluation: Evaluation, user_metrics: UserMetrics) -> Evaluation:
    """`evaluation` with those of TFMA's metrics that are one number of a model, without intervals.

    A metric of one class, or of k, is in TFMA's files alone.
    """
    by_part = {name: dict(_numbers(record)) for name, record in user_metrics.items()}
    names = dict.fromkeys(name for numbers in by_part.values() for _, name in numbers)
    known = {metric.name for metric in evaluation.metrics}
    added = tuple(info_of(name) for name in names if name not in known)
    overall, *slices = (
        _with_numbers(part, added, by_part.get(part.name, {})) for part in evaluation.parts
    )
    return replace(
        evaluation,
        metrics=(*evaluation.metrics, *added),
        overall=overall,
        slices=tuple(slices),
    )


def _numbers(
    record: metrics_for_slice_pb2.MetricsForSlice,
) -> Iterator[tuple[tuple[str, str], float]]:
    """The plain numbers by model and metric."""
    for pair in record.metric_keys_and_values:
        key = metric_types.MetricKey.from_proto(pair.key)
        is_number = pair.value.WhichOneof("type") == "double_value"
        if is_number and not (key.sub_key or key.aggregation_type or key.is_diff):
            yield (key.model_name, key.name), pair.value.double_value.value


def _with_numbers(
    part: SliceMetrics, added: Sequence[MetricInfo], numbers: Mapping[tuple[str, str], float]
) -> SliceMetrics:
    ours, *against = (
        {metric.name: estimate_of(numbers.get((model, metric.name))) for metric in added}
        for model in model_names(bool(part.baseline))
    )
    theirs = against[0] if against else {}
    difference = {name: paired_difference(ours[name], theirs[name]) for name in theirs}
    return replace(
        part,
        candidate=part.candidate | ours,
        baseline=part.baseline | theirs,
        difference=part.difference | difference,
    )


def user_checks(verdict: validation_result_pb2.ValidationResult) -> list[Check]:
    """The failures in TFMA's verdict as checks of the gate."""
    checks = [
        _failed(failure.metric_key.name, slice_name(part.slice_key), _described(failure))
        for part in verdict.metric_validations_per_slice
        for failure in part.failures
    ]
    checks += [
        _failed("slice", _spec_text(spec), "no evaluated example is in this slice")
        for spec in verdict.missing_slices
    ]
    return checks


def _failed(name: str, part: str, note: str) -> Check:
    needed = f"{name} as evaluator.eval_config requires"
    return Check(metric=name, needed=needed, slice=part, note=note)


def _described(failure: validation_result_pb2.ValidationFailure) -> str:
    needed = str(failure.metric_threshold).replace("\n", " ").strip()
    has_value = failure.HasField("metric_value")
    observed = f"{failure.metric_value.double_value.value:.6g}" if has_value else "nothing"
    return f"needs {needed}, found {observed}"


def _spec_text(spec: config_pb2.SlicingSpec) -> str:
    return ",".join([*spec.feature_keys, *(f"{k}={v}" for k, v in spec.feature_values.items())])
