"""OpenLineage events of a run: to a file, or by HTTP to a collector.

The run is a job, and each step a job below it: START, then COMPLETE, FAIL or ABORT, with the
artifacts it read and wrote. A thread delivers the events, so that no step waits for a server; the
end of the run waits `timeout_s` at most. What is not delivered is a warning.
"""

from __future__ import annotations

import datetime
import functools
import http.client
import json
import logging
import os
import queue
import threading
import time
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from yt8m.components import storage
from yt8m.components.artifacts.run_record import NodeRecord, RunRecord, State, Verdict
from yt8m.pipeline.config import OpenLineageConfig, PipelineConfig
from yt8m.pipeline.lineage import ArtifactFacts
from yt8m.schemas.json_file import own_version

PRODUCER = "urn:yt8m"
SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
_FACETS = "https://openlineage.io/spec/facets"
_STEP_ENDS = {
    State.DONE: "COMPLETE",
    State.CACHED: "COMPLETE",
    State.FAILED: "FAIL",
    State.STOPPED: "ABORT",
    State.KILLED: "ABORT",
}
_RUN_ENDS = {
    Verdict.PUSHED: "COMPLETE",
    Verdict.REJECTED: "COMPLETE",
    Verdict.UP_TO_DATE: "COMPLETE",
    Verdict.FAILED: "FAIL",
}

Event = dict[str, Any]
Deliver = Callable[[str], None]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class EventBuilder:
    """Composes the events of one run."""

    namespace: str
    pipeline: str
    root: str
    run_id: str

    def of_run(self, record: RunRecord) -> Event:
        """The event that the run has begun, or how it has ended."""
        if record.verdict is Verdict.RUNNING:
            return self._event("START", self.pipeline, "", record.started)
        tags = {"verdict": record.verdict.value, "exit_code": str(record.exit_code)}
        if record.version:
            tags["version"] = str(record.version)
        facets = {"tags": _tags(tags)}
        kind = _RUN_ENDS.get(record.verdict, "ABORT")
        if kind == "FAIL":
            facets["errorMessage"] = _error(record.reason)
        ended = record.started + record.seconds
        return self._event(kind, self.pipeline, "", ended, run_facets=facets)

    def of_step(
        self,
        node: NodeRecord,
        *,
        inputs: Iterable[ArtifactFacts] = (),
        outputs: Iterable[ArtifactFacts] = (),
    ) -> Event:
        """The event that a step has begun, or how it has ended."""
        facets = {"parent": self._parent()}
        job = f"{self.pipeline}.{node.name}"
        if node.state is State.RUNNING:
            return self._event("START", job, node.name, node.started, run_facets=facets)
        facets["tags"] = _tags(
            {
                "state": node.state.value,
                "cpu_seconds": f"{node.cpu_seconds:.3f}",
                "peak_mib": f"{node.peak_mib:.1f}",
            }
        )
        if node.state is State.FAILED:
            facets["errorMessage"] = _error(node.error)
        return self._event(
            _STEP_ENDS[node.state],
            job,
            node.name,
            node.started + node.seconds,
            run_facets=facets,
            inputs=inputs,
            outputs=outputs,
        )

    def _event(
        self,
        kind: str,
        job: str,
        step: str,
        at: float,
        *,
        run_facets: Mapping[str, Any] | None = None,
        inputs: Iterable[ArtifactFacts] = (),
        outputs: Iterable[ArtifactFacts] = (),
    ) -> Event:
        engine = _facet(
            "1-1-1/ProcessingEngineRunFacet",
            version=_tfx_version(),
            name="TFX",
            openlineageAdapterVersion=own_version(),
        )
        job_type = _facet(
            "2-0-4/JobTypeJobFacet",
            processingType="BATCH",
            integration="TFX",
            jobType="STEP" if step else "PIPELINE",
        )
        return {
            "eventType": kind,
            "eventTime": datetime.datetime.fromtimestamp(at, datetime.UTC).isoformat(),
            "producer": PRODUCER,
            "schemaURL": SCHEMA,
            "run": {
                "runId": self._uuid(step),
                "facets": {"processing_engine": engine, **(run_facets or {})},
            },
            "job": {"namespace": self.namespace, "name": job, "facets": {"jobType": job_type}},
            "inputs": [_dataset(artifact) for artifact in inputs],
            "outputs": [_dataset(artifact) for artifact in outputs],
        }

    def _parent(self) -> dict[str, Any]:
        return _facet(
            "1-2-0/ParentRunFacet",
            run={"runId": self._uuid("")},
            job={"namespace": self.namespace, "name": self.pipeline},
        )

    def _uuid(self, step: str) -> str:
        """The same for every event of the step, or of the run where it is empty."""
        name = json.dumps([self.namespace, self.root, self.run_id, step])
        return str(uuid.uuid5(uuid.NAMESPACE_URL, name))


@functools.cache
def _tfx_version() -> str:
    return version("tfx")


def _dataset(artifact: ArtifactFacts) -> dict[str, Any]:
    """An artifact by OpenLineage's rules for names: scheme and authority, then the path."""
    parts = urllib.parse.urlsplit(artifact.uri)
    remote = parts.scheme not in ("", "file")
    return {
        "namespace": f"{parts.scheme}://{parts.netloc}" if remote else "file",
        "name": parts.path.strip("/") if remote else parts.path,
        "facets": {
            "version": _facet(
                "1-0-1/DatasetVersionDatasetFacet", datasetVersion=str(artifact.artifact_id)
            ),
            "datasetType": _facet(
                "1-0-1/DatasetTypeDatasetFacet",
                datasetType=artifact.type_name,
                subType=artifact.key,
            ),
        },
    }


def _tags(values: Mapping[str, str]) -> dict[str, Any]:
    tags = [{"key": key, "value": value, "source": "yt8m"} for key, value in values.items()]
    return _facet("1-0-0/TagsRunFacet", tags=tags)


def _error(message: str) -> dict[str, Any]:
    return _facet("1-0-1/ErrorMessageRunFacet", message=message, programmingLanguage="PYTHON")


def _facet(schema: str, **values: Any) -> dict[str, Any]:
    name = schema.rpartition("/")[2]
    return {
        "_producer": PRODUCER,
        "_schemaURL": f"{_FACETS}/{schema}.json#/$defs/{name}",
        **values,
    }


@dataclass
class Sender:
    """A thread that delivers texts in their order. Nothing that it meets is raised."""

    deliver: Deliver
    where: str
    undelivered: int = 0
    reason: str = ""
    _queue: queue.SimpleQueue[str | None] = field(default_factory=queue.SimpleQueue, repr=False)

    def __post_init__(self) -> None:
        # A daemon: a process that ends does not wait for it.
        self._thread = threading.Thread(target=self._run, name="openlineage", daemon=True)
        self._sent = 0
        self._thread.start()

    def send(self, event: Event) -> None:
        """Queue an event."""
        self._sent += 1
        self._queue.put(json.dumps(event))

    def close(self, within_s: float) -> None:
        """Wait for what is queued, `within_s` at most; warn where not all was delivered."""
        self._queue.put(None)
        self._thread.join(within_s)
        late = self._queue.qsize() if self._thread.is_alive() else 0
        missing = max(self.undelivered + late, int(self._thread.is_alive()))
        if missing:
            reason = self.reason or "there was no answer in time"
            _log.warning(
                "%d of %d OpenLineage events did not reach %s: %s",
                min(missing, self._sent),
                self._sent,
                self.where,
                reason,
            )

    def _run(self) -> None:
        while (text := self._queue.get()) is not None:
            try:
                self.deliver(text)
            except Exception as error:  # lineage must end no run
                self.undelivered += 1
                self.reason = f"{type(error).__name__}: {error}"


class RunEvents:
    """Sends the events of one run to every configured place."""

    def __init__(
        self, builder: EventBuilder, senders: Iterable[Sender], *, timeout_s: float
    ) -> None:
        self._builder, self._senders, self._timeout_s = builder, tuple(senders), timeout_s

    def run(self, record: RunRecord) -> None:
        """Tell that the run has begun, or how it has ended."""
        self._send(lambda: self._builder.of_run(record))

    def step(
        self,
        node: NodeRecord,
        *,
        inputs: Iterable[ArtifactFacts] = (),
        outputs: Iterable[ArtifactFacts] = (),
    ) -> None:
        """Tell that a step has begun, or how it has ended."""
        self._send(lambda: self._builder.of_step(node, inputs=inputs, outputs=outputs))

    def close(self) -> None:
        """Wait for delivery, `timeout_s` at most in all."""
        end = time.monotonic() + self._timeout_s
        for sender in self._senders:
            sender.close(max(0.0, end - time.monotonic()))

    def _send(self, compose: Callable[[], Event]) -> None:
        if not self._senders:
            return
        try:
            event = compose()
        except Exception as error:  # lineage must end no run
            _log.warning("an OpenLineage event could not be composed: %s", error)
            return
        for sender in self._senders:
            sender.send(event)


def events_of(config: PipelineConfig, run_id: str) -> RunEvents:
    """The events of a run; nothing is sent where no place is configured."""
    builder = EventBuilder(
        namespace=config.openlineage.namespace,
        pipeline=config.name,
        root=config.root,
        run_id=run_id,
    )
    return RunEvents(builder, _senders(config.openlineage), timeout_s=config.openlineage.timeout_s)


def _senders(config: OpenLineageConfig) -> Iterable[Sender]:
    if config.file:
        yield Sender(to_file(config.file), config.file)
    if config.url:
        token = os.environ.get(config.token_env, "")
        deliver = to_server(config.url, token=token, timeout_s=config.timeout_s)
        yield Sender(deliver, config.url)


def to_file(path: str) -> Deliver:
    """Append each event as a line of JSON."""

    def deliver(text: str) -> None:
        with storage.append(path) as file:
            file.write(f"{text}\n".encode())

    return deliver


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Makes errors of redirects: a followed one loses the event, and gives others the token."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def to_server(url: str, *, token: str, timeout_s: float) -> Deliver:
    """Post each event; the deadline is for connecting and for each answer."""
    opener = urllib.request.build_opener(_NoRedirects)
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"

    def deliver(text: str) -> None:
        request = urllib.request.Request(url, text.encode(), headers)
        try:
            with opener.open(request, timeout=timeout_s) as answer:
                answer.read()
        except http.client.HTTPException as error:
            raise OSError(f"no HTTP answer ({type(error).__name__})") from error

    return deliver
