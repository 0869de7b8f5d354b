"""Action of `yt8m gc`."""

from __future__ import annotations

import contextlib
import time
from typing import Any

from yt8m.cli.arguments.runs import GcArguments
from yt8m.components.console.console import Console
from yt8m.pipeline.config import RetentionConfig
from yt8m.pipeline.results.model_results import lineage_of
from yt8m.pipeline.run.garbage_collection import find_waste, remove
from yt8m.pipeline.run_record import read_run_records, unreadable_runs
from yt8m.pipeline.workspace import layout_of, run_lock
from yt8m.schemas.config_tree import from_dict

_NOTHING = "nothing to remove: each run is new enough, the newest, or has its model in the registry"

_ADVICE = "wait for it, stop it, or look with --dry-run, which may be beside a run"


def run(args: GcArguments, console: Console) -> None:
    layout = layout_of(args.root)
    # A dry run only reads, so it may be beside a run.
    with contextlib.nullcontext() if args.dry_run else run_lock(layout.lock, advice=_ADVICE):
        newest = next(read_run_records(layout), None)
        lineage = lineage_of(layout, newest) if newest else None
        if newest is None or lineage is None:
            for problem in unreadable_runs(layout, ()):
                console.warn(problem)
            console.result({"runs": [], "paths": [], "bytes": 0}, _NOTHING)
            return
        waste = find_waste(layout, lineage, _policy(args, newest.config), now=time.time())
        gained = waste.bytes
        if not args.dry_run:
            remove(waste, lineage)
    for note in waste.notes:
        console.warn(note)
    value = {"runs": list(waste.runs), "paths": list(waste.paths), "bytes": gained}
    verb = "would be removed" if args.dry_run else "removed"
    text = f"{len(waste.runs)} runs, {gained / 1e6:.1f} MB {verb}" if waste.paths else _NOTHING
    console.result(value, "\n".join([*waste.paths, text]))


def _policy(args: GcArguments, config: dict[str, Any]) -> RetentionConfig:
    """As the newest run was configured, with the arguments on top."""
    given = {"keep_runs": args.keep_runs, "keep_days": args.keep_days}
    over = {name: value for name, value in given.items() if value is not None}
    return from_dict(RetentionConfig, {**config.get("retention", {}), **over}, path="retention")
