"""Our metrics as a `tfma.metrics.Metric`, for TFX's own Evaluator to run beside ours."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import apache_beam as beam
import numpy as np
from tensorflow_model_analysis.metrics import metric_types, metric_util

from yt8m.components.metrics import METRICS, Batch, MetricAccumulator, values_of

NAMES = tuple(metric.name for metric in METRICS if metric.name != "loss")
_BATCH = 256


class VideoMetrics(metric_types.Metric):
    """Our metrics of each model but the loss, of labels as class ids padded below 0."""

    def __init__(self, num_classes: int, name: str = "video_metrics") -> None:
        super().__init__(
            metric_util.merge_per_key_computations(_computations),
            name=name,
            num_classes=num_classes,
        )


metric_types.register_metric(VideoMetrics)


def _computations(
    num_classes: int,
    name: str = "",
    model_name: str = "",
    output_name: str = "",
    example_weighted: bool = False,
) -> metric_types.MetricComputations:
    """Create one computation a model name; TFMA adds the differences."""
    del name, example_weighted
    keys = [
        metric_types.MetricKey(
            name=metric,
            model_name=model_name,
            output_name=output_name,
            example_weighted=None,  # as of a metric that MetricsSpec.thresholds may name
        )
        for metric in NAMES
    ]
    combiner = _Combiner(keys, num_classes)
    return [metric_types.MetricComputation(keys=keys, preprocessors=None, combiner=combiner)]


class _Rows:
    """Full batches as metrics, the rest as examples."""

    def __init__(self, num_classes: int) -> None:
        self.metrics = MetricAccumulator(num_classes)
        self.waiting: list[tuple[np.ndarray, np.ndarray]] = []

    def flush(self) -> None:
        if self.waiting:
            scores, labels = zip(*self.waiting, strict=True)
            padded = np.full((len(labels), max(map(len, labels))), -1)
            for row, ids in zip(padded, labels, strict=True):
                row[: len(ids)] = ids
            self.metrics.update(Batch(predictions=np.stack(scores), labels=padded))
            self.waiting = []


class _Combiner(beam.CombineFn):
    def __init__(self, keys: list[metric_types.MetricKey], num_classes: int) -> None:
        self._keys, self._num_classes = keys, num_classes

    def create_accumulator(self) -> _Rows:
        return _Rows(self._num_classes)

    def add_input(self, rows: _Rows, element: metric_types.StandardMetricInputs) -> _Rows:
        scores, labels = (
            self._of_model(value) for value in (element.get_predictions(), element.get_labels())
        )
        if isinstance(scores, dict):
            scores = scores["scores"]
        ids = np.ravel(labels)
        rows.waiting.append((np.ravel(scores), ids[ids >= 0].astype(np.int64)))
        if len(rows.waiting) >= _BATCH:
            rows.flush()
        return rows

    def merge_accumulators(self, parts: Iterable[_Rows]) -> _Rows:
        merged = self.create_accumulator()
        for part in parts:
            part.flush()
            merged.metrics.merge(part.metrics)
        return merged

    def extract_output(self, rows: _Rows) -> dict[metric_types.MetricKey, float]:
        rows.flush()
        values = values_of(rows.metrics)
        return {key: values[key.name] for key in self._keys}

    def _of_model(self, value: Any) -> Any:
        """The part of `value` for the key's model and output, where TFMA keeps several."""
        for name in (self._keys[0].model_name, self._keys[0].output_name):
            if name and isinstance(value, dict) and name in value:
                value = value[name]
        return value
