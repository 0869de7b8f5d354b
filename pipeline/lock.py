"""One run at a time on a root: a file lock that the kernel lets go when its holder dies."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from yt8m.components.storage.lock import LockedError, file_lock, is_held
from yt8m.schemas.errors import Yt8mError

__all__ = ["RootBusyError", "is_held", "run_lock"]

_GLANCE_S = 0.2  # waited for in any case: `is_held` takes the lock for a moment


class RootBusyError(Yt8mError):
    """Another run holds the root; the message says which process, and since when."""


@contextlib.contextmanager
def run_lock(path: Path, *, wait_s: float = 0.0) -> Iterator[None]:
    """Hold `path` for the time of the block; wait up to `wait_s` for another holder to end."""
    started = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
    holder = {"pid": os.getpid(), "host": socket.gethostname(), "started": started}
    with contextlib.ExitStack() as stack:
        try:
            wait_s = max(wait_s, _GLANCE_S)
            stack.enter_context(file_lock(path, holder=json.dumps(holder), wait_s=wait_s))
        except LockedError as error:
            raise RootBusyError(_message(error.holder, path)) from None
        yield


def _message(holder: str, path: Path) -> str:
    try:
        who = "process {pid} on {host}, started {started}".format(**json.loads(holder))
    except (ValueError, KeyError):  # the holder has the lock and has not signed yet
        who = "a process that has just started"
    return (
        f"{path.parent} is in use: {who}, is running there; wait for it (--wait SECONDS), "
        "stop it, or use another --root"
    )
