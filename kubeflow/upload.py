"""Put a compiled pipeline on the server, once for each content."""

from __future__ import annotations

from dataclasses import dataclass

from yt8m.kubeflow.client import Pipeline, PipelineStore, Version, find_pipeline
from yt8m.kubeflow.spec_file import read_spec


@dataclass(frozen=True, kw_only=True)
class Uploaded:
    """What is there now. Ids are empty in a dry run, where nothing is made."""

    pipeline: Pipeline
    version: Version
    new_pipeline: bool
    new_version: bool


def upload(client: PipelineStore, path: str, *, name: str = "", dry_run: bool = False) -> Uploaded:
    """Create or find the pipeline, and upload `path` unless this very content is there."""
    spec = read_spec(path)
    name = name or spec.name
    found = find_pipeline(client, name)
    pipeline = found or Pipeline(id="", name=name)
    if not found and not dry_run:
        pipeline = client.create_pipeline(name, "uploaded by yt8m")
    existing = next((v for v in _versions(client, pipeline) if v.name == spec.version_name), None)
    version = existing or Version(id="", pipeline_id=pipeline.id, name=spec.version_name)
    if not existing and not dry_run:
        version = client.upload_version(pipeline.id, spec.version_name, path)
    return Uploaded(
        pipeline=pipeline, version=version, new_pipeline=not found, new_version=not existing
    )


def _versions(client: PipelineStore, pipeline: Pipeline) -> list[Version]:
    return client.versions(pipeline.id) if pipeline.id else []
