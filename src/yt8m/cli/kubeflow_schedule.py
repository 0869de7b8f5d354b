"""Action of `yt8m kubeflow schedule`."""

from __future__ import annotations

from datetime import UTC, datetime

from yt8m.cli.arguments.kubeflow import ScheduleArguments
from yt8m.cli.kubeflow_run import resolve_launch
from yt8m.cli.selection import connection_of
from yt8m.components.console.console import Console
from yt8m.kubeflow.server.client import Timing, connect
from yt8m.kubeflow.server.connection import link
from yt8m.kubeflow.server.schedule import Change, schedule
from yt8m.schemas.cron import parse_cron


def run(args: ScheduleArguments, console: Console) -> None:
    cron = parse_cron(args.cron, zone=args.timezone, cluster_zone=args.cluster_timezone)
    connection = connection_of(args)
    client = connect(connection)
    launch = resolve_launch(args, connection, client, name=args.name or args.pipeline)
    timing = Timing(
        cron=cron.expression,
        max_concurrency=args.max_concurrency,
        no_catchup=not args.catch_up,
    )
    done = schedule(client, launch, timing, enabled=not args.disabled, dry_run=args.dry_run)
    now = datetime.now(UTC)
    page = link(connection, "schedule", done.schedule.id) if done.schedule.id else ""
    value = {
        "name": launch.name,
        "schedule_id": done.schedule.id,
        "change": done.change.value,
        "removed": list(done.removed),
        "enabled": done.schedule.enabled,
        "cron": cron.expression,
        "next": [at.isoformat() for at in cron.next_times(now)],
        "parameters": dict(launch.parameters),
        "dry_run": args.dry_run,
        "link": page,
    }
    would = "would be " if args.dry_run and done.change is not Change.NONE else ""
    off = "" if done.schedule.enabled else "\nswitched off: no run will start"
    text = f"{launch.name}: {would}{done.change.value}\n{cron.explain(now)}{off}"
    console.result(value, f"{text}\n{page}" if page else text)
