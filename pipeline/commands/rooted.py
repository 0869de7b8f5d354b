"""The arguments that say which root is looked at, shared by the commands that look at runs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from yt8m.pipeline.run.workspace import Layout
from yt8m.schemas.errors import UserError

if TYPE_CHECKING:
    from yt8m.pipeline.lineage import Lineage
    from yt8m.pipeline.run.record import RunRecord


def add_root_arguments(parser: argparse.ArgumentParser) -> None:
    """`--root`, and where its metadata are when they are not in it."""
    parser.add_argument("--root", required=True, metavar="DIR", help="as given to `yt8m run`")


def add_run_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", nargs="?", default="", metavar="RUN", help="default: the newest")


def layout_of(args: argparse.Namespace) -> Layout:
    """The layout of a root that exists."""
    root = Path(args.root).absolute()
    if not Layout(root).runs.is_dir():
        raise UserError(f"{root}: no run was started there; give the --root of `yt8m run`")
    return Layout(root)


def chosen_record(args: argparse.Namespace) -> RunRecord:
    """The record of the run that was named, or of the newest."""
    from yt8m.pipeline.killed import list_runs

    layout = layout_of(args)
    records = list_runs(layout)
    for record in records:
        if args.run in ("", record.run_id):
            return record
    known = ", ".join(record.run_id for record in records[:5]) or "none"
    raise UserError(f"no run {args.run} in {layout.root}; the newest are {known}")


def lineage_of(layout: Layout, record: RunRecord) -> Lineage | None:
    """MLMD, where `record`'s run kept it; None where no run came so far as to make it."""
    from yt8m.pipeline.lineage import Lineage
    from yt8m.pipeline.metadata import MetadataConfig, open_store
    from yt8m.schemas.config_tree import from_dict

    config = from_dict(MetadataConfig, record.config.get("metadata", {}), path="metadata")
    if config.mysql is None and not layout.database.exists():
        return None
    return Lineage(open_store(config, layout.database))
