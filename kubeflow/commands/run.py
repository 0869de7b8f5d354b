"""Start one run of an uploaded pipeline.

Parameters are checked against the compiled pipeline before anything is sent. If the server's
answer is lost, the run is looked for before it is started again.

examples:
  yt8m kubeflow run smoke --param span=3 --wait
  yt8m kubeflow run smoke --version sha256-0123456789abcdef --root s3://bucket/runs
  yt8m kubeflow run smoke --param gap_threshold=0.82 --dry-run --json
"""

from __future__ import annotations

import argparse

from yt8m.components.console.console import Console
from yt8m.kubeflow.arguments import (
    add_connection_arguments,
    add_launch_arguments,
    connect,
    link,
    read_connection,
    resolve_launch,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_launch_arguments(parser)
    parser.add_argument("--name", default="", help="name of the run (default: pipeline and time)")
    parser.add_argument("--wait", action="store_true", help="follow it to its end")
    parser.add_argument("--dry-run", action="store_true", help="check, and start nothing")
    add_connection_arguments(parser)


def run(args: argparse.Namespace, console: Console) -> int | None:
    import time

    from yt8m.schemas.config_tree import to_dict

    connection = read_connection(args)
    client = connect(connection)
    name = args.name or f"{args.pipeline} {time.strftime('%Y-%m-%d %H:%M:%S')}"
    launch = resolve_launch(args, connection, client, name=name)
    if args.dry_run:
        value = {"dry_run": True, "launch": to_dict(launch)}
        console.result(value, f"would start {launch.name}: {dict(launch.parameters)}")
        return None
    started = client.start_run(launch)
    page = link(connection, "run", started.id)
    if args.wait:
        from yt8m.kubeflow.commands.wait import follow
        from yt8m.kubeflow.wait import Pace

        console.info(f"started {started.name}: {page}")
        return follow(client, started.id, console, page, Pace())
    value = {"dry_run": False, "run_id": started.id, "name": started.name, "link": page}
    console.result(value, f"started {started.name} ({started.id})\n{page}")
    return None
