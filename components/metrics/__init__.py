"""Metrics of multi-label predictions in numpy alone: exact, mergeable, small.

`catalogue` holds them; a metric of a user's own is made with `Metric` or `mean_metric`.
"""

from yt8m.components.metrics.accumulator import (
    TOP_K,
    ClassPrecision,
    MetricAccumulator,
    accumulate,
)
from yt8m.components.metrics.batch import Batch, BrokenPredictions, finite_rows
from yt8m.components.metrics.catalogue import METRICS, Metric, mean_metric, values_of
from yt8m.components.metrics.jackknife import LeftOut, RowsByVideo
from yt8m.components.metrics.rows import Rows

__all__ = [
    "METRICS",
    "TOP_K",
    "Batch",
    "BrokenPredictions",
    "ClassPrecision",
    "LeftOut",
    "Metric",
    "MetricAccumulator",
    "Rows",
    "RowsByVideo",
    "accumulate",
    "finite_rows",
    "mean_metric",
    "values_of",
]
