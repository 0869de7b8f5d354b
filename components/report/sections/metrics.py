"""The candidate's metrics beside the baseline's."""

from __future__ import annotations

from collections.abc import Sequence

from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.artifacts.evaluation import SliceMetrics
from yt8m.components.metrics.catalogue import MetricInfo
from yt8m.components.report.parts import formatting
from yt8m.components.report.parts.charts import (
    Axis,
    IntervalRow,
    Series,
    interval_chart,
    line_chart,
)
from yt8m.components.report.parts.evaluation_views import (
    MetricRow,
    calibration_curves,
    gap_by_slice,
    metric_rows,
    precision_recall_curves,
)
from yt8m.components.report.parts.markup import Markup, element
from yt8m.components.report.parts.model import Curve, RunReport
from yt8m.components.report.parts.tables import Column, details, notes, table

_FEW_VIDEOS = 100
_COLUMNS = (
    Column(title="Metric"),
    Column(title="Candidate", numeric=True),
    Column(title="Baseline", numeric=True),
    Column(title="Difference", numeric=True),
)


def metrics(report: RunReport) -> Markup | None:
    """Tiles, intervals, precision-recall and calibration."""
    rows = metric_rows(report.overall)
    if not rows:
        return None
    return element(
        "section",
        element("h2", "Metrics"),
        element("p", _about(report, rows), class_="about"),
        element("div", *[_tile(row, report.metric(row.name)) for row in rows], class_="tiles"),
        element("div", *_plots(report, rows), class_="plots"),
        notes(report.evaluated.notes) if report.evaluated else None,
        details("As a table", _table(report, rows)),
        id="metrics",
    )


def slices(report: RunReport) -> Markup | None:
    """GAP by part of the evaluation data."""
    found = gap_by_slice(report.evaluation)
    if not found:
        return None
    rows = [
        IntervalRow(
            label=f"{row.name} ({formatting.count(part.examples)}{_few(part)})",
            candidate=row.candidate,
            baseline=row.baseline,
        )
        for part, row in found
    ]
    columns = (
        Column(title="Slice"),
        Column(title="Examples", numeric=True),
        Column(title="Candidate", numeric=True),
        Column(title="Baseline", numeric=True),
    )
    listed = [
        (
            row.name,
            f"{formatting.count(part.examples)}{_few(part)}",
            _with_interval(row.candidate),
            _with_interval(row.baseline),
        )
        for part, row in found
    ]
    half = (len(rows) + 1) // 2 if len(rows) > 8 else len(rows)
    charts = [interval_chart("GAP by slice", rows[:half], beside=rows)]
    if rows[half:]:
        charts.append(interval_chart("GAP by slice, continued", rows[half:], beside=rows))
    return element(
        "section",
        element("h2", "Slices"),
        element("div", *charts, class_="plots"),
        details("As a table", table(columns, listed)),
        id="slices",
    )


def _few(part: SliceMetrics) -> str:
    """Marks a slice that is too small to tell much."""
    return ", few" if (part.videos or part.examples) < _FEW_VIDEOS else ""


def _about(report: RunReport, rows: Sequence[MetricRow]) -> str:
    if report.evaluated is None:
        return ""
    videos, examples, spans = (
        report.evaluated.videos,
        report.evaluated.examples,
        report.evaluated.spans,
    )
    text = f"On {formatting.count(videos)} videos"
    if examples != videos:
        text += f", {formatting.count(examples)} rated segments"
    if spans:
        text += f" of {formatting.spans(spans)}"
    text += "."
    confidence = report.evaluation.confidence if report.evaluation else None
    if confidence is not None and any(row.candidate.lower is not None for row in rows):
        text += f" {confidence:.0%} confidence intervals."
    return text


def _tile(metric: MetricRow, info: MetricInfo) -> Markup:
    found = [
        element("div", info.title, class_="name"),
        element("div", formatting.metric(metric.candidate.value), class_="value"),
        _detail(formatting.interval(metric.candidate)),
    ]
    difference = metric.difference
    if difference is not None and difference.value is not None:
        change = element(
            "strong", formatting.signed(difference.value), class_=_direction(metric, info)
        )
        then = metric.baseline.value if metric.baseline else None
        found.append(_detail(change, f" from {formatting.metric(then)}"))
        found.append(_detail(formatting.interval(difference, sign=True)))
    return element("div", *found, class_="tile")


def _detail(*content: object) -> Markup | None:
    return element("div", *content, class_="detail") if any(content) else None


def _direction(metric: MetricRow, info: MetricInfo) -> str | None:
    change = metric.difference.value if metric.difference else None
    if not change or info.lower_is_better is None:
        return None
    return "up" if (change > 0) != info.lower_is_better else "down"


def _plots(report: RunReport, metrics: Sequence[MetricRow]) -> list[Markup]:
    rows = [
        IntervalRow(label=info.title, candidate=m.candidate, baseline=m.baseline)
        for m in metrics
        if (info := report.metric(m.name)).is_share
    ]
    found = [interval_chart("With confidence intervals", rows)] if rows else []
    if curves := precision_recall_curves(report.evaluation):
        found.append(
            line_chart(
                "Precision and recall",
                _by_model(curves, dots=False),
                x=Axis(label="recall", low=0.0, high=1.0),
                y=Axis(label="precision", low=0.0, high=1.0),
            )
        )
    if curves := calibration_curves(report.evaluation):
        found.append(
            line_chart(
                "Calibration of scores",
                _by_model(curves, dots=True),
                x=Axis(label="mean score (dashed: perfect calibration)", low=0.0, high=1.0),
                y=Axis(label="observed hit rate", low=0.0, high=1.0),
                diagonal=True,
            )
        )
    return found


def _by_model(curves: dict[str, Curve], *, dots: bool) -> list[Series]:
    return [Series(name=name, style=name, curve=curve, dots=dots) for name, curve in curves.items()]


def _table(report: RunReport, metrics: Sequence[MetricRow]) -> Markup:
    rows = [
        (
            report.metric(m.name).title,
            _with_interval(m.candidate),
            _with_interval(m.baseline),
            _with_interval(m.difference, sign=True),
        )
        for m in metrics
    ]
    return table(_COLUMNS, rows)


def _with_interval(estimate: Estimate | None, *, sign: bool = False) -> Markup:
    """The value, and its interval below it."""
    if estimate is None:
        return element("span", formatting.NONE)
    value = formatting.signed(estimate.value) if sign else formatting.metric(estimate.value)
    bounds = formatting.interval(estimate, sign=sign)
    small = element("div", bounds, class_="muted") if bounds else None
    return element("span", value, small)
