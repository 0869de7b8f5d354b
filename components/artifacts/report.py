"""The files of a run's report."""

PAGE_FILE = "report.html"
SUMMARY_FILE = "report.json"
