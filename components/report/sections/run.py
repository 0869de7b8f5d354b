"""The run itself: its components, its inputs, its configuration."""

from __future__ import annotations

from yt8m.components.report.parts import formatting
from yt8m.components.report.parts.markup import Markup, element
from yt8m.components.report.parts.model import ComponentRow, RunReport
from yt8m.components.report.parts.tables import (
    Column,
    description_list,
    details,
    meter,
    notes,
    table,
)
from yt8m.schemas.config_tree import flatten

_COMPONENTS = (
    Column(title="Component"),
    Column(title="Time", numeric=True),
    Column(title="Peak memory", numeric=True),
    Column(title="State", optional=True),
    Column(title="Key metric", optional=True),
)
_DIFFERENCES = (Column(title="Setting"), Column(title="Before"), Column(title="Now"))
_MIB = 1 << 20


def components(report: RunReport) -> Markup | None:
    """Time and memory by component."""
    if not report.components:
        return None
    longest = max(one.seconds for one in report.components) or 1.0
    total = sum(one.seconds for one in report.components)
    rows = [_row(one, longest) for one in report.components]
    failed = [
        element(
            "p", element("strong", one.name, ": "), element("span", one.error, class_="code error")
        )
        for one in report.components
        if one.error
    ]
    return element(
        "section",
        element("h2", "Components"),
        element("p", f"{formatting.duration(total)} in total.", class_="about"),
        table(_COMPONENTS, rows, bars=True),
        *failed,
        id="components",
    )


def provenance(report: RunReport) -> Markup:
    """Differences to the last pushed run, lineage, configuration."""
    parts = [element("h2", "Provenance"), notes(report.problems), *_differences(report)]
    if report.lineage:
        items = {
            name: element("span", uri, class_="code") for name, uri in report.lineage.items() if uri
        }
        parts.append(details("Lineage", description_list(items)))
    if report.configuration:
        rows = {
            key: element("span", _shown(value), class_="code")
            for key, value in flatten(report.configuration).items()
        }
        parts.append(details(f"Configuration ({len(rows)} values)", description_list(rows)))
    return element("section", *parts, id="provenance")


def _row(one: ComponentRow, longest: float) -> tuple[object, ...]:
    memory = formatting.size(one.peak_mib * _MIB) if one.peak_mib else formatting.NONE
    time = formatting.duration(one.seconds) if one.seconds else formatting.NONE
    bar = meter(one.seconds / longest)
    return element("span", one.name, bar), time, memory, one.state, one.figure


def _differences(report: RunReport) -> list[Markup]:
    if not report.compared_with_version:
        return []
    what = f"the configuration of version {report.compared_with_version}, the last one pushed"
    if not report.differences:
        return [element("p", f"Nothing differs from {what}.")]
    rows = [
        (
            element("span", one.key, class_="code"),
            element("span", one.before, class_="code"),
            element("span", one.now, class_="code"),
        )
        for one in report.differences
    ]
    return [table(_DIFFERENCES, rows, caption=f"What differs from {what}")]


def _shown(value: object) -> str:
    return str(value) if value not in ("", None) else formatting.NONE
