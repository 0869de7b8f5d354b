"""The plots of the page; a section's template calls `plots.<function>`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.artifacts.evaluation import SliceMetrics
from yt8m.components.metrics.catalogue import METRICS, info_of
from yt8m.components.metrics.curves import CurvePoint
from yt8m.components.report.charts import Axis, Series, interval_chart, line_chart
from yt8m.components.report.evaluation_views import (
    calibration_curves,
    metric_rows,
    precision_recall_curves,
    slice_size,
)
from yt8m.components.report.model import Curve, MetricRow, RunReport, TrainingCurves
from yt8m.schemas.metric_names import LOSS

# Titles of the training curves, in their order.
_TRAINING = {
    LOSS: info_of(LOSS).title,
    "learning_rate": "Learning rate",
    **{metric.name: metric.title for metric in METRICS if metric.name != LOSS},
    "examples_per_s": "Examples per second",
}
_NOT_OF_BATCH = ("learning_rate", "examples_per_s")
_MOST_ROWS = 8  # of one plot


def metrics(report: RunReport) -> list[Markup]:
    """Intervals of the metrics, precision over recall, calibration."""
    rows = [
        m._replace(name=info.title)
        for m in metric_rows(report.overall)
        if (info := report.metric(m.name)).is_share
    ]
    plots = [interval_chart("With confidence intervals", rows)] if rows else []
    if curves := precision_recall_curves(report.evaluation):
        plots.append(
            line_chart(
                "Precision and recall",
                _by_model(curves, dots=False),
                x=_share("recall"),
                y=_share("precision"),
            )
        )
    if curves := calibration_curves(report.evaluation):
        plots.append(
            line_chart(
                "Calibration of scores",
                _by_model(curves, dots=True),
                x=_share("mean score (dashed: perfect calibration)"),
                y=_share("observed hit rate"),
                diagonal=True,
            )
        )
    return plots


def slices(parts: Sequence[tuple[SliceMetrics, MetricRow]]) -> list[Markup]:
    """GAP by slice, in two plots where there are many."""
    rows = [row._replace(name=f"{row.name} ({slice_size(part)})") for part, row in parts]
    half = (len(rows) + 1) // 2 if len(rows) > _MOST_ROWS else len(rows)
    plots = [interval_chart("GAP by slice", rows[:half], beside=rows)]
    if rows[half:]:
        plots.append(interval_chart("GAP by slice, continued", rows[half:], beside=rows))
    return plots


def one_class(name: str, points: Sequence[CurvePoint]) -> Markup:
    """Precision over recall of one class."""
    curve = Curve(x=tuple(p.recall for p in points), y=tuple(p.precision for p in points))
    series = Series(name="candidate", style="candidate", curve=curve, dots=True)
    return line_chart(name, [series], x=_share("recall"), y=_share("precision"))


def training(curves: TrainingCurves, evaluated: Estimate | None) -> list[Markup]:
    """A plot for each curve, training and validation in one; `evaluated`: the Evaluator's loss."""
    return [
        _training_plot(name, curves, evaluated if name == LOSS else None)
        for name in _TRAINING
        if name in curves.training or name in curves.validation
    ]


def labels(histogram: Curve) -> Markup:
    """Labels by class."""
    return line_chart(
        "Labels by class",
        [Series(name="labels", style="candidate", curve=histogram)],
        x=Axis(label="classes, the most frequent first"),
        y=Axis(label="labels", log=True),
    )


def _training_plot(name: str, curves: TrainingCurves, evaluated: Estimate | None) -> Markup:
    series = []
    if name in curves.training:
        # A metric of the batch, which a reader must not take for that of the evaluation data.
        label = "training" if name in _NOT_OF_BATCH else "training batch"
        series.append(Series(name=label, style="candidate", curve=curves.training[name]))
    if name in curves.validation:
        series.append(
            Series(name="validation", style="validation", curve=curves.validation[name], dots=True)
        )
    if evaluated is not None and evaluated.value is not None:
        end = Curve(x=(float(curves.steps),), y=(evaluated.value,))
        series.append(Series(name="evaluation", style="baseline", curve=end, dots=True))
    title = _TRAINING[name]
    if len(series) == 1 and series[0].name == "training batch":
        title += " of the training batch"  # one line has no legend
    y = Axis(label=title.lower(), low=None if name == LOSS else 0.0)
    return line_chart(title, series, x=Axis(label="step", whole=True), y=y)


def _by_model(curves: Mapping[str, Curve], *, dots: bool) -> list[Series]:
    return [Series(name=name, style=name, curve=curve, dots=dots) for name, curve in curves.items()]


def _share(label: str) -> Axis:
    return Axis(label=label, low=0.0, high=1.0)
