"""What went in: records, labels, what validation found, drift."""

from __future__ import annotations

from collections.abc import Sequence

from yt8m.components.report import formatting
from yt8m.components.report.charts import Axis, Series, line_chart
from yt8m.components.report.markup import Markup, element
from yt8m.components.report.model import DataFacts, DriftFacts
from yt8m.components.report.tables import Column, meter, table

_SPLITS = (
    Column(title="Split"),
    Column(title="Records", numeric=True),
    Column(title="Labelled", numeric=True),
    Column(title="Left out", numeric=True),
    Column(title="Shards", numeric=True, optional=True),
    Column(title="Size", numeric=True, optional=True),
)
_ANOMALIES = (Column(title="Feature"), Column(title="Finding"), Column(title="Severity"))
_DRIFT = (
    Column(title="Feature"),
    Column(title="Divergence", numeric=True),
    Column(title="Limit", numeric=True),
)


def data(facts: DataFacts) -> Markup | None:
    """Splits, labels, anomalies and drift."""
    if not facts.splits and not facts.validated:
        return None
    return element(
        "section",
        element("h2", "Data"),
        element("p", _about(facts), class_="about"),
        _splits(facts) if facts.splits else None,
        element(
            "div",
            _labels(facts),
            element(
                "div",
                _apart("Drift: train against the baseline's data", facts.drift),
                _apart("Skew: train against eval", facts.skew),
            ),
            class_="two",
        ),
        _anomalies(facts),
        id="data",
    )


def _about(facts: DataFacts) -> str:
    said = [f"{facts.level.capitalize()}-level records" if facts.level else "Records"]
    if facts.spans:
        said.append(formatting.spans(facts.spans))
    if facts.verified:
        said.append(f"verification {facts.verified}")
    if facts.labels_per_record is not None:
        said.append(f"{facts.labels_per_record:.2f} labels a record")
    return ", ".join(said) + "."


def _splits(facts: DataFacts) -> Markup:
    most = max((one.records for one in facts.splits), default=0) or 1
    rows = [
        (
            element("span", one.name, meter(one.records / most)),
            formatting.count(one.records),
            formatting.count(one.labelled),
            formatting.count(one.quarantined),
            formatting.count(one.shards),
            formatting.size(one.bytes),
        )
        for one in facts.splits
    ]
    return table(_SPLITS, rows, bars=True)


def _labels(facts: DataFacts) -> Markup | None:
    if facts.label_histogram is None:
        return None
    return line_chart(
        "Labels by class",
        [Series(name="labels", style="candidate", curve=facts.label_histogram)],
        x=Axis(label="classes, the most frequent first"),
        y=Axis(label="labels", log=True),
    )


def _apart(caption: str, measured: Sequence[DriftFacts]) -> Markup | None:
    if not measured:
        return None
    return table(_DRIFT, [_drift_row(one) for one in measured], caption=caption, bars=True)


def _drift_row(one: DriftFacts) -> tuple[object, ...]:
    limit = one.threshold
    scale = max(one.distance, limit or 0.0) * 1.15 or 1.0
    mark = None if limit is None else limit / scale
    distance: object = f"{one.distance:.4f}"
    if limit is not None and one.distance > limit:
        distance = element("span", distance, class_="fail")
    return (
        element("span", one.feature, meter(one.distance / scale, mark=mark)),
        distance,
        formatting.NONE if limit is None else f"{limit:.4f}",
    )


def _anomalies(facts: DataFacts) -> Markup | None:
    if not facts.validated:
        return None
    if not facts.anomalies:
        return element("p", element("span", "✓ No anomalies against the schema", class_="pass"))
    rows = [
        (f"{one.feature} ({one.split})" if one.split else one.feature, one.what, one.severity)
        for one in facts.anomalies
    ]
    return table(_ANOMALIES, rows, caption="Anomalies")
