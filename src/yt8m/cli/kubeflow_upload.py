"""Action of `yt8m kubeflow upload`."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from yt8m.cli.arguments.kubeflow import UploadArguments
from yt8m.cli.selection import connection_of
from yt8m.components.console.console import Console
from yt8m.kubeflow.server.client import KfpClient, Pipeline, PipelineVersion, connect
from yt8m.kubeflow.server.connection import Connection, link
from yt8m.kubeflow.spec.lint import find_problems
from yt8m.kubeflow.spec_file import read_spec


def run(args: UploadArguments, console: Console) -> None:
    connection = connection_of(args)
    done = upload(connect(connection), args.file, name=args.name, dry_run=args.dry_run)
    for problem in done.problems:
        console.warn(f"{args.file} would not run as it is: {problem}")
    page = link(connection, "pipeline", f"{done.pipeline.id}/version/{done.version.id}")
    command = _run_command(connection, done)
    verb = "would upload" if args.dry_run else "uploaded"
    if not done.new_version:
        verb = "already there:"
    value = {
        "pipeline": done.pipeline.name,
        "pipeline_id": done.pipeline.id,
        "version": done.version.name,
        "version_id": done.version.id,
        "new_pipeline": done.new_pipeline,
        "new_version": done.new_version,
        "owner": done.version.owner,
        "problems": list(done.problems),
        "dry_run": args.dry_run,
        "run": command,
        "link": page if done.version.id else "",
    }
    where = f"\n{page}" if done.version.id else ""
    by = (
        f", uploaded by {done.version.owner}" if not done.new_version and done.version.owner else ""
    )
    name = f"{done.pipeline.name} {done.version.name}{by}"
    console.result(value, f"{verb} {name}{where}\n{command}")


def _run_command(connection: Connection, done: Uploaded) -> str:
    """The command that starts this very version, whatever others upload meanwhile."""
    words = ["yt8m", "kubeflow", "run", done.pipeline.name, "--version", done.version.name]
    if connection.namespace:
        words += ["--namespace", connection.namespace]
    return shlex.join(words)


@dataclass(frozen=True, kw_only=True)
class Uploaded:
    """Pipeline and version after an upload. Ids are empty in a dry run, where nothing is made."""

    pipeline: Pipeline
    version: PipelineVersion
    new_pipeline: bool
    new_version: bool
    problems: tuple[str, ...] = ()  # of a file that is not as `compile` wrote it


def upload(client: KfpClient, path: str, *, name: str = "", dry_run: bool = False) -> Uploaded:
    """Create or find the pipeline, and upload `path` unless this very content is there."""
    spec = read_spec(path)
    name = name or spec.name
    # Not one that all namespaces share: others run that.
    known = next((p for p in client.own_pipelines() if name in (p.name, p.id)), None)
    pipeline = known or Pipeline(id="", name=name)
    if not known and not dry_run:
        pipeline = client.create_pipeline(name, "uploaded by yt8m")
    existing = next((v for v in _versions(client, pipeline) if v.name == spec.version_name), None)
    version = existing or PipelineVersion(id="", pipeline_id=pipeline.id, name=spec.version_name)
    if not existing and not dry_run:
        version = client.upload_version(pipeline.id, spec.version_name, path)
    problems = find_problems(spec.pipeline, spec.platform)
    return Uploaded(
        pipeline=pipeline,
        version=version,
        new_pipeline=not known,
        new_version=not existing,
        problems=tuple(f"{where}: {problem}" for where, problem in problems),
    )


def _versions(client: KfpClient, pipeline: Pipeline) -> list[PipelineVersion]:
    return client.versions(pipeline.id) if pipeline.id else []
