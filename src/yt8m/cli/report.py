"""Where a run's report is; --open shows it in the browser.

examples:
  yt8m report --root demo/run
  yt8m report --root demo/run --open
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from yt8m.cli.arguments import add_root_arguments, add_run_argument, record_of
from yt8m.components.console.console import Console
from yt8m.schemas.errors import UserError, Yt8mError

if TYPE_CHECKING:
    from yt8m.components.artifacts.run_record import RunRecord


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_argument(parser)
    add_root_arguments(parser)
    parser.add_argument("--open", action="store_true", help="show it in the browser")


def run(args: argparse.Namespace, console: Console) -> None:
    record = record_of(args)
    path = Path(record.report)
    if not record.report or not path.is_file():
        raise UserError(f"run {record.run_id} has no report: {_why(record)}")
    console.result({"run_id": record.run_id, "report": str(path)}, str(path))
    if args.open:
        import webbrowser

        if not webbrowser.open(path.as_uri()):
            raise Yt8mError(f"no browser could be started; the report is {path}")


def _why(record: RunRecord) -> str:
    from yt8m.components.artifacts.run_record import Verdict

    if record.verdict is Verdict.RUNNING:
        return "it is still running, and writes its report at the end"
    if record.verdict is Verdict.KILLED:
        return f"it was killed {record.reason}; the run that continues it has one"
    return f"{record.report or 'its file'} no longer exists"
