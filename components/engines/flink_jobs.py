"""Flink's own API, for what Beam's job server does not do: end a job, and say why one failed."""

from __future__ import annotations

import json
import logging
import time
from typing import Any
from urllib.request import Request, urlopen

_ENDED = ("CANCELED", "FAILED", "FINISHED")
_ANSWER_S = 5.0
_log = logging.getLogger(__name__)


def cancel(master: str, name: str, *, wait_s: float) -> None:
    """Cancel the jobs of that name at the job manager `master`, HOST:PORT, and see them end."""
    deadline = time.monotonic() + wait_s
    try:
        while (jobs := _active(master, name)) and time.monotonic() < deadline:
            for job in jobs:
                _ask(master, f"jobs/{job}?mode=cancel", method="PATCH")
            time.sleep(0.2)
    except (OSError, ValueError) as error:
        _log.warning("Flink at %s did not cancel the job %s: %s", master, name, error)


def failure(master: str, name: str) -> str:
    """Why the job of that name failed, with all causes: Beam tells the last alone."""
    try:
        found = [_ask(master, f"jobs/{job['jid']}/exceptions") for job in _named(master, name)]
        return "\n".join(one.get("root-exception") or "" for one in found)
    except (OSError, ValueError):
        return ""


def _active(master: str, name: str) -> list[str]:
    return [one["jid"] for one in _named(master, name) if one["state"] not in _ENDED]


def _named(master: str, name: str) -> list[dict[str, Any]]:
    found = _ask(master, "jobs/overview")["jobs"]
    return [one for one in found if one["name"] == name]


def _ask(master: str, path: str, *, method: str = "GET") -> Any:
    address = master if "://" in master else f"http://{master}"
    with urlopen(Request(f"{address}/{path}", method=method), timeout=_ANSWER_S) as answer:
        return json.load(answer)
