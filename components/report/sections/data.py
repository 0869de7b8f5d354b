"""The data: records, labels, anomalies, drift and skew."""

from __future__ import annotations

from collections.abc import Sequence

from yt8m.components.artifacts.comparisons import Difference
from yt8m.components.report.parts import formatting
from yt8m.components.report.parts.charts import Axis, Series, line_chart
from yt8m.components.report.parts.markup import Markup, element
from yt8m.components.report.parts.model import DataSummary
from yt8m.components.report.parts.tables import Column, meter, table

_SPLITS = (
    Column(title="Split"),
    Column(title="Records", numeric=True),
    Column(title="Labelled", numeric=True),
    Column(title="Quarantined", numeric=True),
    Column(title="Shards", numeric=True, optional=True),
    Column(title="Size", numeric=True, optional=True),
)
_ANOMALIES = (Column(title="Feature"), Column(title="Finding"), Column(title="Severity"))
_CHANGES = (
    Column(title="Data"),
    Column(title="Before", numeric=True),
    Column(title="Now", numeric=True),
)
_DRIFT = (
    Column(title="Feature"),
    Column(title="Measure"),
    Column(title="Distance", numeric=True),
    Column(title="Limit", numeric=True),
)


def data_section(data: DataSummary) -> Markup | None:
    """Splits, labels, anomalies and drift."""
    if not data.splits and not data.validated:
        return None
    return element(
        "section",
        element("h2", "Data"),
        element("p", _about(data), class_="about"),
        _splits(data) if data.splits else None,
        element(
            "div",
            _labels(data),
            element(
                "div",
                _apart("Drift: train against the baseline's data", data.comparisons.drift),
                _apart("Skew: train against eval", data.comparisons.skew),
            ),
            class_="two",
        ),
        _anomalies(data),
        _changes(data),
        id="data",
    )


def _changes(data: DataSummary) -> Markup | None:
    """Against the run before."""
    if not data.compared_with:
        return None
    if not data.changes:
        return element("p", f"The data are those of {data.compared_with}.")
    rows = [(one.key, one.before, one.now) for one in data.changes]
    return table(_CHANGES, rows, caption=f"What differs from the data of {data.compared_with}")


def _about(data: DataSummary) -> str:
    said = [f"{data.level.capitalize()}-level records" if data.level else "Records"]
    if data.spans:
        said.append(formatting.spans(data.spans))
    if data.verified:
        said.append(f"verification {data.verified}")
    if data.labels_per_record is not None:
        said.append(f"{data.labels_per_record:.2f} labels per record")
    return ", ".join(said) + "."


def _splits(data: DataSummary) -> Markup:
    most = max((one.records for one in data.splits), default=0) or 1
    rows = [
        (
            element("span", one.name, meter(one.records / most)),
            formatting.count(one.records),
            formatting.count(one.labelled),
            formatting.count(one.quarantined),
            formatting.count(one.shards),
            formatting.size(one.bytes),
        )
        for one in data.splits
    ]
    return table(_SPLITS, rows, bars=True)


def _labels(data: DataSummary) -> Markup | None:
    if data.label_histogram is None:
        return None
    return line_chart(
        "Labels by class",
        [Series(name="labels", style="candidate", curve=data.label_histogram)],
        x=Axis(label="classes, the most frequent first"),
        y=Axis(label="labels", log=True),
    )


def _apart(caption: str, measured: Sequence[Difference]) -> Markup | None:
    if not measured:
        return None
    return table(_DRIFT, [_drift_row(one) for one in measured], caption=caption, bars=True)


def _drift_row(one: Difference) -> tuple[object, ...]:
    limit = one.threshold
    scale = max(one.distance, limit) * 1.15 or 1.0
    distance: object = f"{one.distance:.4f}"
    if one.is_found:
        distance = element("span", distance, class_="fail")
    return (
        element("span", one.feature, meter(one.distance / scale, mark=limit / scale)),
        one.measure.title,
        distance,
        f"{limit:.4f}",
    )


def _anomalies(data: DataSummary) -> Markup | None:
    if not data.validated:
        return None
    if not data.anomalies:
        return element("p", element("span", "✓ No anomalies against the schema", class_="pass"))
    rows = [
        (f"{one.feature} ({one.split})" if one.split else one.feature, one.what, one.severity)
        for one in data.anomalies
    ]
    return table(_ANOMALIES, rows, caption="Anomalies")
