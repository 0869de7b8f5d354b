"""The classes that go best and worst."""

from __future__ import annotations

from collections.abc import Sequence

from yt8m.components.report import formatting
from yt8m.components.report.markup import Markup, element
from yt8m.components.report.model import ClassFacts, EvaluationFacts
from yt8m.components.report.tables import Column, meter, table

_COLUMNS = (
    Column(title="Class"),
    Column(title="Videos", numeric=True),
    Column(title="AP", numeric=True),
    Column(title="Baseline", numeric=True, optional=True),
)


def classes(facts: EvaluationFacts) -> Markup | None:
    """Two tables with a bar for each class, and the baseline as a tick on it."""
    if not facts.best_classes and not facts.worst_classes:
        return None
    compared = any(one.baseline is not None for one in facts.best_classes + facts.worst_classes)
    about = (
        f"Average precision of single classes, among {formatting.count(facts.classes)} that have "
        "positives."
    )
    if compared:
        about += " The bar is the candidate, the tick on it the baseline."
    return element(
        "section",
        element("h2", "Classes"),
        element("p", about, class_="about"),
        element(
            "div",
            _table("Best", facts.best_classes, compared=compared),
            _table("Worst", facts.worst_classes, compared=compared),
            class_="two",
        ),
        id="classes",
    )


def _table(caption: str, shown: Sequence[ClassFacts], *, compared: bool) -> Markup:
    columns = _COLUMNS if compared else _COLUMNS[:-1]
    rows = [_row(one)[: len(columns)] for one in shown]
    return element("div", table(columns, rows, caption=caption, bars=True))


def _row(one: ClassFacts) -> tuple[object, ...]:
    named = element("span", one.name or f"class {one.class_id}")
    return (
        element("span", named, meter(one.candidate, mark=one.baseline)),
        formatting.count(one.positives),
        f"{one.candidate:.3f}",
        formatting.NONE if one.baseline is None else f"{one.baseline:.3f}",
    )
