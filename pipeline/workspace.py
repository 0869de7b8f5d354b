"""The workspace of a root: its paths, and the lock that admits one run."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import json
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from yt8m.components import storage
from yt8m.components.artifacts.run_record import RUNS
from yt8m.components.storage.lease import held_lease, is_leased
from yt8m.components.storage.lock import LockedError, file_lock
from yt8m.components.storage.lock import is_held as is_file_held
from yt8m.schemas.errors import UserError, Yt8mError

ARTIFACTS = "artifacts"
CHECKPOINTS = "checkpoints"
SCORES = "scores"  # what Evaluator keeps of the champion's scores
VERIFIED = "verified"  # what ExampleGen remembers of shards it has read


class Layout:
    """`<root>`: TFX's artifacts and metadata, checkpoints, logs, and a folder for each run.

    All are addresses, on this machine or in an object store.
    """

    def __init__(self, root: str | Path, environ: Mapping[str, str] = os.environ) -> None:
        self.root = str(root)
        self.is_remote = storage.local_path(self.root) is None
        self.artifacts = self._place(ARTIFACTS)  # TFX's pipeline root
        self.checkpoints = self._place(CHECKPOINTS)
        self.verified = self._place(VERIFIED)
        self.lock = self._place("run.lock")
        self.runs = self._place(RUNS)
        self.all_runs = self._place("runs.html")  # of `yt8m report --all`
        # The newest run's folder, for components, whose parameters must not vary.
        self.newest = self._place("newest-run")
        self.schedule_lock = self._place("retrain.lock")  # of the root's one `yt8m retrain --cron`
        self.schedule_status = self._place("retrain.json")
        self.schedule_metrics = self._place("retrain.prom")
        self.database = (_state_of(self.root, environ) if self.is_remote else Path(self.root)) / (
            "metadata.db"
        )

    @property
    def owned(self) -> tuple[str, ...]:
        """The folders that hold nothing but what runs left."""
        return (self.artifacts, self.checkpoints, self.runs, self._place("logs"), self.newest)

    def run(self, run_id: str) -> str:
        return storage.join(self.runs, run_id)

    def logs(self, run_id: str) -> str:
        return self._place("logs", run_id)

    def log(self, run_id: str, node: str) -> str:
        return storage.join(self.logs(run_id), f"{node}.log")

    def _place(self, *names: str) -> str:
        return storage.join(self.root, *names)


def _state_of(root: str, environ: Mapping[str, str]) -> Path:
    """This machine's directory of a root in an object store, where SQLite cannot be."""
    try:
        base = Path(environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    except RuntimeError as error:  # a user without an entry in passwd, and without HOME
        raise UserError(
            f"{root}: the metadata of a root in an object store are on this machine, and this user "
            "has no home directory: set HOME or XDG_STATE_HOME, or use metadata.mysql"
        ) from error
    return base / "yt8m" / hashlib.sha256(root.rstrip("/").encode()).hexdigest()[:16]


def layout_of(root: str | Path) -> Layout:
    """The layout of a root that runs were started on."""
    layout = Layout(storage.absolute(str(root)))
    if not storage.is_dir(layout.runs):
        raise UserError(f"{layout.root}: no run was started there; give the --root of `yt8m run`")
    return layout


_ADVICE = "wait for it (--wait SECONDS), stop it, or use another --root"
_GLANCE_S = 0.2  # waited for in any case: `is_held` takes the lock for a moment


class RootBusyError(Yt8mError):
    """Another run holds the root; the message says which process, and since when."""


Check = Callable[[], None]  # raises where the root may have been taken over


@contextlib.contextmanager
def run_lock(
    path: str | Path,
    *,
    wait_s: float = 0.0,
    advice: str = _ADVICE,
    on_lost: Callable[[], None] | None = None,
) -> Iterator[Check]:
    """Hold `path` for the time of the block; wait up to `wait_s` for another holder to end.

    `on_lost` is called where it may be another's before the block ends, in an object store alone.
    """
    started = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
    said = {"pid": os.getpid(), "host": socket.gethostname(), "started": started}
    local, holder = storage.local_path(str(path)), json.dumps(said)
    with contextlib.ExitStack() as stack:
        try:
            if local is None:
                lease = held_lease(str(path), said=holder, wait_s=wait_s, on_lost=on_lost)
                check = stack.enter_context(lease).check
            else:
                wait_s = max(wait_s, _GLANCE_S)
                stack.enter_context(file_lock(local, holder=holder, wait_s=wait_s))
                check = _always_ours
        except LockedError as error:
            root = str(path).rpartition("/")[0]
            raise RootBusyError(_message(error.holder, root, advice)) from None
        except OSError as error:
            if local is not None:
                raise
            raise UserError(
                f"{path}: it cannot be written, and a root needs it ({error})"
            ) from error
        yield check


def _always_ours() -> None:
    """The kernel keeps a file's lock for its holder."""


def is_held(path: str) -> bool:
    """Whether somebody holds the lock now."""
    local = storage.local_path(path)
    return is_leased(path) if local is None else is_file_held(local)


def _message(holder: str, root: str, advice: str) -> str:
    try:
        who = "process {pid} on {host}, started {started}".format(**json.loads(holder))
    except (ValueError, KeyError):  # the holder has the lock and has not signed yet
        who = "a process that has just started"
    return f"{root} is in use: {who}, is running there; {advice}"
