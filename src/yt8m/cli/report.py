"""Action of `yt8m report`."""

from __future__ import annotations

import webbrowser

from yt8m.cli.arguments.runs import ReportArguments
from yt8m.components import storage
from yt8m.components.artifacts.run_record import RunRecord, Verdict
from yt8m.components.console.console import Console
from yt8m.pipeline.results.all_runs import all_runs_page
from yt8m.pipeline.run_record import list_runs, record_named, unreadable_runs
from yt8m.pipeline.workspace import layout_of
from yt8m.schemas.errors import UserError, Yt8mError


def run(args: ReportArguments, console: Console) -> None:
    layout = layout_of(args.root)
    if args.all:
        page, records = layout.all_runs, list_runs(layout)
        for problem in unreadable_runs(layout, records):
            console.warn(problem)
        if not records:
            raise UserError(f"{layout.root}: no run there has a record that can be read")
        storage.write_text(page, all_runs_page(layout, records))
        console.result({"report": page}, page)
        _open(args, page)
        return
    record = record_named(layout, args.run)
    page = record.report
    if not page or not storage.exists(page):
        raise UserError(f"run {record.run_id} has no report: {_why(record)}")
    console.result({"run_id": record.run_id, "report": page}, page)
    _open(args, page)


def _open(args: ReportArguments, page: str) -> None:
    local = storage.local_path(page)
    if args.open and local is None:
        raise UserError(f"{page} is in an object store: fetch it, and open the copy")
    if args.open and local is not None and not webbrowser.open(local.as_uri()):
        raise Yt8mError(f"no browser could be started; the report is {page}")


def _why(record: RunRecord) -> str:
    if record.verdict is Verdict.RUNNING:
        return "it is still running, and writes its report at the end"
    if record.verdict is Verdict.KILLED:
        return f"it was killed {record.reason}; the run that continues it has one"
    return f"{record.report or 'its file'} no longer exists; with --all its figures are shown"
