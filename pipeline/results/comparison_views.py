"""A comparison as text and as a page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from yt8m.components.artifacts.estimate import Estimate, estimate_text
from yt8m.components.console.console import text_table
from yt8m.components.metrics.catalogue import GAP, LOSS, info_of
from yt8m.components.report.collect_training import curves_of
from yt8m.components.report.page import document
from yt8m.components.report.parts import formatting
from yt8m.components.report.parts.charts import Axis, Series, line_chart
from yt8m.components.report.parts.markup import Markup, element
from yt8m.components.report.parts.model import Curve
from yt8m.components.report.parts.tables import Column, notes, table
from yt8m.pipeline.results.comparison import ClassComparison, ResultsComparison

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
    title = f"{comparison.b.name} against {comparison.a.name}"
    return document(
        title, element("header", element("h1", title), class_="top"), *sections(comparison)
    )


def sections(comparison: ResultsComparison) -> list[Markup]:
    """Metrics, settings, curves and classes; the first is drawn as the baseline is."""
    return [
        element("section", element("h2", title), *parts)
        for title, parts in (
            ("Metrics", [_conclusion(comparison), _metrics(comparison), notes(comparison.notes)]),
            ("What was set differently", [_settings(comparison)]),
            ("Training", [element("div", *_curves(comparison), class_="plots")]),
            ("Classes", [_classes(comparison.classes)]),
        )
        if any(parts)
    ]


def _conclusion(comparison: ResultsComparison) -> Markup | None:
    return element("p", comparison.conclusion) if comparison.conclusion else None


def _metrics(comparison: ResultsComparison) -> Markup:
    columns = [Column(title="Metric")]
    columns += [Column(title=t, numeric=True) for t in (*_names(comparison), "Difference")]
    rows = [
        (
            _title(comparison, m.name),
            _cell(m.a),
            _cell(m.b),
            _cell(m.difference, sign=True),
        )
        for m in comparison.metrics
    ]
    return table(columns, rows)


def _title(comparison: ResultsComparison, name: str) -> str:
    """The metric's title; the name where nobody knows more."""
    evaluations = [one.outputs.evaluation for one in (comparison.b, comparison.a)]
    return info_of(name, [m for e in evaluations if e for m in e.metrics]).title


def _cell(estimate: Estimate, *, sign: bool = False) -> Markup:
    value = formatting.signed(estimate.value) if sign else formatting.metric(estimate.value)
    bounds = formatting.interval(estimate, sign=sign)
    return element("span", value, element("div", bounds, class_="muted") if bounds else None)


def _settings(comparison: ResultsComparison) -> Markup:
    if not comparison.settings:
        return element("p", "Nothing.")
    rows = [
        (element("code", key), element("code", _value(a)), element("code", _value(b)))
        for key, (a, b) in comparison.settings.items()
    ]
    return table([Column(title=t) for t in ("Setting", *_names(comparison))], rows)


def _curves(comparison: ResultsComparison) -> list[Markup]:
    """Training and validation of both, each plot with what both or either has."""
    both = [curves_of(one.outputs.curve) for one in (comparison.a, comparison.b)]
    found = []
    for kind in ("training", "validation"):
        for name in _CURVES:
            series = [
                Series(name=label, style=style, curve=curve, dots=kind == "validation")
                for curves, style, label in zip(both, _STYLES, _names(comparison), strict=True)
                if (curve := getattr(curves, kind).get(name, Curve())).x
            ]
            if series:
                title = f"{_title(comparison, name).replace('_', ' ')}, {kind}"
                found.append(line_chart(title, series, x=Axis(label="step"), y=Axis(label=name)))
    return found


def _classes(classes: Sequence[ClassComparison]) -> Markup | None:
    if not classes:
        return None
    columns = [Column(title="Class")]
    columns += [Column(title=t, numeric=True) for t in ("Videos", "AP a", "AP b", "Gain")]
    rows = [
        (c.name, formatting.count(c.videos), f"{c.a:.3f}", f"{c.b:.3f}", formatting.signed(c.gain))
        for c in classes
    ]
    return table(columns, rows, caption="Average precision, the most gained first", tools=True)


def _names(comparison: ResultsComparison) -> tuple[str, str]:
    return f"a: {comparison.a.name}", f"b: {comparison.b.name}"


def _gained(comparison: ResultsComparison) -> list[ClassComparison]:
    return [one for one in comparison.classes if one.gain > 0][:_SHOWN]


def _lost(comparison: ResultsComparison) -> list[ClassComparison]:
    return [one for one in reversed(comparison.classes) if one.gain < 0][:_SHOWN]


def _value(value: Any) -> str:
    return _ABSENT if value is None else json.dumps(value, ensure_ascii=False)
