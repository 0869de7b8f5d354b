"""The workspace of a root: where a run keeps its things, and the lock that lets one run in."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from yt8m.components.storage.lock import LockedError, file_lock
from yt8m.schemas.errors import UserError, Yt8mError

ARTIFACTS = "artifacts"
CHECKPOINTS = "checkpoints"
SCORES = "scores"  # what Evaluator keeps of the champion's scores
VERIFIED = "verified"  # what ExampleGen remembers of shards it has read


class Layout:
    """`<root>`: TFX's artifacts and metadata, checkpoints, logs, and a folder for each run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.artifacts = root / ARTIFACTS  # TFX's pipeline root
        self.checkpoints = root / CHECKPOINTS
        self.verified = root / VERIFIED
        self.database = root / "metadata.db"
        self.lock = root / "run.lock"
        self.runs = root / "runs"
        self.all_runs = root / "runs.html"  # of `yt8m report --all`
        # A link to the newest run's folder, for components, whose parameters must not vary.
        self.newest = root / "newest-run"
        self.schedule_lock = root / "retrain.lock"  # of the one `yt8m retrain --cron` of the root
        self.schedule_status = root / "retrain.json"
        self.schedule_metrics = root / "retrain.prom"

    @property
    def owned(self) -> tuple[Path, ...]:
        """The folders that hold nothing but what runs left."""
        return (self.artifacts, self.checkpoints, self.runs, self.root / "logs", self.newest)

    def run(self, run_id: str) -> Path:
        return self.runs / run_id

    def logs(self, run_id: str) -> Path:
        return self.root / "logs" / run_id

    def log(self, run_id: str, node: str) -> Path:
        return self.logs(run_id) / f"{node}.log"


def layout_of(root: str | Path) -> Layout:
    """The layout of a root that runs were started on."""
    layout = Layout(Path(root).absolute())
    if not layout.runs.is_dir():
        raise UserError(f"{layout.root}: no run was started there; give the --root of `yt8m run`")
    return layout


_ADVICE = "wait for it (--wait SECONDS), stop it, or use another --root"
_GLANCE_S = 0.2  # waited for in any case: `is_held` takes the lock for a moment


class RootBusyError(Yt8mError):
    """Another run holds the root; the message says which process, and since when."""


@contextlib.contextmanager
def run_lock(path: Path, *, wait_s: float = 0.0, advice: str = _ADVICE) -> Iterator[None]:
    """Hold `path` for the time of the block; wait up to `wait_s` for another holder to end."""
    started = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
    holder = {"pid": os.getpid(), "host": socket.gethostname(), "started": started}
    with contextlib.ExitStack() as stack:
        try:
            wait_s = max(wait_s, _GLANCE_S)
            stack.enter_context(file_lock(path, holder=json.dumps(holder), wait_s=wait_s))
        except LockedError as error:
            raise RootBusyError(_message(error.holder, path, advice)) from None
        yield


def _message(holder: str, path: Path, advice: str) -> str:
    try:
        who = "process {pid} on {host}, started {started}".format(**json.loads(holder))
    except (ValueError, KeyError):  # the holder has the lock and has not signed yet
        who = "a process that has just started"
    return f"{path.parent} is in use: {who}, is running there; {advice}"
