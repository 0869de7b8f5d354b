"""The two files of a report."""

from __future__ import annotations

from yt8m.components import storage
from yt8m.components.artifacts.report import PAGE_FILE, SUMMARY_FILE
from yt8m.components.report.model import RunReport
from yt8m.components.report.page import render
from yt8m.components.report.summary import summary_json


def write_report(report: RunReport, directory: str) -> str:
    """Write page and summary into `directory`; returns the page's address."""
    storage.make_dirs(directory)
    storage.write_text(storage.join(directory, SUMMARY_FILE), summary_json(report))
    page = storage.join(directory, PAGE_FILE)
    storage.write_text(page, render(report))
    return page
