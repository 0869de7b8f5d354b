"""A stage that loses a worker is started once more; a worker that hangs is named.

Jobs run on Beam's own job server, in this process. Flink's answers are in its API's words.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability import portable_runner
from apache_beam.runners.portability.local_job_service import LocalJobServicer
from apache_beam.runners.runner import PipelineState
from http_double import HttpDouble, listening
from werkzeug import Request
from werkzeug.routing import Map, Rule

from yt8m.components.engines import flink_jobs, runners
from yt8m.components.engines.runners import PortableRunner
from yt8m.components.engines.standstill import standstill_named
from yt8m.schemas.errors import Yt8mError

DIED = "Process died with exit code 1"  # as Flink tells of a Python worker


@pytest.fixture(scope="module")
def job_server() -> Iterator[str]:
    server = LocalJobServicer()
    port = server.start_grpc_server(0)
    yield f"localhost:{port}"
    server.stop(timeout=1)


class FailsFirst(beam.DoFn):
    """Raises `message` in its first attempts, of which each leaves a file."""

    def __init__(self, folder: Path, attempts: int, message: str) -> None:
        self._folder, self._attempts, self._message = folder, attempts, message

    def process(self, element: int) -> Iterator[int]:
        number = len(list(self._folder.glob("failed-*")))
        if number < self._attempts:
            (self._folder / f"failed-{number}").touch()
            raise RuntimeError(self._message)
        (self._folder / f"done-{element}").touch()
        yield element


def run(job_server: str, work: FailsFirst) -> None:
    words = [f"--job_endpoint={job_server}", "--environment_type=LOOPBACK"]
    with beam.Pipeline(runner=PortableRunner(), options=PipelineOptions(words)) as pipeline:
        _ = pipeline | beam.Create([1, 2], reshuffle=False) | beam.ParDo(work)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_stage_that_lost_a_worker_is_started_once_more(
    job_server: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run(job_server, FailsFirst(tmp_path, 1, DIED))
    assert names(tmp_path) == ["done-1", "done-2", "failed-0"]
    assert "a Python worker of the engine was lost (LOOPBACK)" in caplog.text
    assert "the stage restarts" in caplog.text


def test_a_stage_that_loses_a_worker_twice_ends_the_run(job_server: str, tmp_path: Path) -> None:
    with pytest.raises(Yt8mError, match=r"worker of the engine was lost .* it continues"):
        run(job_server, FailsFirst(tmp_path, 9, DIED))
    assert names(tmp_path) == ["failed-0", "failed-1"]


def test_a_pool_that_loads_while_its_stage_restarts_is_no_second_loss(
    job_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runners, "_POOL_ASKED_S", 0.1)
    no_pool = "StatusRuntimeException: UNAVAILABLE: io exception"
    run(job_server, FailsFirst(tmp_path, 3, no_pool))
    assert names(tmp_path)[2:] == ["failed-0", "failed-1", "failed-2"]
    monkeypatch.setattr(runners, "_REPLACED_S", 0.0)
    never = tmp_path / "never"
    never.mkdir()
    with pytest.raises(Yt8mError, match="no worker pool answers the engine's workers"):
        run(job_server, FailsFirst(never, 9, no_pool))
    assert names(never) == ["failed-0", "failed-1"]


def test_a_failure_of_the_work_itself_is_not_repeated(job_server: str, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="a record is bad"):
        run(job_server, FailsFirst(tmp_path, 9, "a record is bad"))
    assert names(tmp_path) == ["failed-0"]


def test_what_has_ended_leaves_nothing_to_the_end_of_the_process(
    job_server: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Beam would end its server for workers a second time, in four lines below the result."""
    at_exit: list[Any] = []
    monkeypatch.setattr(portable_runner.atexit, "register", at_exit.append)
    run(job_server, FailsFirst(tmp_path, 0, ""))
    monkeypatch.undo()
    assert at_exit
    caplog.set_level(logging.INFO)
    for end in at_exit:
        end()
    assert "cleanup on exit" not in caplog.text


class Waits(beam.DoFn):
    """Begins, and goes on when it is told to."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def process(self, element: int) -> Iterator[int]:
        (self._folder / "begun").touch()
        while not (self._folder / "go").exists():
            time.sleep(0.05)
        yield element


def test_who_interrupts_a_run_cancels_its_job(
    job_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits, wait = Event(), portable_runner.PipelineResult.wait_until_finish

    def waiting(job: portable_runner.PipelineResult, duration: int | None = None) -> Any:
        waits.set()
        return wait(job, duration)

    def interrupt() -> None:
        waits.wait()
        while not (tmp_path / "begun").exists():
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(portable_runner.PipelineResult, "wait_until_finish", waiting)
    monkeypatch.setattr(runners, "_CANCEL_S", 60.0)  # however slow this machine is
    words = [f"--job_endpoint={job_server}", "--environment_type=LOOPBACK"]
    pipeline = beam.Pipeline(runner=PortableRunner(), options=PipelineOptions(words))
    _ = pipeline | beam.Create([1], reshuffle=False) | beam.ParDo(Waits(tmp_path))
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        job = pipeline.run()
        Thread(target=interrupt, daemon=True).start()
        with pytest.raises(KeyboardInterrupt):
            job.wait_until_finish()
        assert job.state == PipelineState.CANCELLED
    finally:
        signal.signal(signal.SIGINT, previous)
        (tmp_path / "go").touch()


class FlinkDouble(HttpDouble):
    """One job of two stages, the second of which has a worker that has ended."""

    routes = Map(
        [
            Rule("/taskmanagers", endpoint="task_managers", methods=["GET"]),
            Rule("/jobs/overview", endpoint="jobs", methods=["GET"]),
            Rule("/jobs/<job>", endpoint="job", methods=["GET"]),
            Rule("/jobs/<job>/vertices/<vertex>", endpoint="vertex", methods=["GET"]),
            Rule("/jobs/<job>/exceptions", endpoint="exceptions", methods=["GET"]),
        ]
    )
    records, moving = 0, 0
    dead: tuple[str, ...] = ()

    def task_managers(self, request: Request) -> Any:
        """The lost ones are listed as well, as Flink does for a while."""
        now = len(self.requests)
        found = [
            {
                "id": name,
                "slotsNumber": 1,
                "timeSinceLastHeartbeat": 7 if name in self.dead else now,
            }
            for name in ("tm-0", "tm-1")
        ]
        return {"taskmanagers": found}

    def jobs(self, request: Request) -> Any:
        return {"jobs": [{"jid": "1", "name": "job", "state": "RUNNING"}]}

    def job(self, request: Request, job: str) -> Any:
        self.records += self.moving

        def part(name: str, status: str, read: int) -> dict[str, Any]:
            counted = {"read-records": read, "write-records": self.records}
            return {"id": name, "name": name, "status": status, "metrics": counted}

        parts = [part("Shards", "FINISHED", 0), part("Verify", "RUNNING", 5)]
        return {"vertices": [*parts, part("Write", "RUNNING", 0)]}

    def exceptions(self, request: Request, job: str) -> Any:
        """The first answer is an earlier one, as Flink repeats it for three seconds."""
        asked = self.count(r"GET /jobs/1/exceptions")
        return {"root-exception": DIED if asked > 1 else None}

    def vertex(self, request: Request, job: str, vertex: str) -> Any:
        states = {"tm-0": "RUNNING", "tm-1": "FINISHED"}
        return {"subtasks": [{"taskmanager-id": t, "status": s} for t, s in states.items()]}


def watch(flink: FlinkDouble, url: str, questions: int) -> None:
    """Until Flink was asked so often how much has moved."""
    with standstill_named(url, "job", still_s=0.05, every_s=0.01):
        while flink.count(r"GET /jobs/1$") < questions:
            time.sleep(0.01)


def test_a_worker_that_hangs_is_named(caplog: pytest.LogCaptureFixture) -> None:
    flink = FlinkDouble()
    with listening(flink) as url:
        watch(flink, url, 40)
    assert "a worker may hang among Verify on tm-0. End its task manager" in caplog.text


def test_of_a_job_whose_records_move_nothing_is_said(caplog: pytest.LogCaptureFixture) -> None:
    flink = FlinkDouble()
    flink.moving = 1
    with caplog.at_level(logging.WARNING), listening(flink) as url:
        watch(flink, url, 40)
    assert "no record has moved" not in caplog.text


def test_a_job_manager_that_does_not_answer_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    flink = FlinkDouble()
    flink.fail("GET", status=500, times=99)
    with listening(flink) as url:
        assert (flink_jobs.task_managers(url), flink_jobs.moved_records(url, "job")) == ({}, None)
        assert flink_jobs.at_work(url, "job") == []


def test_what_flink_says_of_a_job_before_it_has_failed_is_not_the_last_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(flink_jobs, "_ANSWER_S", 60.0)
    monkeypatch.setattr(flink_jobs, "_REPEATED_S", 60.0)
    with listening(FlinkDouble()) as url:
        assert flink_jobs.failure(url, "job") == DIED
        assert flink_jobs.failure(url, "another job") == ""


def test_a_task_manager_that_is_listed_and_silent_is_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(flink_jobs, "_ANSWER_S", 60.0)
    flink = FlinkDouble()
    with listening(flink) as url:
        assert flink_jobs.slots(flink_jobs.task_managers(url)) == 2
        assert flink_jobs.are_there(url, 2, wait_s=20)
        flink.dead = ("tm-0",)
        assert not flink_jobs.are_there(url, 2, wait_s=1.5)
