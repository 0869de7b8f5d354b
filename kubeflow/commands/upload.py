"""Upload a compiled pipeline as a version named by its content.

The pipeline is made if it is not there. The same content twice is "already there".

examples:
  yt8m kubeflow upload pipeline.yaml --host http://localhost:8080
  yt8m kubeflow upload pipeline.yaml --name nightly --namespace team-a --token-file token
  yt8m kubeflow upload pipeline.yaml --dry-run --json
"""

from __future__ import annotations

import argparse

from yt8m.components.console.console import Console
from yt8m.kubeflow.arguments import add_connection_arguments, connect, link, read_connection


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="YAML written by `yt8m kubeflow compile`")
    parser.add_argument("--name", default="", help="name of the pipeline (default: as compiled)")
    parser.add_argument("--dry-run", action="store_true", help="look, and change nothing")
    add_connection_arguments(parser)


def run(args: argparse.Namespace, console: Console) -> None:
    from yt8m.kubeflow.upload import upload

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
