"""The two files of a report."""

from __future__ import annotations

from yt8m.components.report.model import ReportFacts
from yt8m.components.report.page import render
from yt8m.components.storage import files

PAGE_FILE = "report.html"
FACTS_FILE = "report.json"


def write_report(facts: ReportFacts, directory: str) -> str:
    """Write page and facts into `directory`; returns the page's address."""
    files.make_dirs(directory)
    files.write_text(files.join(directory, FACTS_FILE), facts.to_json())
    page = files.join(directory, PAGE_FILE)
    files.write_text(page, render(facts))
    return page
