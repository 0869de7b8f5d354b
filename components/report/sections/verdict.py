"""How the run ended and why, first of all."""

from __future__ import annotations

from yt8m.components.artifacts.decision import Check, evidence_text
from yt8m.components.report.parts import formatting
from yt8m.components.report.parts.markup import Markup, element
from yt8m.components.report.parts.model import Outcome, RunReport
from yt8m.components.report.parts.tables import Column, table

_TONES = {
    Outcome.PUSHED: "good",
    Outcome.HELD_BACK: "warn",
    Outcome.STOPPED: "bad",
    Outcome.FAILED: "bad",
    Outcome.UNFINISHED: "neutral",
}
_CHECK_COLUMNS = (
    Column(title="Threshold"),
    Column(title="Observed", numeric=True),
    Column(title="Result"),
)


def headline(report: RunReport) -> str:
    """The verdict in a few words."""
    verdict = report.verdict
    return {
        Outcome.PUSHED: f"Pushed as version {verdict.version}",
        Outcome.HELD_BACK: "Held back by the gate: nothing was pushed",
        Outcome.STOPPED: "Stopped: the data did not pass validation",
        Outcome.FAILED: f"Failed in {verdict.failed_component or 'the run'}",
        Outcome.UNFINISHED: "Run incomplete",
    }[verdict.outcome]


def verdict(report: RunReport) -> Markup:
    """The verdict, its reason, and each threshold of the gate."""
    found = report.verdict
    compared = (
        f"Compared with version {found.baseline_version}."
        if found.baseline_version
        else "There was no baseline to compare with."
    )
    lines = [element("p", found.reason, class_="reason") if found.reason else None]
    if report.overall.candidate:
        lines.append(element("p", compared, class_="muted"))
    if found.destination:
        lines.append(element("p", element("span", found.destination, class_="code")))
    return element(
        "div",
        element(
            "div",
            element("h1", headline(report)),
            *lines,
            class_=f"verdict {_TONES[found.outcome]}",
        ),
        _checks(report.decision.checks) if report.decision else None,
    )


def _checks(checks: tuple[Check, ...]) -> Markup | None:
    if not checks:
        return None
    return table(_CHECK_COLUMNS, [_row(check) for check in checks], caption="Gate thresholds")


def _row(check: Check) -> tuple[object, ...]:
    where = f" on {check.slice}" if check.slice else ""
    said = "; ".join(text for text in (check.note, evidence_text(check)) if text)
    note = element("span", f" ({said})", class_="muted") if said else None
    return (
        element("span", f"{check.needed}{where}", note),
        formatting.observed(check.observed),
        _result(check),
    )


def _result(check: Check) -> Markup:
    if not check.applied:
        return element("span", "– not applicable", class_="skip")
    if check.passed:
        return element("span", "✓ passed", class_="pass")
    return element("span", "✗ failed", class_="fail")
