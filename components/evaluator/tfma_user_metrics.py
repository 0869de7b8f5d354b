"""The user's own eval config: metrics that TFMA computes, in the pass that scores the models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import apache_beam as beam
import numpy as np
import tensorflow_model_analysis as tfma
from google.protobuf import text_format
from tensorflow_model_analysis.evaluators import metrics_plots_and_validations_evaluator
from tensorflow_model_analysis.metrics import metric_types
from tensorflow_model_analysis.proto import config_pb2, metrics_for_slice_pb2
from tensorflow_model_analysis.slicer import slicer_lib
from tensorflow_model_analysis.writers import metrics_plots_and_validations_writer as writer

from yt8m.components import storage
from yt8m.components.artifacts.estimate import Estimate, estimate_of, paired_difference
from yt8m.components.artifacts.evaluation import Evaluation, SliceMetrics
from yt8m.components.evaluator.config import SliceConfig
from yt8m.components.evaluator.score_table import CANDIDATE, ScoreTable
from yt8m.components.evaluator.scoring import ScoredBatch
from yt8m.components.evaluator.slices import slices_of
from yt8m.components.evaluator.tfma_gate import Metrics, SliceKey, model_names, parts_of
from yt8m.components.evaluator.tfma_output import UserMetrics, UserPlots
from yt8m.components.metrics.catalogue import MetricInfo, info_of
from yt8m.components.records.tfrecord import frame, read_records
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.vocabulary import Vocabulary

_METRICS_FILE, _PLOTS_FILE = ".user-metrics.tfrecord", ".user-plots.tfrecord"


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


@dataclass(frozen=True, kw_only=True)
class Extracts:
    """How examples are handed over: which slices they are in."""

    slices: tuple[SliceConfig, ...]
    vocabulary: Vocabulary | None = None

    def of(self, batch: ScoredBatch, part: ScoreTable) -> Iterator[dict[str, Any]]:
        """The examples of `batch`, whose metrics are `part`; labels are multi-hot rows."""
        rows = len(batch.rows)
        keys: list[list[tuple[tuple[str, str], ...]]] = [[()] for _ in range(rows)]
        for found in slices_of(part, self.slices, self.vocabulary):
            for row in np.flatnonzero(found.chosen).tolist():
                keys[row].append(((found.column, found.value),))
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
    """Let TFMA compute its metrics and plots of `examples`, and keep them to be collected."""
    evaluator = metrics_plots_and_validations_evaluator.MetricsPlotsAndValidationsEvaluator(
        eval_config=config
    )
    evaluation = examples | "UserMetrics" >> evaluator.ptransform
    kept = (
        (tfma.METRICS_KEY, _METRICS_FILE, writer.convert_slice_metrics_to_proto),
        (tfma.PLOTS_KEY, _PLOTS_FILE, writer.convert_slice_plots_to_proto),
    )
    for key, name, as_proto in kept:
        if key in evaluation:
            place = storage.join(evaluation_uri, name)
            _ = evaluation[key] | f"Keep {key}" >> _Keep(place, as_proto)


class _Keep(beam.PTransform):
    """Writes what TFMA computed of each slice to one file."""

    def __init__(self, place: str, as_proto: Callable[[Any, None], Any]) -> None:
        super().__init__()
        self._place, self._as_proto = place, as_proto

    def expand(self, slices: beam.PCollection) -> beam.PCollection:
        place, as_proto = self._place, self._as_proto
        return (
            slices
            | "AsBytes" >> beam.Map(lambda part: as_proto(part, None).SerializeToString())
            | "Together" >> beam.combiners.ToList()
            | "Write"
            >> beam.Map(lambda rows: storage.write_bytes(place, b"".join(map(frame, rows))))
        )


def collect_user_metrics(evaluation_uri: str) -> UserMetrics:
    """The metrics that TFMA computed, by slice; none where the user configured none."""
    kind = metrics_for_slice_pb2.MetricsForSlice
    return _collect(storage.join(evaluation_uri, _METRICS_FILE), kind)


def collect_user_plots(evaluation_uri: str) -> UserPlots:
    """The plots that TFMA computed, by slice; none where the user configured none."""
    return _collect(storage.join(evaluation_uri, _PLOTS_FILE), metrics_for_slice_pb2.PlotsForSlice)


def _collect(place: str, kind: Any) -> dict[SliceKey, Any]:
    """The messages of `kind` at `place`, which is removed."""
    found: dict[SliceKey, Any] = {}
    if not storage.exists(place):
        return found
    with storage.open_file(place) as file:
        for _, data in read_records(file):
            message = kind.FromString(data)
            found[slicer_lib.deserialize_slice_key(message.slice_key)] = message
    storage.remove(place)
    return found


def numbers_of(message: metrics_for_slice_pb2.MetricsForSlice) -> Metrics:
    """Those of TFMA's metrics that are plain numbers, which thresholds can be put on."""
    return {
        metric_types.MetricKey.from_proto(pair.key): pair.value.double_value.value
        for pair in message.metric_keys_and_values
        if pair.value.WhichOneof("type") == "double_value"
    }


def with_user_metrics(evaluation: Evaluation, user_metrics: UserMetrics) -> Evaluation:
    """`evaluation` with those of TFMA's metrics that are one number of a model, without intervals.

    A metric of one class, or of k, is in TFMA's files alone.
    """
    by_part = {key: _numbers_by_name(message) for key, message in user_metrics.items()}
    names = dict.fromkeys(key.name for numbers in by_part.values() for key in numbers)
    known = {metric.name for metric in evaluation.metrics}
    added = tuple(info_of(name) for name in names if name not in known)
    if not added:
        return evaluation
    overall, *slices = (
        _with_numbers(part, added, by_part.get(key, {})) for key, part in parts_of(evaluation)
    )
    return replace(
        evaluation,
        metrics=(*evaluation.metrics, *added),
        overall=overall,
        slices=tuple(slices),
    )


def _numbers_by_name(message: metrics_for_slice_pb2.MetricsForSlice) -> Metrics:
    return {
        key: value
        for key, value in numbers_of(message).items()
        if key.sub_key is None and key.aggregation_type is None and not key.is_diff
    }


def _with_numbers(
    part: SliceMetrics, added: Sequence[MetricInfo], numbers: Metrics
) -> SliceMetrics:
    candidate, *against = model_names(bool(part.baseline))

    def of_model(model: str) -> dict[str, Estimate]:
        values = {key.name: v for key, v in numbers.items() if key.model_name == model}
        return {m.name: estimate_of(values.get(m.name)) for m in added}

    ours, theirs = of_model(candidate), of_model(*against) if against else {}
    difference = {name: paired_difference(ours[name], theirs[name]) for name in theirs}
    return replace(
        part,
        candidate=part.candidate | ours,
        baseline=part.baseline | theirs,
        difference=part.difference | difference,
    )
