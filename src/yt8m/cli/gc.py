"""Remove what old runs left and nothing needs: artifacts, checkpoints, logs.

A run goes when it is both older than --keep-days and not among the newest --keep-runs. The newest
run, runs whose models are in the registry, and artifacts that a kept run took from the cache stay.
The metadata store keeps its history; the artifacts that are gone are marked deleted there.

examples:
  yt8m gc --root demo/run --dry-run
  yt8m gc --root demo/run --keep-runs 5 --keep-days 7
"""

from __future__ import annotations

import argparse
from typing import Any

from yt8m.cli.arguments import add_root_arguments, layout_of
from yt8m.components.console.console import Console
from yt8m.pipeline.config import RetentionConfig

_NOTHING = "nothing to remove: each run is new enough, the newest, or has its model in the registry"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_root_arguments(parser)
    parser.add_argument("--keep-runs", type=int, metavar="N", help="default: retention.keep_runs")
    parser.add_argument("--keep-days", type=float, metavar="DAYS", help="retention.keep_days")
    parser.add_argument("--dry-run", action="store_true", help="list it, and remove nothing")


def run(args: argparse.Namespace, console: Console) -> None:
    import time

    from yt8m.pipeline.results.model_results import lineage_of
    from yt8m.pipeline.run.garbage_collection import find_waste, remove
    from yt8m.pipeline.run_record import read_run_records
    from yt8m.pipeline.workspace import run_lock

    layout = layout_of(args)
    with run_lock(layout.lock):
        newest = next(read_run_records(layout), None)
        lineage = lineage_of(layout, newest) if newest else None
        if newest is None or lineage is None:
            console.result({"runs": [], "paths": [], "bytes": 0}, _NOTHING)
            return
        waste = find_waste(layout, lineage, _policy(args, newest.config), now=time.time())
        gained = waste.bytes
        if not args.dry_run:
            remove(waste, lineage)
    value = {"runs": list(waste.runs), "paths": list(map(str, waste.paths)), "bytes": gained}
    verb = "would be removed" if args.dry_run else "removed"
    text = f"{len(waste.runs)} runs, {gained / 1e6:.1f} MB {verb}" if waste.paths else _NOTHING
    console.result(value, "\n".join([*map(str, waste.paths), text]))


def _policy(args: argparse.Namespace, config: dict[str, Any]) -> RetentionConfig:
    """As the newest run was configured, with the arguments on top."""
    from yt8m.schemas.config_tree import from_dict

    given = {"keep_runs": args.keep_runs, "keep_days": args.keep_days}
    over = {name: value for name, value in given.items() if value is not None}
    return from_dict(RetentionConfig, {**config.get("retention", {}), **over}, path="retention")
