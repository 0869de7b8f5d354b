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
from typing import TYPE_CHECKING

from yt8m.components.console.console import Console
from yt8m.kubeflow.server.connection import (
    Connection,
    add_connection_arguments,
    add_experiment_argument,
    link,
    read_connection,
)

if TYPE_CHECKING:
    from yt8m.kubeflow.server.client import KfpClient, Launch


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_launch_arguments(parser)
    parser.add_argument("--name", default="", help="name of the run (default: pipeline and time)")
    parser.add_argument("--wait", action="store_true", help="follow it to its end")
    parser.add_argument("--dry-run", action="store_true", help="check, and start nothing")
    add_connection_arguments(parser)


def run(args: argparse.Namespace, console: Console) -> int | None:
    import time

    from yt8m.kubeflow.server.client import connect
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
        from yt8m.cli.kubeflow_wait import follow
        from yt8m.kubeflow.server.runs import Polling

        console.info(f"started {started.name}: {page}")
        return follow(client, started.id, console, page, Polling())
    value = {"dry_run": False, "run_id": started.id, "name": started.name, "link": page}
    console.result(value, f"started {started.name} ({started.id})\n{page}")
    return None


def add_launch_arguments(parser: argparse.ArgumentParser) -> None:
    """What a run starts with, for `run` and `schedule` alike."""
    parser.add_argument("pipeline", help="name or id of an uploaded pipeline")
    parser.add_argument("--version", default="", help="its version (default: the newest)")
    parser.add_argument(
        "--param", metavar="NAME=VALUE", action="append", default=[], help="a run-time parameter"
    )
    parser.add_argument("--root", default="", metavar="URI", help="where artifacts go, s3://...")
    parser.add_argument(
        "--run-as", default="", metavar="ACCOUNT", help="Kubernetes service account of the pods"
    )
    add_experiment_argument(parser)


def resolve_launch(
    args: argparse.Namespace, connection: Connection, client: KfpClient, *, name: str
) -> Launch:
    """What the arguments of `add_launch_arguments` mean on this server."""
    from yt8m.kubeflow.server.runs import DEFAULT_EXPERIMENT, LaunchOptions, resolve

    options = LaunchOptions(
        pipeline=args.pipeline,
        name=name,
        version=args.version,
        experiment=connection.experiment or DEFAULT_EXPERIMENT,
        root=args.root,
        parameters=args.param,
        service_account=args.run_as,
    )
    return resolve(client, options, dry_run=args.dry_run)
