"""The page, one file that needs no server and no network, and the summary beside it."""

from __future__ import annotations

from yt8m.components import storage
from yt8m.components.artifacts.report import PAGE_FILE, SUMMARY_FILE
from yt8m.components.report.parts.markup import Markup, element, join
from yt8m.components.report.parts.model import Outcome, RunReport
from yt8m.components.report.script import SCRIPT, SOURCE
from yt8m.components.report.sections.classes import classes
from yt8m.components.report.sections.data import data_section
from yt8m.components.report.sections.metrics import metrics, slices
from yt8m.components.report.sections.mistakes import mistakes
from yt8m.components.report.sections.run import components, provenance
from yt8m.components.report.sections.serving import serving
from yt8m.components.report.sections.training import training
from yt8m.components.report.sections.tuner import tuner
from yt8m.components.report.sections.verdict import headline, verdict
from yt8m.components.report.style import STYLE
from yt8m.components.report.summary import summary_json

# The browser itself then refuses whatever would leave this file.
_POLICY = f"default-src 'none'; style-src 'unsafe-inline'; script-src {SOURCE}; img-src data:"
_ICON = "data:,"  # or browsers ask the server for one

# What the reader of such a verdict looks for.
_FIRST = {Outcome.FAILED: "components", Outcome.STOPPED: "data"}


def write_report(report: RunReport, directory: str) -> str:
    """Write page and summary into `directory`; returns the page's address."""
    storage.make_dirs(directory)
    storage.write_text(storage.join(directory, SUMMARY_FILE), summary_json(report))
    page = storage.join(directory, PAGE_FILE)
    storage.write_text(page, render(report))
    return page


def _objective(report: RunReport) -> str:
    return str((report.configuration.get("tuner") or {}).get("objective", "score"))


def render(report: RunReport) -> str:
    """The report as a whole HTML document."""
    sections = {
        "metrics": ("Metrics", metrics(report)),
        "slices": ("Slices", slices(report)),
        "classes": ("Classes", classes(report)),
        "mistakes": ("Mistakes", mistakes(report.evaluation)),
        "tuner": ("Tuner", tuner(report.trials, _objective(report))),
        "training": ("Training", training(report.training, report.overall.candidate.get("loss"))),
        "serving": ("Serving", serving(report.infra_check)),
        "data": ("Data", data_section(report.data)),
        "components": ("Components", components(report)),
        "provenance": ("Provenance", provenance(report)),
    }
    first = _FIRST.get(report.verdict.outcome)
    if first is not None:
        sections = {first: sections.pop(first), **sections}
    present = {name: (title, s) for name, (title, s) in sections.items() if s is not None}
    links = [
        element("li", element("a", title, href=f"#{name}")) for name, (title, _) in present.items()
    ]
    made = report.created.replace("T", " ").replace("+00:00", " UTC")
    run = " · ".join(part for part in (report.pipeline, report.run_id, made) if part)
    title = f"{headline(report)} – {report.pipeline} {report.run_id}".strip()
    return document(
        title,
        element(
            "header",
            element("div", run, class_="muted"),
            verdict(report),
            element("nav", element("ul", *links), aria_label="Sections"),
            class_="top",
        ),
        *[section for _, section in present.values()],
        footer=f"Made by yt8m. {SUMMARY_FILE} beside this page holds the same data.",
    )


def document(title: str, header: Markup, *sections: Markup, footer: str = "Made by yt8m.") -> str:
    """A whole HTML document in the report's style."""
    body = element(
        "body",
        header,
        element("main", *sections),
        element("footer", footer),
        element("script", Markup(SCRIPT)),
    )
    return f"<!doctype html>\n{element('html', _head(title), body, lang='en')}\n"


def _head(title: str) -> Markup:
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        Markup(f'<link rel="icon" href="{_ICON}">'),
        element("style", join(Markup(STYLE))),
    )
