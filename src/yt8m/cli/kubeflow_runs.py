"""Common part of the commands that change one run on Kubeflow."""

from __future__ import annotations

from collections.abc import Callable, Collection

from yt8m.cli.arguments.kubeflow import RunChangeArguments
from yt8m.cli.selection import connection_of
from yt8m.components.console.console import Console
from yt8m.kubeflow.server.client import KfpClient, connect
from yt8m.kubeflow.server.connection import link
from yt8m.schemas.errors import UserError


def change_run(
    args: RunChangeArguments,
    console: Console,
    done: str,
    change: Callable[[KfpClient], None],
    *,
    states: Collection[str] = (),
) -> None:
    """Do `change` to a run that is there, and is in one of `states` (empty: in any)."""
    connection = connection_of(args)
    client = connect(connection)
    run = client.run(args.run)
    if states and run.state not in states:
        raise UserError(
            f"run {run.name} ({args.run}) is {run.state}; only one that is "
            f"{' or '.join(states)} can be {done}"
        )
    if not args.dry_run:
        change(client)
    page = link(connection, "run", args.run)
    value = {
        "run_id": args.run,
        "name": run.name,
        "change": done,
        "state_before": run.state,
        "dry_run": args.dry_run,
        "link": page,
    }
    would = "would be " if args.dry_run else ""
    console.result(value, f"{run.name}: {would}{done} (it was {run.state})\n{page}")
