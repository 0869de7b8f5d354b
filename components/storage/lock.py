"""A file lock that the kernel lets go when its holder dies, however it dies."""

from __future__ import annotations

import contextlib
import fcntl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

_POLL_S = 0.5


class LockedError(Exception):
    """Somebody else holds the lock; `holder` is what they wrote into the file."""

    def __init__(self, holder: str) -> None:
        super().__init__(holder)
        self.holder = holder


@contextlib.contextmanager
def file_lock(path: Path, *, holder: str, wait_s: float | None = 0.0) -> Iterator[None]:
    """Hold `path` for the time of the block, with `holder` as its content.

    Waits up to `wait_s` for another holder to end, indefinitely where it is None; LockedError then.
    """
    with path.open("a+", encoding="utf-8") as file:
        _acquire(file, wait_s)
        file.truncate(0)
        file.write(holder)
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)  # the lock itself goes with the descriptor


def is_held(path: Path) -> bool:
    """Whether somebody holds the lock now."""
    try:
        with path.open(encoding="utf-8") as file:
            return not _try(file, fcntl.LOCK_SH)
    except FileNotFoundError:
        return False


def _acquire(file: TextIO, wait_s: float | None) -> None:
    if wait_s is None:
        fcntl.flock(file, fcntl.LOCK_EX)
        return
    deadline = time.monotonic() + wait_s
    while not _try(file, fcntl.LOCK_EX):
        left = deadline - time.monotonic()
        if left <= 0:
            file.seek(0)
            raise LockedError(file.read())
        time.sleep(min(_POLL_S, left))


def _try(file: TextIO, kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
