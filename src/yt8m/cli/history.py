"""The runs so far, the newest first: when, which spans, GAP, pushed or why not.

Every metric of every run is in --json and --csv; --metric shows others than GAP in the table.

With --mlflow they are also written to an MLflow server or database: configuration, metrics with
intervals, curves, what each component took, where artifacts lie. Given again, what is there stays.

examples:
  yt8m history --root demo/run
  yt8m history --root demo/run --metric gap --metric map
  yt8m history --root demo/run --json
  yt8m history --root demo/run --csv > runs.csv
  yt8m history --root demo/run --mlflow http://127.0.0.1:5000
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from yt8m.cli.arguments import add_root_arguments, layout_of
from yt8m.components.console.console import Console
from yt8m.components.evaluator.config import GAP

if TYPE_CHECKING:
    from yt8m.components.artifacts.run_record import RunRecord
    from yt8m.pipeline.workspace import Layout

_SHORT = 90


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_root_arguments(parser)
    parser.add_argument(
        "--metric", action="append", metavar="NAME", help="metric to show, of ours or yours (gap)"
    )
    parser.add_argument("--csv", action="store_true", help="comma-separated values")
    parser.add_argument("--mlflow", metavar="URI", help="write them to this MLflow, too")
    parser.add_argument(
        "--experiment", metavar="NAME", help="of --mlflow (default: the pipeline's name)"
    )


def run(args: argparse.Namespace, console: Console) -> None:
    from yt8m.pipeline.results.model_results import lineage_of
    from yt8m.pipeline.run_record import list_runs

    _check(args)
    layout = layout_of(args)
    records = list_runs(layout)
    lineage = lineage_of(layout, records[0]) if records else None
    noted = dict(lineage.notes()) if lineage else {}
    runs = [{"run_id": run_id, **notes} for run_id, notes in noted.items()]
    # A run that is under way has none yet, and one that ended before its first component no place.
    runs += [
        {
            "run_id": r.run_id,
            "started": r.started,
            "seconds": r.seconds or None,
            "verdict": r.verdict.value,
            "reason": r.reason,
        }
        for r in records
        if r.run_id not in noted
    ]
    runs.sort(key=lambda run: str(run["run_id"]), reverse=True)
    if args.mlflow:
        _export(args, console, layout, records, runs)
    text = _csv(runs) if args.csv else _table(runs, args.metric or [GAP], console)
    console.result({"runs": runs}, text)


def _check(args: argparse.Namespace) -> None:
    from yt8m.schemas.errors import UserError

    if args.experiment and not args.mlflow:
        raise UserError("--experiment: an experiment of --mlflow, which is not given")


def _export(
    args: argparse.Namespace,
    console: Console,
    layout: Layout,
    records: list[RunRecord],
    runs: list[dict[str, Any]],
) -> None:
    from yt8m.pipeline.results.mlflow_export import connect, export_runs

    client = connect(args.mlflow)
    exported = {}
    for record, mlflow_run in export_runs(client, layout, records, args.experiment or ""):
        exported[record.run_id] = mlflow_run
    for run in runs:
        run["mlflow_run"] = exported.get(run["run_id"])
    console.info(f"{len(exported)} runs are in MLflow at {args.mlflow}")


def _csv(runs: list[dict[str, Any]]) -> str:
    """Every value of every run; a value that a run does not have is empty."""
    import csv
    import io

    text = io.StringIO()
    columns = list(dict.fromkeys(["run_id", *(name for run in runs for name in run)]))
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(runs)
    return text.getvalue().rstrip("\n")


def _table(runs: list[dict[str, Any]], metrics: Sequence[str], console: Console) -> str:
    from yt8m.components.metrics.catalogue import info_of
    from yt8m.schemas.errors import UserError

    for name in metrics:
        if name != GAP and all(name not in run for run in runs):
            raise UserError(f"--metric {name}: no run has it; --json shows what they have")
    figures = [column for name in metrics for column in (info_of(name).title, "difference")]
    columns = ("run", "started", "took", "spans", *figures, "outcome")
    return console.table(columns, [_row(run, metrics) for run in runs])


def _row(run: dict[str, Any], metrics: Sequence[str]) -> tuple[str, ...]:
    took = run.get("seconds")
    figures = ((run.get(name), run.get(f"{name}_difference")) for name in metrics)
    return (
        run["run_id"],
        time.strftime("%Y-%m-%d %H:%M", time.localtime(run["started"])),
        "" if took is None else f"{took:.0f} s",
        run.get("spans", ""),
        *(text for value, change in figures for text in (_number(value), _number(change, "+"))),
        _outcome(run),
    )


def _number(value: float | None, sign: str = "") -> str:
    return "" if value is None else f"{value:{sign}.4f}"


def _outcome(run: dict[str, Any]) -> str:
    from yt8m.pipeline.run_record import display_status

    if run.get("version"):
        return f"pushed version {run['version']}"
    reason = str(run.get("reason", "")).partition("\n")[0]
    text = display_status(str(run["verdict"]), reason)
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}..."
