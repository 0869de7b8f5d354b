"""Action of `yt8m report`."""

from __future__ import annotations

import webbrowser
from pathlib import Path

from yt8m.cli.arguments.runs import ReportArguments
from yt8m.components.artifacts.run_record import RunRecord, Verdict
from yt8m.components.console.console import Console
from yt8m.pipeline.run_record import record_named
from yt8m.pipeline.workspace import layout_of
from yt8m.schemas.errors import UserError, Yt8mError


def run(args: ReportArguments, console: Console) -> None:
    record = record_named(layout_of(args.root), args.run)
    path = Path(record.report)
    if not record.report or not path.is_file():
        raise UserError(f"run {record.run_id} has no report: {_why(record)}")
    console.result({"run_id": record.run_id, "report": str(path)}, str(path))
    if args.open and not webbrowser.open(path.as_uri()):
        raise Yt8mError(f"no browser could be started; the report is {path}")


def _why(record: RunRecord) -> str:
    if record.verdict is Verdict.RUNNING:
        return "it is still running, and writes its report at the end"
    if record.verdict is Verdict.KILLED:
        return f"it was killed {record.reason}; the run that continues it has one"
    return f"{record.report or 'its file'} no longer exists"
