"""Single classes: best and worst, gained and lost, by threshold, and all of them."""

from __future__ import annotations

from collections.abc import Sequence

from yt8m.components.artifacts.evaluation import ClassMetrics
from yt8m.components.metrics.curves import CurvePoint
from yt8m.components.report.parts import formatting
from yt8m.components.report.parts.charts import Axis, Series, line_chart
from yt8m.components.report.parts.evaluation_views import (
    best_and_worst,
    drawn_classes,
    gain,
    gained_and_lost,
    supported,
)
from yt8m.components.report.parts.markup import Markup, element
from yt8m.components.report.parts.model import Curve, RunReport
from yt8m.components.report.parts.tables import Column, details, meter, table

_COLUMNS = (
    Column(title="Class"),
    Column(title="Videos", numeric=True),
    Column(title="AP", numeric=True),
    Column(title="Baseline", numeric=True, optional=True),
    Column(title="Gain", numeric=True),
)
_ALL = (
    Column(title="Class"),
    Column(title="Number", numeric=True, optional=True),
    Column(title="Videos", numeric=True),
    Column(title="Training labels", numeric=True, optional=True),
    Column(title="AP", numeric=True),
    Column(title="Baseline", numeric=True, optional=True),
    Column(title="Gain", numeric=True),
)
_THRESHOLDS = (
    Column(title="Score"),
    Column(title="Precision", numeric=True),
    Column(title="Recall", numeric=True),
    Column(title="F1", numeric=True),
)


def classes(report: RunReport) -> Markup | None:
    """Tables with a bar for each class, and the baseline as a tick on it."""
    if report.evaluation is None or not report.evaluation.classes:
        return None
    compared = any(one.baseline is not None for one in report.evaluation.classes)
    best, worst = best_and_worst(report)
    gained, lost = gained_and_lost(report)
    pairs = [
        [("Best", best), ("Worst", worst)],
        [("Gained most", gained), ("Lost most", lost)],
    ]
    return element(
        "section",
        element("h2", "Classes"),
        element("p", _about(report, compared), class_="about"),
        *[
            element(
                "div", *[_table(t, shown, compared=compared) for t, shown in pair], class_="two"
            )
            for pair in pairs
            if any(shown for _, shown in pair)
        ],
        *_by_threshold(report),
        details(f"All {formatting.count(len(report.evaluation.classes))} classes", _all(report)),
        id="classes",
    )


def _about(report: RunReport, compared: bool) -> str:
    found = len(report.evaluation.classes) if report.evaluation else 0
    text = (
        f"Average precision of single classes. {formatting.count(len(supported(report)))} of "
        f"{formatting.count(found)} have {report.shown.support} videos or more; of the others "
        "chance tells more than the model, and they are in the table of all classes only."
    )
    return text + " The bar is the candidate, the tick on it the baseline." * compared


def _table(caption: str, shown: Sequence[ClassMetrics], *, compared: bool) -> Markup | None:
    if not shown:
        return None
    width = len(_COLUMNS) if compared else 3
    rows = [_row(one)[:width] for one in shown]
    return element("div", table(_COLUMNS[:width], rows, caption=caption, bars=True))


def _row(one: ClassMetrics) -> tuple[object, ...]:
    named = element("span", _name(one))
    return (
        element("span", named, meter(one.candidate, mark=one.baseline)),
        formatting.count(one.positives),
        f"{one.candidate:.3f}",
        formatting.NONE if one.baseline is None else f"{one.baseline:.3f}",
        _gain(one),
    )


def _name(one: ClassMetrics) -> str:
    return one.name if one.name and one.name != str(one.class_id) else f"class {one.class_id}"


def _gain(one: ClassMetrics) -> Markup:
    if one.baseline is None:
        return element("span", formatting.NONE)
    value = gain(one)
    text = f"{value:+.3f}".replace("-", formatting.MINUS)
    return element("span", text, class_="up" if value > 0 else "down" if value < 0 else None)


def _by_threshold(report: RunReport) -> list[Markup]:
    drawn = drawn_classes(report)
    if report.evaluation is None or not drawn:
        return []
    plots = []
    for one in drawn:
        points = report.evaluation.thresholds[str(one.class_id)]
        curve = Curve(x=tuple(p.recall for p in points), y=tuple(p.precision for p in points))
        plots.append(
            element(
                "div",
                line_chart(
                    _name(one),
                    [Series(name="candidate", style="candidate", curve=curve, dots=True)],
                    x=Axis(label="recall", low=0.0, high=1.0),
                    y=Axis(label="precision", low=0.0, high=1.0),
                ),
                details("By threshold", table(_THRESHOLDS, [_at(p) for p in points])),
            )
        )
    return [
        element("h3", "Precision and recall by class"),
        element(
            "p",
            "A point for each score from 0 to 0.95: what holds when predictions from it up count, "
            "among each video's best classes.",
            class_="about",
        ),
        element("div", *plots, class_="plots"),
    ]


def _at(point: CurvePoint) -> tuple[str, ...]:
    both = point.precision + point.recall
    f1 = 2 * point.precision * point.recall / both if both else 0.0
    shown = (f"{value:.3f}" for value in (point.precision, point.recall, f1))
    return f"{point.score:.2f}", *shown


def _all(report: RunReport) -> Markup:
    labels = report.data.label_counts
    rows = [
        (
            _name(one),
            str(one.class_id),
            formatting.count(one.positives),
            formatting.count(labels[key]) if (key := str(one.class_id)) in labels else "0",
            f"{one.candidate:.3f}",
            formatting.NONE if one.baseline is None else f"{one.baseline:.3f}",
            _gain(one),
        )
        for one in (report.evaluation.classes if report.evaluation else ())
    ]
    return table(_ALL, rows, tools=True)
