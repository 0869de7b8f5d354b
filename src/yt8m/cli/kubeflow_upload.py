"""Action of `yt8m kubeflow upload`."""

from __future__ import annotations

from dataclasses import dataclass

from yt8m.cli.arguments.kubeflow import UploadArguments
from yt8m.cli.selection import connection_of
from yt8m.components.console.console import Console
from yt8m.kubeflow.server.client import KfpClient, Pipeline, PipelineVersion, connect, find_pipeline
from yt8m.kubeflow.server.connection import link
from yt8m.kubeflow.spec.spec_file import read_spec


def run(args: UploadArguments, console: Console) -> None:
    connection = connection_of(args)
    done = upload(connect(connection), args.file, name=args.name, dry_run=args.dry_run)
    page = link(connection, "pipeline", f"{done.pipeline.id}/version/{done.version.id}")
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
        "dry_run": args.dry_run,
        "link": page if done.version.id else "",
    }
    where = f"\n{page}" if done.version.id else ""
    console.result(value, f"{verb} {done.pipeline.name} {done.version.name}{where}")


@dataclass(frozen=True, kw_only=True)
class Uploaded:
    """What is there now. Ids are empty in a dry run, where nothing is made."""

    pipeline: Pipeline
    version: PipelineVersion
    new_pipeline: bool
    new_version: bool


def upload(client: KfpClient, path: str, *, name: str = "", dry_run: bool = False) -> Uploaded:
    """Create or find the pipeline, and upload `path` unless this very content is there."""
    spec = read_spec(path)
    name = name or spec.name
    found = find_pipeline(client, name)
    pipeline = found or Pipeline(id="", name=name)
    if not found and not dry_run:
        pipeline = client.create_pipeline(name, "uploaded by yt8m")
    existing = next((v for v in _versions(client, pipeline) if v.name == spec.version_name), None)
    version = existing or PipelineVersion(id="", pipeline_id=pipeline.id, name=spec.version_name)
    if not existing and not dry_run:
        version = client.upload_version(pipeline.id, spec.version_name, path)
    return Uploaded(
        pipeline=pipeline, version=version, new_pipeline=not found, new_version=not existing
    )


def _versions(client: KfpClient, pipeline: Pipeline) -> list[PipelineVersion]:
    return client.versions(pipeline.id) if pipeline.id else []
