"""The workspace of a root: where a run keeps its things, and the lock that lets one run in."""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from yt8m.schemas.errors import Yt8mError

ARTIFACTS = "artifacts"
CHECKPOINTS = "checkpoints"
VERIFIED = "verified"  # what ExampleGen remembers of shards it has read


@dataclass(frozen=True)
class Layout:
    """`<root>`: TFX's artifacts and metadata, checkpoints, logs, and a folder for each run."""

    root: Path

    @property
    def artifacts(self) -> Path:
        """TFX's pipeline root."""
        return self.root / ARTIFACTS

    @property
    def database(self) -> Path:
        return self.root / "metadata.db"

    @property
    def checkpoints(self) -> Path:
        return self.root / CHECKPOINTS

    @property
    def lock(self) -> Path:
        return self.root / "run.lock"

    @property
    def schedule_lock(self) -> Path:
        """Held by the one `yt8m retrain --cron` of the root."""
        return self.root / "retrain.lock"

    @property
    def schedule_status(self) -> Path:
        return self.root / "retrain.json"

    @property
    def schedule_metrics(self) -> Path:
        return self.root / "retrain.prom"

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    @property
    def newest(self) -> Path:
        """A link to the newest run's folder, for components, whose parameters must not vary."""
        return self.root / "newest-run"

    def run(self, run_id: str) -> Path:
        return self.runs / run_id

    def logs(self, run_id: str) -> Path:
        return self.root / "logs" / run_id

    def log(self, run_id: str, node: str) -> Path:
        return self.logs(run_id) / f"{node}.log"


_ADVICE = "wait for it (--wait SECONDS), stop it, or use another --root"
_POLL_S = 0.5
_GLANCE_S = 0.2  # waited for in any case: `is_held` takes the lock for a moment


class RootBusyError(Yt8mError):
    """Another run holds the root; the message says which process, and since when."""


@contextlib.contextmanager
def run_lock(path: Path, *, wait_s: float = 0.0, advice: str = _ADVICE) -> Iterator[None]:
    """Hold `path` for the time of the block; wait up to `wait_s` for another holder to end."""
    with path.open("a+", encoding="utf-8") as file:
        _take(file, path, wait_s, advice)
        _sign(file)
        try:
            yield
        finally:
            file.truncate(0)  # the lock itself goes with the descriptor


def is_held(path: Path) -> bool:
    """Whether somebody holds the lock now."""
    try:
        with path.open(encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _take(file: TextIO, path: Path, wait_s: float, advice: str) -> None:
    deadline = time.monotonic() + max(wait_s, _GLANCE_S)
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise RootBusyError(_message(file, path, advice)) from None
            time.sleep(min(_POLL_S, max(deadline - time.monotonic(), 0.0)))


def _sign(file: TextIO) -> None:
    started = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
    holder = {"pid": os.getpid(), "host": socket.gethostname(), "started": started}
    file.seek(0)
    file.truncate()
    file.write(json.dumps(holder))
    file.flush()


def _message(file: TextIO, path: Path, advice: str) -> str:
    file.seek(0)
    try:
        holder = json.loads(file.read())
        who = "process {pid} on {host}, started {started}".format(**holder)
    except (ValueError, KeyError):  # the holder has the lock and has not signed yet
        who = "a process that has just started"
    return f"{path.parent} is in use: {who}, is running there; {advice}"
