"""Action of `yt8m kubeflow run`."""

from __future__ import annotations

import time

from yt8m.cli.arguments.kubeflow import KubeflowRunArguments, LaunchArguments
from yt8m.cli.kubeflow_wait import follow
from yt8m.cli.selection import connection_of
from yt8m.components.console.console import Console
from yt8m.kubeflow.server.client import KfpClient, Launch, connect
from yt8m.kubeflow.server.connection import Connection, link
from yt8m.kubeflow.server.runs import DEFAULT_EXPERIMENT, LaunchOptions, Polling, resolve
from yt8m.schemas.config_tree import to_dict


def run(args: KubeflowRunArguments, console: Console) -> int | None:
    connection = connection_of(args)
    client = connect(connection)
    name = args.name or f"{args.pipeline} {time.strftime('%Y-%m-%d %H:%M:%S')}"
    launch = resolve_launch(args, connection, client, name=name, version=args.version)
    of = _describe_version(launch)
    if args.dry_run:
        value = {"dry_run": True, "launch": to_dict(launch)}
        console.result(value, f"would start {launch.name}{of}: {dict(launch.parameters)}")
        return None
    started = client.start_run(launch)
    page = link(connection, "run", started.id)
    if args.wait:
        console.info(f"started {started.name}{of}: {page}")
        polling = Polling(args.every, args.timeout, args.patience)
        return follow(client, started.id, console, page, polling)
    value = {
        "dry_run": False,
        "run_id": started.id,
        "name": started.name,
        "version": launch.version,
        "version_owner": launch.version_owner,
        "newest_version": launch.newest,
        "link": page,
    }
    console.result(value, f"started {started.name} ({started.id}){of}\n{page}")
    return None


def _describe_version(launch: Launch) -> str:
    owner = launch.version_owner or "another client"
    newest = " (the newest)" if launch.version == launch.newest else ""
    return f" of version {launch.version}{newest}, uploaded by {owner}"


def resolve_launch(
    args: LaunchArguments, connection: Connection, client: KfpClient, *, name: str, version: str
) -> Launch:
    """Resolve the arguments on this server."""
    options = LaunchOptions(
        pipeline=args.pipeline,
        name=name,
        version=version,
        experiment=connection.experiment or DEFAULT_EXPERIMENT,
        root=args.root,
        parameters=args.param,
        service_account=args.run_as,
    )
    return resolve(client, options, dry_run=args.dry_run)
