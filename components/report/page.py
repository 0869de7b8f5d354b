"""The page, one file that needs no server and no network, and the summary beside it."""

from __future__ import annotations

from markupsafe import Markup

from yt8m.components import storage
from yt8m.components.artifacts.report import PAGE_FILE, SUMMARY_FILE
from yt8m.components.report.model import Outcome, RunReport
from yt8m.components.report.rendering import render
from yt8m.components.report.summary import summary_json

# In the order of the page; `templates/sections` has one of each name.
SECTIONS = {
    "metrics": "Metrics",
    "slices": "Slices",
    "classes": "Classes",
    "mistakes": "Mistakes",
    "tuner": "Tuner",
    "training": "Training",
    "serving": "Serving",
    "data": "Data",
    "components": "Components",
    "provenance": "Provenance",
}
# What the reader of such a verdict looks for.
_FIRST = {Outcome.FAILED: "components", Outcome.STOPPED: "data"}


def write_report(report: RunReport, directory: str) -> str:
    """Write page and summary into `directory`; returns the page's address."""
    storage.make_dirs(directory)
    storage.write_text(storage.join(directory, SUMMARY_FILE), summary_json(report))
    page = storage.join(directory, PAGE_FILE)
    storage.write_text(page, render_report(report))
    return page


def render_report(report: RunReport) -> str:
    """The report as a whole HTML document."""
    names = sorted(SECTIONS, key=lambda name: name != _FIRST.get(report.verdict.outcome))
    sections = {name: section for name in names if (section := render_section(name, report))}
    page = render(
        "run_page.html",
        report=report,
        sections=sections,
        titles=SECTIONS,
        summary_file=SUMMARY_FILE,
    )
    return f"{page}\n"


def render_section(name: str, report: RunReport) -> Markup:
    """One of `SECTIONS`; empty where the run has nothing to show."""
    return render(f"sections/{name}.html", report=report)
