"""The same metrics for TFMA's own Evaluator, as a `tfma.metrics.Metric`.

In a tfma.EvalConfig:

    metrics_specs { metrics {
      class_name: "VideoMetrics"  module: "yt8m.components.evaluator.tfma_metric"
      config: '"num_classes": 3862, "top_k": 20'
    } }
    options { include_default_metrics { value: false } }

It gives all of ours but the loss. TFMA passes one example at a time, which is slow; our own
Evaluator gives the same numbers in batches. Labels are class ids or multi-hot rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import apache_beam as beam
import numpy as np
from tensorflow_model_analysis.metrics import metric_types, metric_util

from yt8m.components import metrics as core
from yt8m.components.metrics import Batch

NAMES = tuple(metric.name for metric in core.METRICS if metric.name != "loss")
_AT_ONCE = 256
_SCORES = "scores"


class VideoMetrics(metric_types.Metric):
    """Our metrics of each model."""

    def __init__(
        self, num_classes: int, top_k: int = core.TOP_K, name: str = "video_metrics"
    ) -> None:
        super().__init__(
            metric_util.merge_per_key_computations(_computations),
            name=name,
            num_classes=num_classes,
            top_k=top_k,
        )


metric_types.register_metric(VideoMetrics)


def _computations(
    num_classes: int,
    top_k: int,
    name: str = "",
    model_name: str = "",
    output_name: str = "",
    example_weighted: bool = False,
) -> metric_types.MetricComputations:
    """One computation a model name, which is what a baseline needs; TFMA adds the differences."""
    del name
    if example_weighted:
        raise ValueError("VideoMetrics: example weights are not supported; leave them out")
    keys = [
        metric_types.MetricKey(
            name=metric,
            model_name=model_name,
            output_name=output_name,
            example_weighted=example_weighted,
        )
        for metric in NAMES
    ]
    return [
        metric_types.MetricComputation(
            keys=keys,
            preprocessors=None,
            combiner=_Combiner(keys, num_classes, top_k),
        )
    ]


class _Accumulator:
    """Full batches as metrics, the rest as examples."""

    def __init__(self, num_classes: int, top_k: int) -> None:
        self.done = core.MetricAccumulator.empty(num_classes, top_k=top_k)
        self.waiting: list[tuple[np.ndarray, np.ndarray]] = []

    def flush(self) -> None:
        """Turn what waits into metrics."""
        if not self.waiting:
            return
        scores, labels = zip(*self.waiting, strict=True)
        padded = np.full((len(labels), max(map(len, labels))), -1)
        for row, ids in zip(padded, labels, strict=True):
            row[: len(ids)] = ids
        self.done.update(Batch(predictions=np.stack(scores), labels=padded))
        self.waiting = []


class _Combiner(beam.CombineFn):
    def __init__(self, keys: list[metric_types.MetricKey], num_classes: int, top_k: int) -> None:
        self._keys, self._num_classes, self._top_k = keys, num_classes, top_k

    def create_accumulator(self) -> _Accumulator:
        return _Accumulator(self._num_classes, self._top_k)

    def add_input(
        self, accumulator: _Accumulator, element: metric_types.StandardMetricInputs
    ) -> _Accumulator:
        key = self._keys[0]
        scores = _of_model(element.get_predictions(), key)
        if isinstance(scores, dict):
            scores = scores[_SCORES]
        labels = _label_ids(_of_model(element.get_labels(), key), self._num_classes)
        accumulator.waiting.append((np.ravel(scores), labels))
        if len(accumulator.waiting) >= _AT_ONCE:
            accumulator.flush()
        return accumulator

    def merge_accumulators(self, accumulators: Iterable[_Accumulator]) -> _Accumulator:
        result = self.create_accumulator()
        for accumulator in accumulators:
            accumulator.flush()
            result.done.merge(accumulator.done)
        return result

    def extract_output(self, accumulator: _Accumulator) -> dict[metric_types.MetricKey, float]:
        accumulator.flush()
        values = core.values_of(accumulator.done)
        found = {key: values[key.name] for key in self._keys}
        return {key: math.nan if value is None else value for key, value in found.items()}


def _of_model(value: Any, key: metric_types.MetricKey) -> Any:
    """The part of `value` for the key's model and output, where TFMA keeps several."""
    for name in (key.model_name, key.output_name):
        if name and isinstance(value, dict) and name in value:
            value = value[name]
    return value


def _label_ids(labels: Any, num_classes: int) -> np.ndarray:
    """Class ids from ids (any padding below 0) or from a multi-hot row."""
    flat = np.ravel(labels)
    if flat.dtype.kind == "f" and flat.size == num_classes:
        return np.flatnonzero(flat > 0)
    return flat[flat >= 0].astype(np.int64)
