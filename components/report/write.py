"""The two files of a report."""

from __future__ import annotations

from yt8m.components.artifacts.report import PAGE_FILE, SUMMARY_FILE
from yt8m.components.report.model import RunReport
from yt8m.components.report.page import render
from yt8m.components.report.summary import summary_json
from yt8m.components.storage import files


def write_report(report: RunReport, directory: str) -> str:
    """Write page and summary into `directory`; returns the page's address."""
    files.make_dirs(directory)
    files.write_text(files.join(directory, SUMMARY_FILE), summary_json(report))
    page = files.join(directory, PAGE_FILE)
    files.write_text(page, render(report))
    return page
