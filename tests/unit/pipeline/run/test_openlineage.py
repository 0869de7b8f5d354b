"""OpenLineage events: its own classes accept them, and no run waits for or fails by a server."""

from __future__ import annotations

import contextlib
import http.server
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import ValidationError
from openlineage_schema import check_event

from yt8m.components.artifacts.run_record import NodeRecord, RunRecord, State, Verdict
from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.lineage import ArtifactFacts
from yt8m.pipeline.presets import load_config
from yt8m.pipeline.run.openlineage import PRODUCER, EventBuilder, RunEvents, Sender, events_of
from yt8m.schemas.errors import ConfigError

BEGUN = RunRecord(run_id="one", started=1_000_000.0)
RUNNING = NodeRecord(name="Trainer", state=State.RUNNING, started=1_000_001.5)
RECORDS = ArtifactFacts(artifact_id=3, key="examples", type_name="Examples", uri="/root/a/3")
MODEL = ArtifactFacts(artifact_id=4, key="model", type_name="Model", uri="gs://bucket/run/model/4")
BUILDER = EventBuilder(namespace="lab", pipeline="nightly", root="/root", run_id="one")


def ended_step(state: State, error: str = "") -> NodeRecord:
    return NodeRecord(
        name="Trainer",
        state=state,
        started=1_000_001.5,
        seconds=2.5,
        cpu_seconds=1.25,
        peak_mib=300,
        error=error,
    )


def ended_run(verdict: Verdict, **values: Any) -> RunRecord:
    return RunRecord(run_id="one", started=1_000_000.0, seconds=9.0, verdict=verdict, **values)


EVENTS = {
    "run began": BUILDER.of_run(BEGUN),
    "run pushed": BUILDER.of_run(ended_run(Verdict.PUSHED, version=7)),
    "run rejected": BUILDER.of_run(ended_run(Verdict.REJECTED)),
    "run failed": BUILDER.of_run(ended_run(Verdict.FAILED, reason="Trainer failed")),
    "run stopped": BUILDER.of_run(ended_run(Verdict.TERMINATED)),
    "step began": BUILDER.of_step(RUNNING),
    "step done": BUILDER.of_step(ended_step(State.DONE), inputs=[RECORDS], outputs=[MODEL]),
    "step cached": BUILDER.of_step(ended_step(State.CACHED), outputs=[MODEL]),
    "step failed": BUILDER.of_step(ended_step(State.FAILED, "no memory")),
    "step stopped": BUILDER.of_step(ended_step(State.STOPPED)),
}
KINDS = {
    "run began": "START",
    "run pushed": "COMPLETE",
    "run rejected": "COMPLETE",
    "run failed": "FAIL",
    "run stopped": "ABORT",
    "step began": "START",
    "step done": "COMPLETE",
    "step cached": "COMPLETE",
    "step failed": "FAIL",
    "step stopped": "ABORT",
}


def through_their_classes(event: dict[str, Any]) -> dict[str, Any]:
    """The event as OpenLineage's client writes it, built of its own classes alone."""
    from openlineage.client import event_v2, facet_v2
    from openlineage.client.serde import Serde

    event_v2.set_producer(PRODUCER)
    classes = {
        "processing_engine": facet_v2.processing_engine_run.ProcessingEngineRunFacet,
        "parent": facet_v2.parent_run.ParentRunFacet,
        "tags": facet_v2.tags_run.TagsRunFacet,
        "errorMessage": facet_v2.error_message_run.ErrorMessageRunFacet,
        "jobType": facet_v2.job_type_job.JobTypeJobFacet,
        "version": facet_v2.dataset_version_dataset.DatasetVersionDatasetFacet,
        "datasetType": facet_v2.dataset_type_dataset.DatasetTypeDatasetFacet,
    }

    def facets(plain: dict[str, Any]) -> dict[str, Any]:
        return {
            name: classes[name](**{key: v for key, v in value.items() if not key.startswith("_")})
            for name, value in plain.items()
        }

    def with_facets(kind: Any, plain: dict[str, Any]) -> Any:
        return kind(**{**plain, "facets": facets(plain["facets"])})

    theirs = event_v2.RunEvent(
        eventType=event_v2.RunState(event["eventType"]),
        eventTime=event["eventTime"],
        producer=event["producer"],
        run=with_facets(event_v2.Run, event["run"]),
        job=with_facets(event_v2.Job, event["job"]),
        inputs=[with_facets(event_v2.InputDataset, one) for one in event["inputs"]],
        outputs=[with_facets(event_v2.OutputDataset, one) for one in event["outputs"]],
    )
    return json.loads(Serde.to_json(theirs))


def without_empty(value: Any) -> Any:
    """Their writer adds empty fields that the specification leaves free."""
    if isinstance(value, dict):
        plain = {key: without_empty(below) for key, below in value.items()}
        return {key: below for key, below in plain.items() if below not in ({}, [], None)}
    if isinstance(value, list):
        return [without_empty(below) for below in value]
    return value


@pytest.mark.needs("openlineage")
@pytest.mark.parametrize("name", EVENTS)
def test_an_event_is_what_openlineages_own_client_would_have_written(name: str) -> None:
    assert without_empty(through_their_classes(EVENTS[name])) == without_empty(EVENTS[name])


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_and_its_facets_are_as_openlineages_schemas_say(name: str) -> None:
    assert check_event(EVENTS[name]) >= 2


def test_the_schemas_refuse_an_event_and_a_facet_that_are_not_theirs() -> None:
    event = EVENTS["step done"]
    for wrong in (
        {**event, "eventType": "ENDED"},
        {**event, "run": {**event["run"], "runId": "no UUID"}},
        {**event, "job": {**event["job"], "facets": {"tags": {"_schemaURL": event["schemaURL"]}}}},
    ):
        with pytest.raises(ValidationError):
            check_event(wrong)


def test_every_end_of_a_run_and_of_a_step_has_its_kind_of_event() -> None:
    assert {name: event["eventType"] for name, event in EVENTS.items()} == KINDS
    for name, event in EVENTS.items():
        assert ("errorMessage" in event["run"]["facets"]) == name.endswith("failed"), name


def test_all_events_of_a_step_are_of_one_run_below_the_pipelines() -> None:
    began, done, run = (EVENTS[name] for name in ("step began", "step done", "run began"))

    assert began["run"]["runId"] == done["run"]["runId"] != run["run"]["runId"]
    assert done["run"]["facets"]["parent"]["run"]["runId"] == run["run"]["runId"]
    assert done["job"]["name"] == "nightly.Trainer"
    assert began["eventTime"] == "1970-01-12T13:46:41.500000+00:00"
    assert done["eventTime"] == "1970-01-12T13:46:44+00:00"


def test_artifacts_are_named_as_openlineage_names_places() -> None:
    (records,), (model,) = EVENTS["step done"]["inputs"], EVENTS["step done"]["outputs"]

    assert (records["namespace"], records["name"]) == ("file", "/root/a/3")
    assert (model["namespace"], model["name"]) == ("gs://bucket", "run/model/4")


def send_all(events: RunEvents) -> float:
    """The seconds that a run's events take of its time."""
    began = time.monotonic()
    events.run(BEGUN)
    for _ in range(10):
        events.step(RUNNING)
        events.step(ended_step(State.DONE), inputs=[RECORDS], outputs=[MODEL])
    events.run(ended_run(Verdict.PUSHED))
    events.close()
    return time.monotonic() - began


def events_to(**openlineage: Any) -> RunEvents:
    settings = [f"openlineage.{key}={value}" for key, value in openlineage.items()]
    return events_of(load_config("smoke", settings), "one")


def test_a_file_has_a_line_for_each_event(tmp_path: Path) -> None:
    send_all(events_to(file=tmp_path / "events.jsonl"))

    kinds = [json.loads(line)["eventType"] for line in (tmp_path / "events.jsonl").open()]
    assert kinds == ["START", *["START", "COMPLETE"] * 10, "COMPLETE"]


@contextlib.contextmanager
def server(status: int = 200) -> Iterator[tuple[str, list[tuple[str, dict[str, Any]]]]]:
    """An address, and the token and event of each request."""
    requests = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            requests.append((self.headers.get("Authorization", ""), json.loads(body)))
            self.send_response(status)
            self.send_header("Location", "/elsewhere")  # heard with a status of 3xx alone
            self.end_headers()

        def do_GET(self) -> None:  # what a followed redirect would ask for
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        threading.Thread(target=httpd.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{httpd.server_port}/api/v1/lineage", requests
        httpd.shutdown()


def test_a_server_gets_each_event_in_its_order_with_the_token(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("YT8M_OPENLINEAGE_TOKEN", "a secret")
    with server() as (url, requests):
        send_all(events_to(url=url))

    assert [event["eventType"] for _, event in requests][:3] == ["START", "START", "COMPLETE"]
    assert len(requests) == 22
    assert {token for token, _ in requests} == {"Bearer a secret"}
    assert caplog.text == ""


@contextlib.contextmanager
def silent_address() -> Iterator[str]:
    """An address that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/lineage"


@contextlib.contextmanager
def closed_address() -> Iterator[str]:
    """An address where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    yield f"http://127.0.0.1:{port}/lineage"


@contextlib.contextmanager
def refusing_address() -> Iterator[str]:
    with server(status=500) as (url, _):
        yield url


@contextlib.contextmanager
def redirecting_address() -> Iterator[str]:
    with server(status=302) as (url, _):
        yield url


@pytest.mark.parametrize(
    "address", [silent_address, closed_address, refusing_address, redirecting_address]
)
def test_a_dead_address_costs_its_timeout_at_most_and_a_warning(
    address: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with address() as url:
        seconds = send_all(events_to(url=url, timeout_s=0.5))

    assert seconds < 22 * 0.5 / 2  # where each of 22 events waited it would be twice that
    (warning,) = caplog.records
    assert "22 of 22 OpenLineage events did not reach" in warning.getMessage()
    assert url in warning.getMessage()


def test_a_full_disk_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    send_all(events_to(file=tmp_path / "file" / "events.jsonl"))

    assert "22 of 22 OpenLineage events did not reach" in caplog.text


def test_without_a_place_there_is_no_thread() -> None:
    before = threading.active_count()
    send_all(events_of(PipelineConfig(), "one"))
    assert threading.active_count() == before


def test_an_address_with_a_login_is_refused() -> None:
    with pytest.raises(ConfigError, match="without a login"):
        events_to(url="http://me:secret@host/lineage")


def test_each_event_that_was_refused_is_counted_once(caplog: pytest.LogCaptureFixture) -> None:
    def refuse_two(text: str) -> None:
        if json.loads(text)["number"] in (1, 3):
            raise OSError("refused")

    sender = Sender(deliver=refuse_two, where="here")
    for number in range(6):
        sender.send({"number": number})
    sender.close(10)
    assert "2 of 6 OpenLineage events did not reach here: OSError: refused" in caplog.text
