"""A file lock that the kernel lets go when its holder dies, however it dies."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
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
    file = _acquire(path, wait_s)
    try:
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


@contextlib.contextmanager
def alone_in(directory: Path, lock: str, *, does: str) -> Iterator[None]:
    """Make `directory`; nobody else who takes this lock does the same there during the block.

    Where the system has no locks, two are not told apart.
    """
    path, holder = directory / lock, f"process {os.getpid()} on {socket.gethostname()}"
    with contextlib.ExitStack() as stack:
        try:
            directory.mkdir(parents=True, exist_ok=True)
            stack.enter_context(file_lock(path, holder=holder))
        except LockedError as error:
            raise UserError(
                f"{directory}: {error.holder or 'another process'} {does} there; wait for its end, "
                "or choose another directory"
            ) from error
        except NoLocksError:
            pass
        except OSError as error:
            raise UserError(f"{directory}: cannot be written to ({error})") from error
        stack.callback(path.unlink, missing_ok=True)
        yield


def is_held(path: Path) -> bool:
    """Whether somebody holds the lock now."""
    try:
        with path.open(encoding="utf-8") as file:
            return not _flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB, path)
    except FileNotFoundError:
        return False


def _acquire(path: Path, wait_s: float | None) -> IO[str]:
    """The file, open and locked."""
    deadline = None if wait_s is None else time.monotonic() + wait_s
    while True:
        with contextlib.ExitStack() as stack:
            file = stack.enter_context(path.open("a+", encoding="utf-8"))
            _wait_for(file, path, deadline)
            if _is_at(path, file):
                stack.pop_all()
                return file
        # Its holder has removed it, and others would lock a new file of this name.


def _is_at(path: Path, file: IO[str]) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def _wait_for(file: IO[str], path: Path, deadline: float | None) -> None:
    if deadline is None:
        _flock(file, fcntl.LOCK_EX, path)
        return
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
