"""A comparison as text and as a page."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from markupsafe import Markup

from yt8m.components.artifacts.estimate import estimate_text
from yt8m.components.console.console import text_table
from yt8m.components.metrics.catalogue import info_of
from yt8m.components.report.charts import Axis, Series, line_chart
from yt8m.components.report.collect_training import curves_of
from yt8m.components.report.model import Curve
from yt8m.components.report.rendering import render
from yt8m.pipeline.results.comparison import ClassComparison, ResultsComparison
from yt8m.schemas.metric_names import GAP, LOSS

_TEMPLATES = Path(__file__).parent / "templates"
_SHOWN = 10  # classes that gained most, and as many that lost most, as text
_ABSENT = "-"
_CURVES = (LOSS, GAP, "learning_rate")
_STYLES = ("baseline", "candidate")  # of a and of b


def as_text(comparison: ResultsComparison) -> str:
    """For a terminal."""
    a, b = comparison.a.name, comparison.b.name
    parts = [f"a: {a}\nb: {b}"]
    if comparison.conclusion:
        parts.append(comparison.conclusion)
    if comparison.settings:
        rows = [(k, _value(x), _value(y)) for k, (x, y) in comparison.settings.items()]
        parts.append(text_table(("setting", "a", "b"), rows))
    else:
        parts.append("no setting differs")
    figures = [
        (m.name, estimate_text(m.a), estimate_text(m.b), estimate_text(m.difference, sign="+"))
        for m in comparison.metrics
    ]
    if figures:
        parts.append(text_table(("metric", "a", "b", "difference"), figures))
    for title, shown in (
        ("gained most", _gained(comparison)),
        ("lost most", _lost(comparison)),
    ):
        if shown:
            lines = [
                (c.name, c.videos, f"{c.a:.4f}", f"{c.b:.4f}", f"{c.gain:+.4f}") for c in shown
            ]
            parts.append(text_table((title, "videos", "AP a", "AP b", "gain"), lines))
    return "\n\n".join([*parts, *(f"note: {note}" for note in comparison.notes)])


def as_page(comparison: ResultsComparison) -> str:
    """One HTML file, in the report's style."""
    return f"{_render('comparison_page.html', comparison)}\n"


def as_section(comparison: ResultsComparison) -> Markup:
    """The page's content, for a notebook."""
    return _render("comparison.html", comparison)


def _render(template: str, comparison: ResultsComparison) -> Markup:
    return render(
        template,
        folder=_TEMPLATES,
        comparison=comparison,
        names=_names(comparison),
        curves=_curves(comparison),
        shown=_value,
        title=functools.partial(_title, comparison),
    )


def _title(comparison: ResultsComparison, name: str) -> str:
    """The metric's title; the name where nobody knows more."""
    evaluations = [one.outputs.evaluation for one in (comparison.b, comparison.a)]
    return info_of(name, [m for e in evaluations if e for m in e.metrics]).title


def _curves(comparison: ResultsComparison) -> list[Markup]:
    """Training and validation of both, each plot with what both or either has."""
    both = [curves_of(one.outputs.curve) for one in (comparison.a, comparison.b)]
    plots = []
    for kind in ("training", "validation"):
        for name in _CURVES:
            series = [
                Series(name=label, style=style, curve=curve, dots=kind == "validation")
                for curves, style, label in zip(both, _STYLES, _names(comparison), strict=True)
                if (curve := getattr(curves, kind).get(name, Curve())).x
            ]
            if series:
                title = f"{_title(comparison, name).replace('_', ' ')}, {kind}"
                plots.append(
                    line_chart(title, series, x=Axis(label="step", whole=True), y=Axis(label=name))
                )
    return plots


def _names(comparison: ResultsComparison) -> tuple[str, str]:
    return f"a: {comparison.a.name}", f"b: {comparison.b.name}"


def _gained(comparison: ResultsComparison) -> list[ClassComparison]:
    return [one for one in comparison.classes if one.gain > 0][:_SHOWN]


def _lost(comparison: ResultsComparison) -> list[ClassComparison]:
    return [one for one in reversed(comparison.classes) if one.gain < 0][:_SHOWN]


def _value(value: Any) -> str:
    return _ABSENT if value is None else json.dumps(value, ensure_ascii=False)
