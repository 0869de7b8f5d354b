"""Action of `yt8m kubeflow schedule`."""

from __future__ import annotations

from datetime import UTC, datetime

from yt8m.cli.arguments.kubeflow import ScheduleArguments
from yt8m.cli.kubeflow_run import resolve_launch
from yt8m.cli.selection import connection_of
from yt8m.components.console.console import Console
from yt8m.kubeflow.server.client import Launch, Timing, connect
from yt8m.kubeflow.server.connection import link
from yt8m.kubeflow.server.runs import DEFAULT_EXPERIMENT
from yt8m.kubeflow.server.schedule import Change, schedule, scheduled_version
from yt8m.schemas.cron import parse_cron
from yt8m.schemas.errors import UserError


def run(args: ScheduleArguments, console: Console) -> None:
    cron = parse_cron(args.cron, zone=args.timezone, cluster_zone=args.cluster_timezone)
    connection = connection_of(args)
    client = connect(connection)
    name = args.name or args.pipeline
    if args.latest and args.version:
        raise UserError("--latest and --version: give one of them")
    kept = ""
    if not args.latest and not args.version:
        experiment = connection.experiment or DEFAULT_EXPERIMENT
        kept = scheduled_version(client, name=name, pipeline=args.pipeline, experiment=experiment)
    launch = resolve_launch(args, connection, client, name=name, version=args.version or kept)
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
        "owner": client.owner,
        "version": launch.version,
        "newest_version": launch.newest,
        "cron": cron.expression,
        "next": [at.isoformat() for at in cron.next_times(now)],
        "parameters": dict(launch.parameters),
        "dry_run": args.dry_run,
        "link": page,
    }
    would = "would be " if args.dry_run and done.change is not Change.NONE else ""
    off = "" if done.schedule.enabled else "\nswitched off: no run will start"
    text = f"{launch.name}: {would}{done.change.value}\n{_runs_version(launch)}"
    text += f"\n{cron.explain(now)}{off}"
    console.result(value, f"{text}\n{page}" if page else text)


def _runs_version(launch: Launch) -> str:
    by = f", uploaded by {launch.version_owner}" if launch.version_owner else ""
    newer = "; the newest" if launch.version == launch.newest else f"; {launch.newest} is newer"
    return f"runs version {launch.version}{by}{newer}: --latest moves it to the newest one"
