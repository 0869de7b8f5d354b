"""A file lock that the kernel lets go when its holder dies, however it dies."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from yt8m.schemas.errors import UserError

_POLL_S = 0.5
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


class LockedError(Exception):
    """Somebody else holds the lock; `holder` is what they wrote into the file."""

    def __init__(self, holder: str) -> None:
        super().__init__(holder)
        self.holder = holder


class NoLocksError(UserError):
    """A file system where nothing can be locked."""


def check_locks(file: IO[Any], directory: str | Path) -> None:
    """NoLocksError where files in `directory`, such as `file`, cannot be locked."""
    try:
        _flock(file, fcntl.LOCK_SH, Path(directory))
    finally:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_UN)


@contextlib.contextmanager
def file_lock(path: Path, *, holder: str, wait_s: float | None = 0.0) -> Iterator[None]:
    """Hold `path` for the time of the block, with `holder` as its content.

    Waits up to `wait_s` for another holder to end, indefinitely where it is None; LockedError then.
    """
    file = path.open("a+", encoding="utf-8")
    try:
        _acquire(file, path, wait_s)
        try:
            file.truncate(0)
            file.write(holder)
            file.flush()
            yield
        finally:
            with contextlib.suppress(OSError):  # what was done under the lock stands all the same
                file.truncate(0)
    finally:
        with contextlib.suppress(OSError):  # the lock goes with the descriptor
            file.close()


def is_held(path: Path) -> bool:
    """Whether somebody holds the lock now."""
    try:
        with path.open(encoding="utf-8") as file:
            return not _flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB, path)
    except FileNotFoundError:
        return False


def _acquire(file: IO[str], path: Path, wait_s: float | None) -> None:
    if wait_s is None:
        _flock(file, fcntl.LOCK_EX, path)
        return
    deadline = time.monotonic() + wait_s
    while not _flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB, path):
        left = deadline - time.monotonic()
        if left <= 0:
            file.seek(0)
            raise LockedError(file.read())
        time.sleep(min(_POLL_S, left))


def _flock(file: IO[Any], kind: int, path: Path) -> bool:
    try:
        fcntl.flock(file, kind)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in _NO_LOCKS:
            raise NoLocksError(
                f"{path}: this file system has no locks ({error.strerror}), so two processes could "
                "write at the same time; choose a directory on another one, or mount it with "
                "locks"
            ) from error
        raise
    return True
