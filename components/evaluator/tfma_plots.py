"""What TFMA's plot view draws: calibration, precision and recall of the pooled predictions.

They are of all data, as in the report. Plots that the user's own eval config asks for stand beside
them, on slices too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tensorflow_model_analysis.proto import metrics_for_slice_pb2
from tensorflow_model_analysis.writers import metrics_plots_and_validations_writer as writer

from yt8m.components.artifacts.evaluation import Evaluation
from yt8m.components.evaluator.score_table import BASELINE, CANDIDATE
from yt8m.components.evaluator.tfma_gate import SliceKey, model_names
from yt8m.components.metrics.curves import CalibrationBin, CurvePoint
from yt8m.components.records.tfrecord import frame
from yt8m.components.storage import files

PLOTS_FILE = "plots-00000-of-00001.tfrecord"

StockPlots = Mapping[SliceKey, metrics_for_slice_pb2.PlotsForSlice]


def write_plots(uri: str, evaluation: Evaluation, stock: StockPlots) -> None:
    """One record a slice that has plots; `stock` are those of the user's own eval config."""
    by_slice = {key: _copy(plots) for key, plots in stock.items()}
    if evaluation.calibration:
        overall = by_slice.setdefault((), writer.convert_slice_plots_to_proto(((), {}), None))
        _add_ours(overall, evaluation)
    records = (frame(plots.SerializeToString()) for plots in by_slice.values())
    files.write_bytes(files.join(uri, PLOTS_FILE), b"".join(records))


def _copy(plots: metrics_for_slice_pb2.PlotsForSlice) -> metrics_for_slice_pb2.PlotsForSlice:
    copied = metrics_for_slice_pb2.PlotsForSlice()
    copied.CopyFrom(plots)
    return copied


def _add_ours(plots: metrics_for_slice_pb2.PlotsForSlice, evaluation: Evaluation) -> None:
    has_baseline = BASELINE in evaluation.calibration
    names = dict(zip((CANDIDATE, BASELINE), model_names(has_baseline), strict=False))
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
