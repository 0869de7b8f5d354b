"""The classes of highest and of lowest average precision."""

from __future__ import annotations

from collections.abc import Sequence

from yt8m.components.artifacts.evaluation import ClassMetrics
from yt8m.components.report import formatting
from yt8m.components.report.evaluation_views import best_and_worst
from yt8m.components.report.markup import Markup, element
from yt8m.components.report.model import RunReport
from yt8m.components.report.tables import Column, meter, table

_COLUMNS = (
    Column(title="Class"),
    Column(title="Videos", numeric=True),
    Column(title="AP", numeric=True),
    Column(title="Baseline", numeric=True, optional=True),
)


def classes(report: RunReport) -> Markup | None:
    """Two tables with a bar for each class, and the baseline as a tick on it."""
    best, worst = best_and_worst(report)
    if report.evaluation is None or not best:
        return None
    compared = any(one.baseline is not None for one in best + worst)
    about = (
        "Average precision of single classes, among "
        f"{formatting.count(len(report.evaluation.classes))} that have positives."
    )
    if compared:
        about += " The bar is the candidate, the tick on it the baseline."
    return element(
        "section",
        element("h2", "Classes"),
        element("p", about, class_="about"),
        element(
            "div",
            _table("Best", best, compared=compared),
            _table("Worst", worst, compared=compared),
            class_="two",
        ),
        id="classes",
    )


def _table(caption: str, shown: Sequence[ClassMetrics], *, compared: bool) -> Markup:
    columns = _COLUMNS if compared else _COLUMNS[:-1]
    rows = [_row(one)[: len(columns)] for one in shown]
    return element("div", table(columns, rows, caption=caption, bars=True))


def _row(one: ClassMetrics) -> tuple[object, ...]:
    named = element("span", one.name or f"class {one.class_id}")
    return (
        element("span", named, meter(one.candidate, mark=one.baseline)),
        formatting.count(one.positives),
        f"{one.candidate:.3f}",
        formatting.NONE if one.baseline is None else f"{one.baseline:.3f}",
    )
