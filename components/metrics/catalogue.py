"""The catalogue of metrics: a metric is one object, and its name is written here alone.

Evaluation, intervals, gate, reports, training log, commands and `import yt8m` iterate over METRICS.
A metric of a user's own is a `Metric` too; `evaluator.metrics` names it by a dotted path.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from yt8m.components.allocator import return_freed_memory
from yt8m.components.metrics import accumulator, jackknife
from yt8m.components.metrics.accumulator import MetricAccumulator
from yt8m.components.metrics.jackknife import LeftOut, RowsByVideo
from yt8m.components.metrics.rows import MANY, Rows
from yt8m.schemas.errors import DataError
from yt8m.schemas.metric_names import GAP, LOSS


@dataclass(frozen=True, kw_only=True)
class MetricInfo:
    """Description of a metric for readers of its values."""

    name: str  # in files, thresholds and frames
    title: str  # in reports
    is_share: bool = True  # whether it is from 0 to 1
    lower_is_better: bool | None = False  # None: unknown


@dataclass(frozen=True, kw_only=True)
class Metric(MetricInfo):
    """One metric: its value, and what its interval comes from."""

    value: Callable[[MetricAccumulator], float | None]  # None where it is undefined
    # The value without each of the videos. None: the metric has no interval.
    left_out: Callable[[RowsByVideo], LeftOut | None] | None = None
    meaning: str = ""  # in the documentation
    needs_many_videos: bool = False  # whether its value on a batch says little

    @property
    def info(self) -> MetricInfo:
        """The part without functions, which is written beside the values."""
        return MetricInfo(
            name=self.name,
            title=self.title,
            is_share=self.is_share,
            lower_is_better=self.lower_is_better,
        )


def mean_metric(
    name: str,
    title: str,
    figures: Callable[[Rows], np.ndarray | None],
    *,
    meaning: str = "",
    is_share: bool = True,
    lower_is_better: bool = False,
) -> Metric:
    """Create the metric that is the mean of `figures`, one number for each row, with intervals.

    The metric is undefined where `figures` are None.
    """

    def checked(rows: Rows) -> np.ndarray | None:
        numbers = figures(rows)
        if numbers is not None and np.shape(numbers) != (len(rows),):
            raise DataError(
                f"metric {name}: its figures have shape {np.shape(numbers)}: expected [{len(rows)}]"
            )
        return numbers

    def value(metrics: MetricAccumulator) -> float | None:
        numbers = checked(metrics.rows)
        return None if numbers is None else accumulator.mean(numbers)

    def left_out(rows: RowsByVideo) -> LeftOut | None:
        numbers = checked(rows.rows)
        return None if numbers is None else jackknife.mean_left_out(numbers, rows)

    return Metric(
        name=name,
        title=title,
        value=value,
        left_out=left_out,
        meaning=meaning,
        is_share=is_share,
        lower_is_better=lower_is_better,
    )


# In the order of display.
METRICS: tuple[Metric, ...] = (
    Metric(
        name=GAP,
        title="GAP",
        meaning=(
            "all videos' 20 best (score, hit) pairs in one pool, sorted by score; mean precision "
            "at the hits, divided by **all** positive labels, also those outside the top 20. No "
            "positives: 0"
        ),
        value=MetricAccumulator.gap,
        left_out=jackknife.gap_left_out,
    ),
    mean_metric(
        "hit_at_1",
        "Hit@1",
        lambda rows: rows.hits[:, :1].sum(axis=1),
        meaning="share of videos whose best class is a label",
    ),
    mean_metric(
        "perr",
        "PERR",
        lambda rows: rows.recalled / np.maximum(rows.label_counts, 1),
        meaning=(
            "of a video's n best classes, n its number of labels, the share that are labels; only "
            "scores above 0 count; a video without labels counts 0"
        ),
    ),
    Metric(
        name="map",
        title="MAP",
        meaning=(
            "the same as `gap` for each class over the predictions that made a video's top 20; "
            "mean over the classes that have positives. `--top-n N`: each class's N best only"
        ),
        value=MetricAccumulator.mean_average_precision,
        left_out=jackknife.map_left_out,
        needs_many_videos=True,
    ),
    mean_metric(
        LOSS,
        "Loss",
        lambda rows: rows.loss,
        meaning="cross entropy, summed over classes",
        is_share=False,
        lower_is_better=True,
    ),
)


def values_of(
    metrics: MetricAccumulator, chosen: Sequence[Metric] = METRICS
) -> dict[str, float | None]:
    """Compute the metrics, by name; None where there is nothing to take a mean of."""
    values = {}
    for metric in chosen:
        value = metric.value(metrics)
        values[metric.name] = None if value is None or math.isnan(value) else float(value)
        if len(metrics) >= MANY:  # before the next takes as much again
            return_freed_memory()
    return values


def leave_one_out(
    metrics: MetricAccumulator, videos: np.ndarray, chosen: Sequence[Metric] = METRICS
) -> Mapping[str, LeftOut]:
    """By metric, in the order of the sorted distinct keys `videos`; other videos do not count.

    Metrics that are undefined, with or without some video, are left out of the mapping, and so are
    those that have no interval.
    """
    rows = RowsByVideo.of(metrics, videos)
    by_metric = {
        metric.name: metric.left_out(rows) for metric in chosen if metric.left_out is not None
    }
    return {
        name: one
        for name, one in by_metric.items()
        if one is not None and np.isfinite(one.without).all()
    }


def is_better(
    name: str, value: float, than: float | None, known: Iterable[MetricInfo] = ()
) -> bool:
    """Whether `value` of the metric beats `than`; a NaN never does, and everything beats None."""
    if math.isnan(value):
        return False
    if than is None or math.isnan(than):
        return True
    return value < than if info_of(name, known).lower_is_better else value > than


def info_of(name: str, known: Iterable[MetricInfo] = ()) -> MetricInfo:
    """The metric's description: `known` first, then the catalogue."""
    for metric in (*known, *METRICS):
        if metric.name == name:
            return metric
    is_loss = True if name.startswith(f"{LOSS}_") else None  # of a head
    return MetricInfo(name=name, title=name, is_share=False, lower_is_better=is_loss)
