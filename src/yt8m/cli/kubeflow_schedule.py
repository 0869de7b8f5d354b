"""Run an uploaded pipeline again and again.

CRON has the usual five fields (minute hour day month weekday), or six with the seconds first, as
Kubeflow itself wants them. The command explains it by the next three times. A schedule of the
same name is replaced, never doubled; without a change nothing happens. Missed times are not
caught up on unless --catch-up is given.

examples:
  yt8m kubeflow schedule smoke --cron '0 3 * * *' --name nightly
  yt8m kubeflow schedule smoke --cron '0 0 3 * * mon-fri' --name nightly --param span=7
  yt8m kubeflow schedule smoke --cron '0 9 * * *' --timezone Asia/Tokyo --name nightly
  yt8m kubeflow schedule smoke --cron '0 3 * * *' --name nightly --disabled
  yt8m kubeflow schedule smoke --cron '0 3 * * *' --name nightly --dry-run --json
"""

from __future__ import annotations

import argparse
from datetime import UTC

from yt8m.cli.kubeflow_run import add_launch_arguments, resolve_launch
from yt8m.components.console.console import Console
from yt8m.kubeflow.server.connection import add_connection_arguments, link, read_connection


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_launch_arguments(parser)
    parser.add_argument("--cron", required=True, help="when, e.g. '0 3 * * *'")
    parser.add_argument("--name", default="", help="name of the schedule (default: the pipeline's)")
    parser.add_argument("--timezone", default="UTC", help="zone the cron is meant in (default UTC)")
    parser.add_argument(
        "--cluster-timezone",
        default="UTC",
        help="zone the cluster counts in: its CRON_SCHEDULE_TIMEZONE (default UTC)",
    )
    parser.add_argument("--max-concurrency", type=int, default=1, help="runs at once, 1-10")
    parser.add_argument("--catch-up", action="store_true", help="run every missed time too")
    parser.add_argument("--disabled", action="store_true", help="keep it, switched off")
    parser.add_argument("--dry-run", action="store_true", help="look, and change nothing")
    add_connection_arguments(parser)


def run(args: argparse.Namespace, console: Console) -> None:
    from datetime import datetime

    from yt8m.kubeflow.server.client import Timing, connect
    from yt8m.kubeflow.server.schedule import Change, schedule
    from yt8m.schemas.cron import parse_cron

    cron = parse_cron(args.cron, zone=args.timezone, cluster_zone=args.cluster_timezone)
    connection = read_connection(args)
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
