"""Action of `yt8m kubeflow archive`."""

from __future__ import annotations

from yt8m.cli.arguments.kubeflow import ArchiveArguments
from yt8m.cli.kubeflow_runs import change_run
from yt8m.components.console.console import Console


def run(args: ArchiveArguments, console: Console) -> None:
    done = "put back" if args.undo else "archived"
    change_run(
        args,
        console,
        done,
        lambda client: client.archive_run(args.run, undo=args.undo),
    )
