"""List what is on the server: pipelines, versions, runs or schedules.

examples:
  yt8m kubeflow list pipelines
  yt8m kubeflow list versions smoke
  yt8m kubeflow list runs --limit 5
  yt8m kubeflow list schedules --experiment retraining --json
"""

from __future__ import annotations

import argparse
from datetime import datetime
from typing import TYPE_CHECKING

from yt8m.components.console.console import Console
from yt8m.kubeflow.server.connection import (
    add_connection_arguments,
    add_experiment_argument,
    read_connection,
)
from yt8m.schemas.errors import UserError

if TYPE_CHECKING:
    from yt8m.kubeflow.server.client import KfpClient

_COLUMNS = {
    "pipelines": ("name", "id", "created"),
    "versions": ("name", "id", "created"),
    "runs": ("name", "state", "id", "created", "finished"),
    "schedules": ("name", "enabled", "cron", "catch up", "id", "version"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=sorted(_COLUMNS), help="what to list")
    parser.add_argument("pipeline", nargs="?", default="", help="whose versions")
    parser.add_argument("--limit", type=int, default=20, help="how many runs (default 20)")
    parser.add_argument("--dry-run", action="store_true", help="no effect: listing changes nothing")
    add_experiment_argument(parser, "of this experiment alone (default: of all)")
    add_connection_arguments(parser)


def run(args: argparse.Namespace, console: Console) -> None:
    from yt8m.kubeflow.server.client import connect

    connection = read_connection(args)
    client = connect(connection)
    rows = _rows(args, client, connection.experiment)
    columns = _COLUMNS[args.what]
    value = {args.what: [dict(zip(columns, row, strict=True)) for row in rows]}
    console.result(value, console.table(columns, rows) if rows else f"no {args.what}")


def _rows(args: argparse.Namespace, client: KfpClient, experiment: str) -> list[list[str | bool]]:
    from yt8m.kubeflow.server.client import find_pipeline

    if args.what == "pipelines":
        return [[p.name, p.id, _time(p.created)] for p in client.pipelines()]
    if args.what == "versions":
        if not args.pipeline:
            raise UserError("whose versions? `yt8m kubeflow list versions PIPELINE`")
        found = find_pipeline(client, args.pipeline)
        if found is None:
            raise UserError(f"no pipeline {args.pipeline!r}; `yt8m kubeflow list pipelines`")
        return [[v.name, v.id, _time(v.created)] for v in client.versions(found.id)]
    experiment_id = client.experiment_id(experiment, create=False) if experiment else ""
    if experiment and not experiment_id:
        raise UserError(f"no experiment {experiment!r} on the server")
    if args.what == "runs":
        runs = client.runs(experiment_id, limit=args.limit)
        return [[r.name, r.state, r.id, _time(r.created), _time(r.finished)] for r in runs]
    return [
        [
            s.launch.name,
            s.enabled,
            s.timing.cron,
            not s.timing.no_catchup,
            s.id,
            s.launch.version_id,
        ]
        for s in client.schedules(experiment_id)
    ]


def _time(at: datetime | None) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%S") if at else ""
