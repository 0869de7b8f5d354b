"""Delete a schedule; runs that it started go on.

To keep it and switch it off, use `yt8m kubeflow schedule ... --disabled`.

examples:
  yt8m kubeflow unschedule nightly
  yt8m kubeflow unschedule nightly --experiment retraining --dry-run
"""

from __future__ import annotations

import argparse

from yt8m.components.console.console import Console
from yt8m.kubeflow.server.connection import (
    add_connection_arguments,
    add_experiment_argument,
    read_connection,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="name or id of the schedule")
    parser.add_argument("--dry-run", action="store_true", help="look, and change nothing")
    add_experiment_argument(parser)
    add_connection_arguments(parser)


def run(args: argparse.Namespace, console: Console) -> None:
    from yt8m.kubeflow.server.client import connect
    from yt8m.kubeflow.server.runs import DEFAULT_EXPERIMENT
    from yt8m.kubeflow.server.schedule import unschedule

    connection = read_connection(args)
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
