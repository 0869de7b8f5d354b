"""Action of `yt8m models list`."""

from __future__ import annotations

from typing import Any

from yt8m.cli.arguments.models import ModelsListArguments
from yt8m.components.artifacts.estimate import Estimate, estimate_columns
from yt8m.components.artifacts.spans import are_dates, span_names
from yt8m.components.console.console import Console
from yt8m.components.registry.champion import champion_versions
from yt8m.components.registry.cleaning import read_leftovers
from yt8m.components.registry.versions import (
    UnusableVersionError,
    in_service,
    list_baselines,
    list_versions,
    load_version,
    newest,
    require_registry,
    taken_names,
)
from yt8m.schemas.json_file import NewerFormatError
from yt8m.schemas.metric_names import GAP

_NEWER = "newer"
_STATES = {
    "DamagedVersionError": "damaged",
    "ForeignVersionError": "foreign",
    "UnfinishedVersionError": "unfinished",
    "UnreadableVersionError": "unreadable",
}
_COLUMNS = ("version", "pushed", "origin", "GAP", "interval", "spans", "state")


def run(args: ModelsListArguments, console: Console) -> None:
    """Print a line for each version."""
    require_registry(args.push)
    numbers = sorted((*list_versions(args.push), *list_baselines(args.push)), reverse=True)
    found = [_row(args.push, number) for number in numbers]
    rows = [row for row, _ in found]
    newer = next((row["version"] for row in rows if row["state"] == _NEWER), None)
    served: int | None
    champions: frozenset[int] = frozenset()
    try:
        served = in_service(args.push).version
        champions = champion_versions(args.push)
        baseline_version = newest(args.push)
        baseline = baseline_version.number if baseline_version else None
    except NewerFormatError:  # which hides whatever is below
        served, baseline = newer, None
    rows = [
        row | {"served": row["version"] == served, "champion": row["version"] in champions}
        for row in rows
    ]
    for name, what in taken_names(args.push).items():
        console.warn(f"{name} is {what}; model servers take it for a version: remove or repair it")
    left = list(read_leftovers(args.push).problems)
    value = {"push_dir": args.push, "baseline": baseline, "versions": rows, "leftovers": left}
    for problem in left:
        console.warn(f"{problem} (the next push tries again)")
    if not rows:
        console.result(value, f"no versions in {args.push}")
        return
    lines = [_line(row, spans) for row, (_, spans) in zip(rows, found, strict=True)]
    said = f"version {baseline}" if baseline is not None else "none"
    if newer is not None and served == newer:
        said = f"version {newer}, which takes a newer yt8m: a run of this one stops"
    console.result(value, f"{console.table(_COLUMNS, lines)}\n\nthe next run's baseline: {said}")


def _row(push_dir: str, number: int) -> tuple[dict[str, Any], str]:
    """The version for machines, and its spans for people."""
    try:
        record = load_version(push_dir, number).record
    except NewerFormatError as error:
        return {"version": number, "state": _NEWER, "problem": str(error)}, ""
    except UnusableVersionError as error:
        state = _STATES[type(error).__name__]
        return {"version": number, "state": state, "problem": str(error)}, ""
    row = {
        "version": number,
        "state": "blessed" if record.blessed else "not blessed",
        "created": record.created,
        "origin": record.origin.value,
        "origin_version": record.origin_version,
        **estimate_columns(record.metrics.get(GAP, Estimate()), GAP),
        "spans": list(record.data.spans),
        "run_key": record.run_key,
    }
    return row, span_names(record.data.spans, dated=are_dates(record.configuration))


def _line(row: dict[str, Any], spans: str) -> list[object]:
    marks = [mark for mark in ("served", "champion") if row[mark]]
    state = ", ".join([row["state"], *marks])
    if "problem" in row:
        return [row["version"], "-", "-", "-", "-", "-", state]
    origin = row["origin"]
    if row["origin_version"]:
        origin += f" to {row['origin_version']}"
    return [
        row["version"],
        row["created"].replace("+00:00", "Z"),
        origin,
        "-" if row["gap"] is None else f"{row['gap']:.4f}",
        "-" if row["gap_lower"] is None else f"{row['gap_lower']:.4f} to {row['gap_upper']:.4f}",
        spans or "-",
        state,
    ]
