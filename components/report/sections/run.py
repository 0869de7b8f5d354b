"""The run itself: its components, what it was made from, what was configured."""

from __future__ import annotations

from yt8m.components.report import formatting
from yt8m.components.report.markup import Markup, element
from yt8m.components.report.model import ComponentFacts, ReportFacts
from yt8m.components.report.tables import Column, description_list, details, meter, notes, table
from yt8m.schemas.config_tree import flatten

_COMPONENTS = (
    Column(title="Component"),
    Column(title="Time", numeric=True),
    Column(title="Peak memory", numeric=True),
    Column(title="State", optional=True),
    Column(title="Key figure", optional=True),
)
_DIFFERENCES = (Column(title="Setting"), Column(title="Then"), Column(title="Now"))
_MIB = 1 << 20


def components(facts: ReportFacts) -> Markup | None:
    """Time and memory by component."""
    if not facts.components:
        return None
    longest = max(one.seconds for one in facts.components) or 1.0
    total = sum(one.seconds for one in facts.components)
    rows = [_row(one, longest) for one in facts.components]
    failed = [
        element(
            "p", element("strong", one.name, ": "), element("span", one.error, class_="code error")
        )
        for one in facts.components
        if one.error
    ]
    return element(
        "section",
        element("h2", "Components"),
        element("p", f"{formatting.duration(total)} altogether.", class_="about"),
        table(_COMPONENTS, rows, bars=True),
        *failed,
        id="components",
    )


def provenance(facts: ReportFacts) -> Markup:
    """Differences to the last pushed run, lineage, configuration."""
    parts = [element("h2", "Provenance"), notes(facts.problems), *_differences(facts)]
    if facts.lineage:
        items = {
            name: element("span", uri, class_="code") for name, uri in facts.lineage.items() if uri
        }
        parts.append(details("Lineage", description_list(items)))
    if facts.configuration:
        rows = {
            key: element("span", _shown(value), class_="code")
            for key, value in flatten(facts.configuration).items()
        }
        parts.append(details(f"Configuration ({len(rows)} values)", description_list(rows)))
    return element("section", *parts, id="provenance")


def _row(one: ComponentFacts, longest: float) -> tuple[object, ...]:
    memory = formatting.size(one.peak_mib * _MIB) if one.peak_mib else formatting.NONE
    time = formatting.duration(one.seconds) if one.seconds else formatting.NONE
    bar = meter(one.seconds / longest)
    return element("span", one.name, bar), time, memory, one.state, one.figure


def _differences(facts: ReportFacts) -> list[Markup]:
    if not facts.compared_with_version:
        return []
    what = f"the configuration of version {facts.compared_with_version}, the last one pushed"
    if not facts.differences:
        return [element("p", f"Nothing differs from {what}.")]
    rows = [
        (
            element("span", one.key, class_="code"),
            element("span", one.before, class_="code"),
            element("span", one.now, class_="code"),
        )
        for one in facts.differences
    ]
    return [table(_DIFFERENCES, rows, caption=f"What differs from {what}")]


def _shown(value: object) -> str:
    return str(value) if value not in ("", None) else formatting.NONE
