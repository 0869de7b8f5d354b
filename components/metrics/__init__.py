"""Hit@1, PERR, GAP@k and MAP in numpy alone: exact, mergeable, small."""

from yt8m.components.metrics.accumulator import (
    TOP_K,
    ClassPrecision,
    MetricAccumulator,
    MetricValues,
    accumulate,
)
from yt8m.components.metrics.batch import Batch, BrokenPredictions

__all__ = [
    "TOP_K",
    "Batch",
    "BrokenPredictions",
    "ClassPrecision",
    "MetricAccumulator",
    "MetricValues",
    "accumulate",
]
