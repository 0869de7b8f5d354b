"""Action of `yt8m kubeflow unschedule`."""

from __future__ import annotations

from yt8m.cli.arguments.kubeflow import UnscheduleArguments
from yt8m.cli.selection import connection_of
from yt8m.components.console.console import Console
from yt8m.kubeflow.server.client import connect
from yt8m.kubeflow.server.runs import DEFAULT_EXPERIMENT
from yt8m.kubeflow.server.schedule import unschedule


def run(args: UnscheduleArguments, console: Console) -> None:
    connection = connection_of(args)
    client = connect(connection)
    name = connection.experiment or DEFAULT_EXPERIMENT
    experiment_id = client.experiment_id(name, create=False)
    gone = unschedule(client, experiment_id, args.name, dry_run=args.dry_run)
    value = {
        "name": args.name,
        "experiment": name,
        "removed": [s.id for s in gone],
        "dry_run": args.dry_run,
    }
    verb = "would delete" if args.dry_run else "deleted"
    ids = ", ".join(s.id for s in gone)
    nothing = f"no schedule {args.name!r} in experiment {name!r}: nothing to do"
    console.result(value, f"{verb} {args.name} ({ids})" if gone else nothing)
