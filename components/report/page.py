"""The page: one file, no script, nothing from the network."""

from __future__ import annotations

from yt8m.components.artifacts.report import SUMMARY_FILE
from yt8m.components.report.markup import Markup, element, join
from yt8m.components.report.model import Outcome, ReportFacts
from yt8m.components.report.sections.classes import classes
from yt8m.components.report.sections.data import data
from yt8m.components.report.sections.metrics import metrics, slices
from yt8m.components.report.sections.run import components, provenance
from yt8m.components.report.sections.training import training
from yt8m.components.report.sections.verdict import headline, verdict
from yt8m.components.report.style import STYLE

# The browser itself then refuses whatever would leave this file.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_ICON = "data:,"  # or browsers ask the server for one

# What the reader of such a verdict looks for.
_FIRST = {Outcome.FAILED: "components", Outcome.STOPPED: "data"}


def render(facts: ReportFacts) -> str:
    """The report as a whole HTML document."""
    sections = {
        "metrics": ("Metrics", metrics(facts.evaluation)),
        "slices": ("Slices", slices(facts.evaluation)),
        "classes": ("Classes", classes(facts.evaluation)),
        "training": ("Training", training(facts.training)),
        "data": ("Data", data(facts.data)),
        "components": ("Components", components(facts)),
        "provenance": ("Provenance", provenance(facts)),
    }
    first = _FIRST.get(facts.verdict.outcome)
    if first is not None:
        sections = {first: sections.pop(first), **sections}
    present = {name: (title, s) for name, (title, s) in sections.items() if s is not None}
    links = [
        element("li", element("a", title, href=f"#{name}")) for name, (title, _) in present.items()
    ]
    made = facts.created.replace("T", " ").replace("+00:00", " UTC")
    run = " · ".join(part for part in (facts.pipeline, facts.run_id, made) if part)
    body = element(
        "body",
        element(
            "header",
            element("div", run, class_="muted"),
            verdict(facts),
            element("nav", element("ul", *links), aria_label="Sections"),
            class_="top",
        ),
        element("main", *[section for _, section in present.values()]),
        element("footer", f"Made by yt8m. {SUMMARY_FILE} beside this page holds the same facts."),
    )
    return f"<!doctype html>\n{element('html', _head(facts), body, lang='en')}\n"


def _head(facts: ReportFacts) -> Markup:
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"{headline(facts)} – {facts.pipeline} {facts.run_id}".strip()),
        Markup(f'<link rel="icon" href="{_ICON}">'),
        element("style", join(Markup(STYLE))),
    )
