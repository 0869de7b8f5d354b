"""Action of `yt8m kubeflow list`."""

from __future__ import annotations

from datetime import UTC, datetime

from yt8m.cli.arguments.kubeflow import KubeflowListArguments
from yt8m.cli.selection import connection_of
from yt8m.components.console.console import Console
from yt8m.kubeflow.server.client import KfpClient, connect, find_pipeline
from yt8m.schemas.errors import UserError

_COLUMNS = {
    "pipelines": ("name", "id", "created", "namespace"),
    "versions": ("name", "id", "created", "owner"),
    "runs": ("name", "state", "archived", "id", "created", "finished"),
    "schedules": ("name", "enabled", "cron", "catch up", "id", "version", "owner"),
}


def run(args: KubeflowListArguments, console: Console) -> None:
    connection = connection_of(args)
    client = connect(connection)
    rows = _rows(args, client, connection.experiment)
    columns = _COLUMNS[args.what]
    value: dict[str, object] = {args.what: [dict(zip(columns, row, strict=True)) for row in rows]}
    console.result(value, console.table(columns, rows) if rows else f"no {args.what}")


def _rows(
    args: KubeflowListArguments, client: KfpClient, experiment: str
) -> list[list[str | bool]]:
    if args.what == "pipelines":
        return [[p.name, p.id, _time(p.created), p.namespace] for p in client.pipelines()]
    if args.what == "versions":
        if not args.pipeline:
            raise UserError("name the pipeline: `yt8m kubeflow list versions PIPELINE`")
        pipeline = find_pipeline(client, args.pipeline)
        if pipeline is None:
            raise UserError(f"no pipeline {args.pipeline!r}; `yt8m kubeflow list pipelines`")
        return [[v.name, v.id, _time(v.created), v.owner] for v in client.versions(pipeline.id)]
    experiment_id = client.experiment_id(experiment, create=False) if experiment else ""
    if experiment and not experiment_id:
        raise UserError(f"no experiment {experiment!r} on the server")
    if args.what == "runs":
        runs = client.runs(experiment_id, limit=args.limit)
        return [
            [r.name, r.state, r.archived, r.id, _time(r.created), _time(r.finished)] for r in runs
        ]
    return [
        [
            s.launch.name,
            s.enabled,
            s.timing.cron,
            not s.timing.no_catchup,
            s.id,
            s.launch.version_id,
            s.owner,
        ]
        for s in client.schedules(experiment_id)
    ]


def _time(at: datetime | None) -> str:
    return at.astimezone(UTC).isoformat(" ", "seconds") if at else ""
