"""Upload a compiled pipeline as a version named by its content.

The pipeline is made if it is not there. The same content twice is "already there".

examples:
  yt8m kubeflow upload pipeline.yaml --host http://localhost:8080
  yt8m kubeflow upload pipeline.yaml --name nightly --namespace team-a --token-file token
  yt8m kubeflow upload pipeline.yaml --dry-run --json
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING

from yt8m.components.console.console import Console
from yt8m.kubeflow.server.connection import add_connection_arguments, link, read_connection

if TYPE_CHECKING:
    from yt8m.kubeflow.server.client import KfpClient, Pipeline, PipelineVersion


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="YAML written by `yt8m kubeflow compile`")
    parser.add_argument("--name", default="", help="name of the pipeline (default: as compiled)")
    parser.add_argument("--dry-run", action="store_true", help="look, and change nothing")
    add_connection_arguments(parser)


def run(args: argparse.Namespace, console: Console) -> None:
    from yt8m.kubeflow.server.client import connect

    connection = read_connection(args)
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
    from yt8m.kubeflow.server.client import Pipeline, PipelineVersion, find_pipeline
    from yt8m.kubeflow.spec.spec_file import read_spec

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
