"""Kubeflow Pipelines as the rest of this layer sees it: plain records and few verbs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from yt8m.schemas.errors import UserError

FINAL_STATES = ("SUCCEEDED", "FAILED", "CANCELED", "SKIPPED")


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    id: str
    name: str
    created: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Version:
    id: str
    pipeline_id: str
    name: str
    created: datetime | None = None
    spec: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task of a run. `pod` names where its log is."""

    name: str
    state: str
    pod: str = ""
    error: str = ""
    started: datetime | None = None
    finished: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Run:
    id: str
    name: str
    state: str
    created: datetime | None = None
    finished: datetime | None = None
    error: str = ""
    schedule_id: str = ""
    description: str = ""
    tasks: tuple[Task, ...] = ()

    @property
    def is_over(self) -> bool:
        return self.state in FINAL_STATES


@dataclass(frozen=True, kw_only=True)
class Launch:
    """What a run starts with; a schedule's runs too."""

    name: str
    pipeline_id: str
    version_id: str
    experiment_id: str
    pipeline_root: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    service_account: str = ""


@dataclass(frozen=True, kw_only=True)
class Timing:
    """When a schedule fires; with `no_catchup`, a pause costs all but the latest missed time."""

    cron: str
    max_concurrency: int = 1
    no_catchup: bool = True


@dataclass(frozen=True, kw_only=True)
class Schedule:
    id: str
    launch: Launch
    timing: Timing
    enabled: bool
    description: str = ""
    created: datetime | None = None


class PipelineStore(Protocol):
    """Pipelines and their versions."""

    def pipelines(self) -> list[Pipeline]: ...
    def versions(self, pipeline_id: str) -> list[Version]: ...
    def version(self, pipeline_id: str, version_id: str) -> Version: ...
    def create_pipeline(self, name: str, description: str) -> Pipeline: ...
    def upload_version(self, pipeline_id: str, name: str, file: str) -> Version: ...


class RunStore(Protocol):
    """Runs, in experiments."""

    def experiment_id(self, name: str, *, create: bool) -> str: ...
    def start_run(self, launch: Launch) -> Run: ...
    def run(self, run_id: str) -> Run: ...
    def runs(self, experiment_id: str, *, limit: int) -> list[Run]: ...


class ScheduleStore(Protocol):
    """Recurring runs."""

    def schedules(self, experiment_id: str) -> list[Schedule]: ...
    def create_schedule(self, launch: Launch, timing: Timing, *, enabled: bool) -> Schedule: ...
    def set_enabled(self, schedule_id: str, enabled: bool) -> None: ...
    def delete_schedule(self, schedule_id: str) -> None: ...


class PipelineClient(PipelineStore, RunStore, ScheduleStore, Protocol):
    """All of Kubeflow Pipelines that we use."""


def find_pipeline(client: PipelineStore, name: str) -> Pipeline | None:
    """The pipeline of this name or id, if there is one."""
    return next((p for p in client.pipelines() if name in (p.name, p.id)), None)


def newest_version(client: PipelineStore, pipeline: Pipeline, wanted: str = "") -> Version:
    """The version named (or with the id) `wanted`, or the newest."""
    versions = client.versions(pipeline.id)
    if wanted:
        versions = [v for v in versions if wanted in (v.name, v.id)]
    if not versions:
        what = f"no version {wanted!r}" if wanted else "no version yet"
        raise UserError(f"pipeline {pipeline.name!r} has {what}; `yt8m kubeflow upload` makes one")
    newest = max(versions, key=lambda v: v.created.timestamp() if v.created else 0.0)
    return newest if newest.spec else client.version(pipeline.id, newest.id)
