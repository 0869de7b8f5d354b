"""Action of `yt8m history`."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Sequence, Set
from typing import Any

from yt8m.cli.arguments.runs import HistoryArguments
from yt8m.components.artifacts.run_record import RunRecord
from yt8m.components.artifacts.spans import are_dates, span_names
from yt8m.components.console.console import Console
from yt8m.components.metrics.catalogue import info_of
from yt8m.pipeline.results.model_results import lineage_of
from yt8m.pipeline.run_record import display_status, list_runs, unreadable_runs
from yt8m.pipeline.workspace import Layout, layout_of
from yt8m.schemas.errors import UserError
from yt8m.schemas.metric_names import GAP
from yt8m.schemas.plain_text import csv_cell

_SHORT = 90


def run(args: HistoryArguments, console: Console) -> None:
    layout = layout_of(args.root)
    records = list_runs(layout)
    problems = list(unreadable_runs(layout, records))
    for problem in problems:
        console.warn(problem)
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
        _export(args.mlflow, args.experiment or "", console, layout, records, runs)
    dated = {record.run_id for record in records if are_dates(record.config)}
    text = _csv(runs) if args.csv else _table(runs, args.metric or [GAP], dated, console)
    console.result({"runs": runs, "problems": problems}, text)


def _export(
    uri: str,
    experiment: str,
    console: Console,
    layout: Layout,
    records: list[RunRecord],
    runs: list[dict[str, Any]],
) -> None:
    from yt8m.pipeline.results.mlflow_export import connect, export_runs

    client = connect(uri)
    exported = {}
    for record, mlflow_run in export_runs(client, layout, records, experiment):
        exported[record.run_id] = mlflow_run
    for run in runs:
        run["mlflow_run"] = exported.get(run["run_id"])
    console.info(f"runs in MLflow at {uri}: {len(exported)}")


def _csv(runs: list[dict[str, Any]]) -> str:
    """Every value of every run; a value that a run does not have is empty."""
    text = io.StringIO()
    columns = list(dict.fromkeys(["run_id", *(name for run in runs for name in run)]))
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writerow({name: csv_cell(name) for name in columns})
    writer.writerows({name: csv_cell(value) for name, value in run.items()} for run in runs)
    return text.getvalue().rstrip("\n")


def _table(
    runs: list[dict[str, Any]], metrics: Sequence[str], dated: Set[str], console: Console
) -> str:
    """`dated`: the runs whose spans are dates."""
    for name in metrics:
        if name != GAP and all(name not in run for run in runs):
            raise UserError(
                f"--metric {name}: no run has a value of it: none has computed it, or it is "
                "undefined on their records; --json shows what they have"
            )
    figures = [column for name in metrics for column in (info_of(name).title, "difference")]
    columns = ("run", "started", "took", "spans", *figures, "outcome")
    return console.table(columns, [_row(run, metrics, dated) for run in runs])


def _row(run: dict[str, Any], metrics: Sequence[str], dated: Set[str]) -> tuple[str, ...]:
    spans = [int(span) for span in run.get("spans", "").split(",") if span]
    took = run.get("seconds")
    figures = ((run.get(name), run.get(f"{name}_difference")) for name in metrics)
    return (
        run["run_id"],
        time.strftime("%Y-%m-%d %H:%M", time.localtime(run["started"])),
        "" if took is None else f"{took:.0f} s",
        span_names(spans, dated=run["run_id"] in dated),
        *(text for value, change in figures for text in (_number(value), _number(change, "+"))),
        _outcome(run),
    )


def _number(value: float | None, sign: str = "") -> str:
    return "" if value is None else f"{value:{sign}.4f}"


def _outcome(run: dict[str, Any]) -> str:
    if run.get("version"):
        return f"pushed version {run['version']}"
    reason = str(run.get("reason", "")).partition("\n")[0]
    text = display_status(str(run["verdict"]), reason)
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}..."
