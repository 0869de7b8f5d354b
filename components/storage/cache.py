"""Local copies of remote files, for readers that know paths only: tf.data has no s3://, and of gs://
neither our retries nor our errors.

A copy is named after address, size, time and tag, so that a changed object is fetched again. The
directory is bounded: what was used longest ago goes first. Processes may share it.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import time
from collections.abc import Iterator
from pathlib import Path

from yt8m.components.storage import files

_RECENT_S = 600.0  # a copy used within this time may be open, and stays
_log = logging.getLogger(__name__)


class ReadCache:
    """`ReadCache(directory).path(uri)` is a path that tf.data can read."""

    def __init__(self, directory: str | Path, *, max_bytes: int = 50 << 30) -> None:
        self._directory, self._max_bytes = Path(directory), max_bytes

    def path(self, uri: str) -> str:
        """`uri` itself where TensorFlow reads it, else the path of a local copy."""
        if (local := files.local_path(uri)) is not None:
            return str(local)
        found = files.stat(uri)
        known = f"{uri} {found.size} {found.mtime} {found.tag}"
        name = f"{hashlib.sha256(known.encode()).hexdigest()[:24]}-{uri.rpartition('/')[2]}"
        copy = self._directory / name
        if not copy.exists():
            self._make_room(found.size)
            files.copy(uri, str(copy))
        copy.touch()  # its time is that of the last use
        return str(copy)

    def _make_room(self, size: int) -> None:
        copies = sorted(self._copies())
        total = sum(length for _, length, _ in copies) + size
        for used, length, path in copies:
            if total <= self._max_bytes or time.time() - used < _RECENT_S:
                return
            path.unlink(missing_ok=True)
            total -= length
            _log.info(
                "%s is removed from the read cache (%.1f GB at most): it was used longest ago",
                path.name,
                self._max_bytes / 1e9,
            )

    def _copies(self) -> Iterator[tuple[float, int, Path]]:
        """Time of the last use, size and path of each; one that vanishes meanwhile is passed."""
        for path in self._directory.glob("[!.]*"):
            with contextlib.suppress(FileNotFoundError):
                status = path.stat()
                yield status.st_mtime, status.st_size, path
