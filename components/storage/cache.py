"""Files on this machine that can be made again: copies of remote shards, and frames out of shards.

All of them have one directory and one budget. What was used longest ago goes first, and so it does
where the disk gets short. Processes may share the directory.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import shutil
import time
from collections.abc import Iterator, Sequence, Set
from pathlib import Path
from typing import NamedTuple

from yt8m.components.storage import files
from yt8m.components.storage.lock import LockedError, NoLocksError, file_lock
from yt8m.components.storage.temporary import system_temporary_directory

_RECENT_S = 600.0  # a file used within this time may be in use, and stays
_BUDGET = 50 << 30
_LEFT_FREE = 2 << 30  # for everybody else on the disk: checkpoints come before caches
_NAME, _LOCK = "yt8m-read-cache", ".lock"
_LOCK_WAIT_S = 30.0
_BLOCK = 512  # of `st_blocks`, whatever the file system's own are
_log = logging.getLogger(__name__)


class _Found(NamedTuple):
    used: float
    size: int
    missing: int  # bytes of the size that the disk has not given yet
    path: Path


class CacheDirectory:
    """Files that can be made again, within a budget and without filling the disk."""

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        max_bytes: int = _BUDGET,
        left_free: int = _LEFT_FREE,
    ) -> None:
        self.path = Path(path) if path else _of_this_user(system_temporary_directory() / _NAME)
        self._max_bytes, self._left_free = max_bytes, left_free

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """No other process looks for room, or takes what it has found, in the block.

        Without locks, or while another holds it for long, the block goes ahead: a cache too large
        is better than none.
        """
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError, NoLocksError, LockedError):
                self.path.mkdir(parents=True, exist_ok=True)
                lock = file_lock(self.path / _LOCK, holder=f"{os.getpid()}", wait_s=_LOCK_WAIT_S)
                stack.enter_context(lock)
            yield

    def room_for(self, sizes: Sequence[int], *, keep: Set[str] = frozenset()) -> int:
        """How many of these sizes, in their order, have room; other files go for them.

        Files named in `keep` stay, and those that were used a short time ago or are another user's.
        None goes in vain where the budget has no room even so.
        """
        cached = sorted(self._files())
        total = sum(file.size for file in cached)
        free = self._free() - sum(file.missing for file in cached)
        old = [f for f in cached if f.path.name not in keep and time.time() - f.used > _RECENT_S]
        removable = sum(file.size for file in old)
        for count, size in enumerate(sizes):
            if total - removable + size > self._max_bytes:
                return count
            while total + size > self._max_bytes or free - size < self._left_free:
                if not old:
                    return count
                file = old.pop(0)
                removable -= file.size
                if not _remove(file.path):
                    continue
                total -= file.size
                free += file.size
                _log.info(
                    "%s is removed from the read cache (%.1f GB at most): it was the least "
                    "recently used",
                    file.path.name,
                    self._max_bytes / 1e9,
                )
            total += size
            free -= size
        return len(sizes)

    def is_short(self) -> bool:
        """Whether the disk has less left than others may need."""
        return self._free() < self._left_free

    def _free(self) -> int:
        self.path.mkdir(parents=True, exist_ok=True)
        return shutil.disk_usage(self.path).free

    def _files(self) -> Iterator[_Found]:
        """Those of killed downloads too; one that vanishes meanwhile is passed over."""
        for path in self.path.iterdir() if self.path.is_dir() else ():
            with contextlib.suppress(FileNotFoundError):
                if path.name == _LOCK:
                    continue
                status = path.stat()
                missing = max(0, status.st_size - status.st_blocks * _BLOCK)
                yield _Found(status.st_mtime, status.st_size, missing, path)


class ReadCache:
    """`ReadCache().path(uri)` is a path for readers that know paths only, as tf.data's.

    A copy is named after address, size, time and tag, so that a changed object is fetched again.
    """

    def __init__(self, directory: CacheDirectory | None = None) -> None:
        self._directory = directory or CacheDirectory()

    def path(self, uri: str) -> str:
        """`uri` itself where TensorFlow reads it, else the path of a local copy."""
        if (local := files.local_path(uri)) is not None:
            return str(local)
        status = files.stat(uri)
        known = f"{uri} {status.size} {status.mtime} {status.tag}"
        name = f"{hashlib.sha256(known.encode()).hexdigest()[:24]}-{uri.rpartition('/')[2]}"
        copy = self._directory.path / name
        with self._directory.alone():
            if _renew(copy):
                return str(copy)
            self._directory.room_for([status.size])  # without it there is no other way to read
        files.copy(uri, str(copy))
        return str(copy)


def _of_this_user(path: Path) -> Path:
    """`path`, or one beside it where another user has made that."""
    is_usable = not path.exists() or os.access(path, os.W_OK | os.X_OK)
    return path if is_usable else path.with_name(f"{path.name}-{os.getuid()}")


def _renew(copy: Path) -> bool:
    """Whether the copy is there; its time becomes that of the last use."""
    try:
        os.utime(copy)  # which makes no file
    except PermissionError:  # another user's
        return os.access(copy, os.R_OK)
    except FileNotFoundError:
        return False
    return True


def _remove(path: Path) -> bool:
    """Whether the file is gone; another user's stays."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return False
    return True
