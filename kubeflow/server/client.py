"""Client of Kubeflow Pipelines, with plain records for the rest of this layer."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

import kfp_server_api as api

from yt8m.kubeflow.server.connection import Connection
from yt8m.kubeflow.server.http import HttpTransport, RefusedError, RetryPolicy
from yt8m.schemas.errors import UserError

T = TypeVar("T")
_PAGE = 100
_YEAR_ZERO = 1970
# The server's columns; a longer name ends in a 500 after objects were made in the cluster.
_LONGEST_NAME = {"pipeline": 128, "experiment": 128, "version": 127, "run": 255, "schedule": 255}
FINAL_STATES = ("SUCCEEDED", "FAILED", "CANCELED", "SKIPPED")


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """A pipeline. On a multi-user installation one without a namespace is shared by all."""

    id: str
    name: str
    namespace: str = ""
    created: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class PipelineVersion:
    id: str
    pipeline_id: str
    name: str
    created: datetime | None = None
    owner: str = ""  # who uploaded it; empty: another client did
    spec: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task of a run. `pod` names where its log is."""

    name: str
    state: str
    pod: str = ""
    nodes: tuple[str, ...] = ()
    error: str = ""
    started: datetime | None = None
    finished: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class PipelineRun:
    id: str
    name: str
    state: str
    archived: bool = False  # hidden in the user interface
    created: datetime | None = None
    finished: datetime | None = None
    error: str = ""
    description: str = ""
    pipeline_id: str = ""
    version_id: str = ""
    tasks: tuple[Task, ...] = ()

    @property
    def is_over(self) -> bool:
        return self.state in FINAL_STATES


@dataclass(frozen=True, kw_only=True)
class Launch:
    """Arguments of a run; a schedule's runs too. The version's own fields are for people."""

    name: str
    pipeline_id: str
    version_id: str
    experiment_id: str
    pipeline_root: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    service_account: str = ""
    version: str = field(default="", compare=False)
    version_owner: str = field(default="", compare=False)
    newest: str = field(default="", compare=False)  # the pipeline's newest version


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
    owner: str = ""  # who made it; empty: another client did


class KfpClient:
    """The v2beta1 API over HTTP; every call is retried as far as that is safe."""

    def __init__(
        self,
        http: HttpTransport,
        *,
        namespace: str = "",
        owner: str = "",
        retry: RetryPolicy | None = None,
    ):
        self._http, self._namespace, self.owner = http, namespace, owner
        self._retry = retry or RetryPolicy()

    def check_namespace(self) -> None:
        """A single-user server takes any namespace, and ignores it."""
        if not self._namespace:
            return
        health = self._get("/healthz", "object")
        if health.get("multi_user") is False:
            raise UserError(
                f"--namespace {self._namespace}: this Kubeflow Pipelines is a single-user "
                "installation and would ignore it; leave it out"
            )

    def pipelines(self) -> list[Pipeline]:
        """List the namespace's own pipelines, and then those that all namespaces share."""
        own = self.own_pipelines()
        return own + (self._shared_pipelines() if self._namespace else [])

    def own_pipelines(self) -> list[Pipeline]:
        query = {"namespace": self._namespace}
        return [_pipeline(p) for p in self._pages("/pipelines", "Pipelines", query)]

    def _shared_pipelines(self) -> list[Pipeline]:
        try:
            return [_pipeline(p) for p in self._pages("/pipelines", "Pipelines", {})]
        except RefusedError as error:
            if error.status != 403:  # shared with others
                raise
            return []

    def versions(self, pipeline_id: str) -> list[PipelineVersion]:
        path = f"/pipelines/{pipeline_id}/versions"
        return [_version(v) for v in self._pages(path, "PipelineVersions", {})]

    def version(self, pipeline_id: str, version_id: str) -> PipelineVersion:
        path = f"/pipelines/{pipeline_id}/versions/{version_id}"
        return _version(self._get(path, "V2beta1PipelineVersion"))

    def create_pipeline(self, name: str, description: str) -> Pipeline:
        check_name("pipeline", name)
        body = api.V2beta1Pipeline(
            display_name=name, description=description, namespace=self._namespace or None
        )
        return self._retry.create(
            lambda: _pipeline(self._post("/pipelines", "V2beta1Pipeline", body)),
            lambda: next((p for p in self.own_pipelines() if p.name == name), None),
        )

    def upload_version(self, pipeline_id: str, name: str, file: str) -> PipelineVersion:
        check_name("version", name)
        query = {"name": name, "pipelineid": pipeline_id, "description": _owned_by(self.owner)}
        path, answer = "/pipelines/upload_version", "V2beta1PipelineVersion"
        return self._retry.create(
            lambda: _version(self._http.request("POST", path, answer, query=query, file=file)),
            lambda: next((v for v in self.versions(pipeline_id) if v.name == name), None),
        )

    def experiment_id(self, name: str, *, create: bool) -> str:
        """The id of the experiment; the empty text when there is none and none is to be made."""
        known_id = self._find_experiment(name)
        if known_id or not create:
            return known_id or ""
        check_name("experiment", name)
        body = api.V2beta1Experiment(display_name=name, namespace=self._namespace or None)
        return self._retry.create(
            lambda: str(self._post("/experiments", "V2beta1Experiment", body).experiment_id),
            lambda: self._find_experiment(name),
        )

    def start_run(self, launch: Launch) -> PipelineRun:
        check_name("run", launch.name)
        token = _token()
        description = f"{token}\n{_owned_by(self.owner)}"
        body = api.V2beta1Run(description=description, **_launched(launch))
        return self._retry.create(
            lambda: _run(self._post("/runs", "V2beta1Run", body)),
            lambda: _marked(self.runs(launch.experiment_id, limit=_PAGE), token),
        )

    def run(self, run_id: str) -> PipelineRun:
        return _run(self._get(f"/runs/{run_id}", "V2beta1Run"))

    def runs(self, experiment_id: str, *, limit: int) -> list[PipelineRun]:
        query = {"experiment_id": experiment_id, "sort_by": "created_at desc"}
        if not experiment_id:
            query["namespace"] = self._namespace
        return [_run(r) for r in self._pages("/runs", "Runs", query, limit)]

    def cancel_run(self, run_id: str) -> None:
        self._act(run_id, "terminate")

    def retry_run(self, run_id: str) -> None:
        """Run again the steps that failed, and those after them."""
        self._act(run_id, "retry")

    def archive_run(self, run_id: str, *, undo: bool = False) -> None:
        self._act(run_id, "unarchive" if undo else "archive")

    def delete_run(self, run_id: str) -> None:
        """The record of the run, and its Workflow; gone is gone."""
        try:
            self._retry.repeat(lambda: self._http.request("DELETE", f"/runs/{run_id}", "object"))
        except RefusedError as error:
            if error.status != 404:
                raise

    def _act(self, run_id: str, verb: str) -> None:
        path = f"/runs/{run_id}:{verb}"
        self._retry.repeat(lambda: self._http.request("POST", path, "object"))

    def schedules(self, experiment_id: str) -> list[Schedule]:
        query = {"experiment_id": experiment_id}
        if not experiment_id:
            query["namespace"] = self._namespace
        return [_schedule(s) for s in self._pages("/recurringruns", "RecurringRuns", query)]

    def create_schedule(self, launch: Launch, timing: Timing, *, enabled: bool) -> Schedule:
        check_name("schedule", launch.name)
        token = _token()
        body = api.V2beta1RecurringRun(
            description=f"{token}\n{_owned_by(self.owner)}",
            trigger=api.V2beta1Trigger(cron_schedule=api.V2beta1CronSchedule(cron=timing.cron)),
            max_concurrency=str(timing.max_concurrency),
            no_catchup=timing.no_catchup,
            mode="ENABLE" if enabled else "DISABLE",
            **_launched(launch),
        )
        return self._retry.create(
            lambda: _schedule(self._post("/recurringruns", "V2beta1RecurringRun", body)),
            lambda: _marked(self.schedules(launch.experiment_id), token),
        )

    def set_enabled(self, schedule_id: str, enabled: bool) -> None:
        verb = "enable" if enabled else "disable"
        path = f"/recurringruns/{schedule_id}:{verb}"
        self._retry.repeat(lambda: self._http.request("POST", path, "object"))

    def delete_schedule(self, schedule_id: str) -> None:
        """Gone is gone: not being there is success."""
        path = f"/recurringruns/{schedule_id}"
        try:
            self._retry.repeat(lambda: self._http.request("DELETE", path, "object"))
        except RefusedError as error:
            if error.status != 404:
                raise

    def _find_experiment(self, name: str) -> str | None:
        query = {"namespace": self._namespace}
        for experiment in self._pages("/experiments", "Experiments", query):
            if experiment.display_name == name:
                return str(experiment.experiment_id)
        return None

    def _get(self, path: str, answer: str) -> Any:
        return self._retry.repeat(lambda: self._http.request("GET", path, answer))

    def _post(self, path: str, answer: str, body: Any) -> Any:
        return self._http.request("POST", path, answer, body=body)

    def _pages(
        self, path: str, what: str, query: Mapping[str, str], limit: int | None = None
    ) -> Iterator[Any]:
        token, count = "", 0
        while True:
            asked = {**query, "page_size": _PAGE, "page_token": token}
            page = self._retry.repeat(_ask(self._http, path, f"V2beta1List{what}Response", asked))
            for item in _items(page):
                yield item
                count += 1
                if limit is not None and count >= limit:
                    return
            token = page.next_page_token or ""
            if not token:
                return


def check_name(what: str, name: str) -> None:
    """Refuse a name that the server cannot keep, before anything is sent."""
    longest = _LONGEST_NAME[what]
    if len(name) > longest:
        raise UserError(
            f"the {what}'s name has {len(name)} characters, and Kubeflow Pipelines keeps at most "
            f"{longest}: {name[:40]}..."
        )


def find_pipeline(client: KfpClient, name: str) -> Pipeline | None:
    """The pipeline of this name or id, if there is one; of a name twice, the namespace's own."""
    return next((p for p in client.pipelines() if name in (p.name, p.id)), None)


def choose_version(
    client: KfpClient, pipeline: Pipeline, wanted: str = ""
) -> tuple[PipelineVersion, PipelineVersion]:
    """The version named (or with the id) `wanted`, or the newest; and the newest."""
    versions = client.versions(pipeline.id)
    named = [v for v in versions if not wanted or wanted in (v.name, v.id)]
    if not named:
        what = f"no version {wanted!r}" if wanted else "no version yet"
        raise UserError(f"pipeline {pipeline.name!r} has {what}; `yt8m kubeflow upload` makes one")
    chosen, newest = (max(some, key=_created) for some in (named, versions))
    return (chosen if chosen.spec else client.version(pipeline.id, chosen.id)), newest


def _created(version: PipelineVersion) -> float:
    return version.created.timestamp() if version.created else 0.0


def _ask(
    http: HttpTransport, path: str, answer: str, query: Mapping[str, Any]
) -> Callable[[], Any]:
    return lambda: http.request("GET", path, answer, query=query)


def _items(page: Any) -> list[Any]:
    for name in page.openapi_types:
        if page.openapi_types[name].startswith("list["):
            return list(getattr(page, name) or [])
    return []


def _token() -> str:
    """Marks a request, so that what it created is found again when its answer was lost."""
    return f"yt8m request {uuid.uuid4().hex}"


def _owned_by(owner: str) -> str:
    """How an owner is written into a description, where every client shows it."""
    return f"yt8m owner {owner}" if owner else ""


def _owner(description: str | None) -> str:
    """The owner that `_owned_by` wrote; empty where another client or a person wrote the text."""
    lines = re.findall(r"^yt8m owner (.+)$", description or "", re.MULTILINE)
    return str(lines[-1]) if lines else ""


def _marked(things: list[T], token: str) -> T | None:
    return next((t for t in things if token in getattr(t, "description", "")), None)


def _launched(launch: Launch) -> dict[str, Any]:
    return {
        "display_name": launch.name,
        "experiment_id": launch.experiment_id,
        "pipeline_version_reference": api.V2beta1PipelineVersionReference(
            pipeline_id=launch.pipeline_id, pipeline_version_id=launch.version_id
        ),
        "runtime_config": api.V2beta1RuntimeConfig(
            parameters=dict(launch.parameters), pipeline_root=launch.pipeline_root
        ),
        "service_account": launch.service_account or None,
    }


def _pipeline(p: Any) -> Pipeline:
    return Pipeline(
        id=p.pipeline_id,
        name=p.display_name or "",
        namespace=p.namespace or "",
        created=p.created_at,
    )


def _version(v: Any) -> PipelineVersion:
    return PipelineVersion(
        id=v.pipeline_version_id,
        pipeline_id=v.pipeline_id,
        name=v.display_name or "",
        created=v.created_at,
        owner=_owner(v.description),
        spec=v.pipeline_spec or {},
    )


def _run(r: Any) -> PipelineRun:
    reference = r.pipeline_version_reference
    details = (r.run_details.task_details if r.run_details else None) or []
    return PipelineRun(
        id=r.run_id,
        name=r.display_name or "",
        state=r.state or "PENDING",
        archived=r.storage_state == "ARCHIVED",
        created=_time(r.created_at),
        finished=_time(r.finished_at),
        error=r.error.message or "" if r.error else "",
        description=r.description or "",
        pipeline_id=(reference.pipeline_id if reference else "") or "",
        version_id=(reference.pipeline_version_id if reference else "") or "",
        tasks=tuple(_task(t) for t in details),
    )


def _time(at: datetime | None) -> datetime | None:
    """Go's and Unix's zero mean "not yet"."""
    return None if at is None or at.year <= _YEAR_ZERO else at


def _task(t: Any) -> Task:
    # A child's `pod_name` is the id of its node in the Workflow, which no pod is called by.
    nodes = [c.pod_name for c in t.child_tasks or [] if c.pod_name]
    return Task(
        name=t.display_name or t.task_id or "",
        state=t.state or "PENDING",
        pod=t.pod_name or "",
        nodes=tuple(nodes),
        error=t.error.message or "" if t.error else "",
        started=_time(t.start_time),
        finished=_time(t.end_time),
    )


def _schedule(s: Any) -> Schedule:
    reference, runtime = s.pipeline_version_reference, s.runtime_config
    cron = s.trigger.cron_schedule.cron if s.trigger and s.trigger.cron_schedule else ""
    return Schedule(
        id=s.recurring_run_id,
        launch=Launch(
            name=s.display_name or "",
            pipeline_id=(reference.pipeline_id if reference else "") or "",
            version_id=(reference.pipeline_version_id if reference else "") or "",
            experiment_id=s.experiment_id or "",
            pipeline_root=(runtime.pipeline_root if runtime else "") or "",
            parameters=(runtime.parameters if runtime else {}) or {},
            service_account=s.service_account or "",
        ),
        timing=Timing(
            cron=cron or "",
            max_concurrency=int(s.max_concurrency or 1),
            no_catchup=bool(s.no_catchup),
        ),
        enabled=s.status == "ENABLED" or (s.status is None and s.mode == "ENABLE"),
        description=s.description or "",
        owner=_owner(s.description),
    )


def connect(connection: Connection) -> KfpClient:
    """A client; with a namespace, the server is asked whether it knows any."""
    client = KfpClient(
        HttpTransport(connection), namespace=connection.namespace, owner=connection.owner
    )
    client.check_namespace()
    return client
