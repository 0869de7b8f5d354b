"""How good the candidate is, beside the baseline."""

from __future__ import annotations

from yt8m.components.report import formatting
from yt8m.components.report.charts import Axis, IntervalRow, Series, interval_chart, line_chart
from yt8m.components.report.markup import Markup, element
from yt8m.components.report.model import CurveFacts, Estimate, EvaluationFacts, MetricFacts
from yt8m.components.report.tables import Column, details, notes, table

TITLES = {
    "gap": "GAP",
    "hit_at_1": "Hit@1",
    "perr": "PERR",
    "map": "MAP",
    "loss": "Loss",
}
_LOWER_IS_BETTER = frozenset({"loss"})
_RATES = ("gap", "hit_at_1", "perr", "map")
_COLUMNS = (
    Column(title="Metric"),
    Column(title="Candidate", numeric=True),
    Column(title="Baseline", numeric=True),
    Column(title="Difference", numeric=True),
)


def metrics(facts: EvaluationFacts) -> Markup | None:
    """Tiles, intervals, precision-recall and calibration."""
    if not facts.metrics:
        return None
    return element(
        "section",
        element("h2", "Metrics"),
        element("p", _about(facts), class_="about"),
        element("div", *[_tile(metric) for metric in facts.metrics], class_="tiles"),
        element("div", *_plots(facts), class_="plots"),
        notes(facts.notes),
        details("The same as a table", _table(facts)),
        id="metrics",
    )


def slices(facts: EvaluationFacts) -> Markup | None:
    """GAP by part of the evaluation data."""
    if not facts.slices:
        return None
    rows = [
        IntervalRow(
            label=f"{one.name} ({formatting.count(one.examples)})",
            candidate=one.candidate,
            baseline=one.baseline,
        )
        for one in facts.slices
    ]
    columns = (
        Column(title="Slice"),
        Column(title="Examples", numeric=True),
        Column(title="Candidate", numeric=True),
        Column(title="Baseline", numeric=True),
    )
    listed = [
        (
            one.name,
            formatting.count(one.examples),
            _with_interval(one.candidate),
            _with_interval(one.baseline),
        )
        for one in facts.slices
    ]
    half = (len(rows) + 1) // 2 if len(rows) > 8 else len(rows)
    charts = [interval_chart("GAP by slice", rows[:half], beside=rows)]
    if rows[half:]:
        charts.append(interval_chart("GAP by slice, continued", rows[half:], beside=rows))
    return element(
        "section",
        element("h2", "Slices"),
        element("div", *charts, class_="plots"),
        details("The same as a table", table(columns, listed)),
        id="slices",
    )


def _about(facts: EvaluationFacts) -> str:
    text = f"On {formatting.count(facts.videos)} videos"
    if facts.examples != facts.videos:
        text += f", {formatting.count(facts.examples)} rated segments"
    if facts.spans:
        text += f" of {formatting.spans(facts.spans)}"
    text += "."
    if facts.confidence is not None and any(m.candidate.lower is not None for m in facts.metrics):
        text += f" Intervals hold {facts.confidence:.0%} of the bootstrap's resamples."
    return text


def _tile(metric: MetricFacts) -> Markup:
    found = [
        element("div", TITLES.get(metric.name, metric.name), class_="name"),
        element("div", formatting.metric(metric.candidate.value), class_="value"),
        _detail(formatting.interval(metric.candidate)),
    ]
    difference = metric.difference
    if difference is not None and difference.value is not None:
        change = element("strong", formatting.signed(difference.value), class_=_direction(metric))
        then = metric.baseline.value if metric.baseline else None
        found.append(_detail(change, f" from {formatting.metric(then)}"))
        found.append(_detail(formatting.interval(difference, sign=True)))
    return element("div", *found, class_="tile")


def _detail(*content: object) -> Markup | None:
    return element("div", *content, class_="detail") if any(content) else None


def _direction(metric: MetricFacts) -> str | None:
    change = metric.difference.value if metric.difference else None
    if not change:
        return None
    return "up" if (change > 0) != (metric.name in _LOWER_IS_BETTER) else "down"


def _plots(facts: EvaluationFacts) -> list[Markup]:
    rows = [
        IntervalRow(label=TITLES[m.name], candidate=m.candidate, baseline=m.baseline)
        for m in facts.metrics
        if m.name in _RATES
    ]
    found = [interval_chart("With intervals", rows)] if rows else []
    if facts.precision_recall:
        found.append(
            line_chart(
                "Precision and recall",
                _by_model(facts.precision_recall, dots=False),
                x=Axis(label="recall", low=0.0, high=1.0),
                y=Axis(label="precision", low=0.0, high=1.0),
            )
        )
    if facts.calibration:
        found.append(
            line_chart(
                "Calibration of scores",
                _by_model(facts.calibration, dots=True),
                x=Axis(label="mean score (the dashed line is perfect)", low=0.0, high=1.0),
                y=Axis(label="share that is right", low=0.0, high=1.0),
                diagonal=True,
            )
        )
    return found


def _by_model(curves: dict[str, CurveFacts], *, dots: bool) -> list[Series]:
    return [Series(name=name, style=name, curve=curve, dots=dots) for name, curve in curves.items()]


def _table(facts: EvaluationFacts) -> Markup:
    rows = [
        (
            TITLES.get(m.name, m.name),
            _with_interval(m.candidate),
            _with_interval(m.baseline),
            _with_interval(m.difference, sign=True),
        )
        for m in facts.metrics
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
