"""Flink's own API, for operations that Beam's job server lacks: cancel a job, explain a failure.

And what one does: how much has moved, and who is at work. Whether a job manager answers at all is
found out before a run.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

ENDED = ("CANCELED", "FAILED", "FINISHED")
_RUNNING = "RUNNING"
_WAYS = ("read-records", "write-records")
_ANSWER_S, _ASKED_S = 4.0, 0.5
_REPEATED_S = 8.0  # `web.refresh-interval` is 3, if nobody has set it
# Of something that is no job manager, its answer is none of HTTP's, or none of Flink's.
_NO_ANSWER = (OSError, ValueError, HTTPException, KeyError, TypeError)
_log = logging.getLogger(__name__)


def fault_of_job_manager(master: str) -> str:
    """Describe the fault of the job manager at `master`; "" where Flink's API answers there."""
    try:
        _ask(master, "overview")["flink-version"]
    except HTTPError as error:
        return f"it is not Flink's REST API (it answers {error.code} to /overview)"
    except TimeoutError:
        return f"something listens there and does not answer within {_ANSWER_S:.0f} s"
    except _NO_ANSWER as error:
        return f"it is not Flink's REST API ({type(error).__name__})"
    return ""


def cancel(master: str, name: str, *, wait_s: float) -> None:
    """Cancel the jobs of that name at the job manager `master`, HOST:PORT, and see them end."""
    deadline = time.monotonic() + wait_s
    try:
        while (jobs := _active(master, name)) and time.monotonic() < deadline:
            for job in jobs:
                _ask(master, f"jobs/{job}?mode=cancel", method="PATCH")
            time.sleep(0.2)
    except _NO_ANSWER as error:
        _log.warning("Flink at %s did not cancel the job %s: %s", master, name, error)


def failure(master: str, name: str) -> str:
    """Why the job of that name failed, with all causes: Beam tells the last alone.

    For some seconds Flink repeats its earlier answers on a job, of when it had not failed yet.
    """
    deadline, told = time.monotonic() + _REPEATED_S, ""
    try:
        while (jobs := _named(master, name)) and not told and time.monotonic() < deadline:
            answers = [_ask(master, f"jobs/{job['jid']}/exceptions") for job in jobs]
            told = "\n".join(filter(None, (one.get("root-exception") for one in answers)))
            time.sleep(0 if told else _ASKED_S)
    except _NO_ANSWER as error:
        _log.info("Flink at %s does not explain the job %s: %s", master, name, error)
    return told


class TaskManager(NamedTuple):
    """Number of slots of a task manager, and the time of its last heartbeat."""

    slots: int
    heard: int


def task_managers(master: str) -> dict[str, TaskManager]:
    """The task managers by their ids; none where Flink does not answer."""
    try:
        return {
            one["id"]: TaskManager(one["slotsNumber"], one["timeSinceLastHeartbeat"])
            for one in _ask(master, "taskmanagers")["taskmanagers"]
        }
    except _NO_ANSWER:
        return {}


def slots(managers: Mapping[str, TaskManager]) -> int:
    """How many workers they have places for."""
    return sum(one.slots for one in managers.values())


def are_there(master: str, wanted: int, *, wait_s: float) -> bool:
    """Whether task managers with so many slots send heartbeats, after some seconds at most.

    Flink lists one that was lost for up to a minute, and would give its slots to the next job.
    """
    before, deadline = task_managers(master), time.monotonic() + wait_s
    alive: dict[str, TaskManager] = {}
    while slots(alive) < wanted and time.monotonic() < deadline:
        time.sleep(_ASKED_S)
        managers = task_managers(master)
        alive = {name: one for name, one in managers.items() if one != before.get(name)}
    return slots(alive) >= wanted


def moved_records(master: str, name: str) -> int | None:
    """How many records the job's parts have read and written; None where Flink does not answer."""
    try:
        parts = [part for job in _active(master, name) for part in _parts(master, job)]
        return sum(part["metrics"][way] for part in parts for way in _WAYS)
    except _NO_ANSWER:
        return None


def at_work(master: str, name: str) -> list[str]:
    """The subtasks of the job that run and were given records, each with its task manager."""
    busy = []
    try:
        for job in _active(master, name):
            for part in _parts(master, job):
                if part["status"] == _RUNNING and part["metrics"]["read-records"]:
                    subtasks = _ask(master, f"jobs/{job}/vertices/{part['id']}")["subtasks"]
                    busy += [
                        f"{part['name']} on {one['taskmanager-id']}"
                        for one in subtasks
                        if one["status"] == _RUNNING
                    ]
    except _NO_ANSWER as error:
        _log.info("Flink at %s does not list its jobs: %s", master, error)
    return busy


def _parts(master: str, job: str) -> list[dict[str, Any]]:
    vertices: list[dict[str, Any]] = _ask(master, f"jobs/{job}")["vertices"]
    return vertices


def _active(master: str, name: str) -> list[str]:
    return [one["jid"] for one in _named(master, name) if one["state"] not in ENDED]


def _named(master: str, name: str) -> list[dict[str, Any]]:
    jobs = _ask(master, "jobs/overview")["jobs"]
    return [one for one in jobs if one["name"] == name]


def _ask(master: str, path: str, *, method: str = "GET") -> Any:
    address = master if "://" in master else f"http://{master}"
    with urlopen(Request(f"{address}/{path}", method=method), timeout=_ANSWER_S) as answer:
        return json.load(answer)
