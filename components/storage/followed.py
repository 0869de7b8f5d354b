"""A local directory that an object store follows: for checkpoints and logs, which grow in place.

TensorFlow has no `s3://`, and nothing can be appended to an object. So these files are written on
this machine, and what has changed is sent every few seconds, and at the end.
"""

from __future__ import annotations

import contextlib
import logging
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from yt8m.components.storage import files
from yt8m.components.storage.errors import StorageError

_EVERY_S = 5.0
_log = logging.getLogger(__name__)
_Mark = tuple[int, int, int]  # of a file's content: size, time, number on the disk


@contextlib.contextmanager
def followed(uri: str, *, last: Sequence[str] = (), every_s: float = _EVERY_S) -> Iterator[str]:
    """A directory with what is below `uri`, which follows what is done in it; `uri` where local.

    Files of the names `last` stand for others, which are in the store before them.
    """
    if (local := files.local_path(uri)) is not None:
        yield str(local)
        return
    with tempfile.TemporaryDirectory(prefix="yt8m-followed-") as directory:
        follower = _Follower(Path(directory), uri, last)
        follower.fetch()
        ended = threading.Event()
        thread = threading.Thread(
            target=follower.follow, args=(ended, every_s), name="followed", daemon=True
        )
        thread.start()
        try:
            yield directory
        except BaseException:
            _end(thread, ended)
            with contextlib.suppress(OSError):  # what ended the block counts
                follower.send()
            raise
        _end(thread, ended)
        try:
            follower.send()
        except OSError as error:
            raise StorageError(
                f"{uri}: what was written could not be sent there ({error}); see to the storage, "
                "and give the same command again"
            ) from error


def _end(thread: threading.Thread, ended: threading.Event) -> None:
    ended.set()
    thread.join()


class _Follower:
    def __init__(self, directory: Path, uri: str, last: Sequence[str]) -> None:
        self._directory, self._uri, self._last = directory, uri, last
        self._sent: dict[str, _Mark] = {}

    def fetch(self) -> None:
        below = f"{self._uri.rstrip('/')}/"
        for address in files.listed(self._uri):
            name = address.removeprefix(below)
            files.copy(address, str(self._directory / name))
        self._sent = dict(self._marks())

    def follow(self, ended: threading.Event, every_s: float) -> None:
        while not ended.wait(every_s):
            try:
                self.send()
            except OSError as error:
                _log.warning("%s could not be updated, trying again: %s", self._uri, error)

    def send(self) -> None:
        """What names other files is read before these, and sent after them."""
        names = [name for name in self._last for name in self._named(name)]
        ends = {name: (self._directory / name).read_bytes() for name in names}
        marks = dict(self._marks())
        try:
            for name, mark in marks.items():
                if name not in ends and mark != self._sent.get(name):
                    files.copy(str(self._directory / name), files.join(self._uri, name))
                    self._sent[name] = mark
        except FileNotFoundError:  # a checkpoint that has been replaced meanwhile
            return
        for name in reversed(ends):
            if marks.get(name) != self._sent.get(name):
                files.write_bytes(files.join(self._uri, name), ends[name])
                self._sent[name] = marks[name]
        self._remove([name for name in self._sent if name not in marks])

    def _named(self, name: str) -> list[str]:
        return sorted(str(p.relative_to(self._directory)) for p in self._directory.rglob(name))

    def _marks(self) -> Iterator[tuple[str, _Mark]]:
        for path in sorted(self._directory.rglob("*")):
            with contextlib.suppress(FileNotFoundError):
                status = path.stat()
                if path.is_file():
                    mark = status.st_size, status.st_mtime_ns, status.st_ino
                    yield str(path.relative_to(self._directory)), mark

    def _remove(self, names: Sequence[str]) -> None:
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                files.remove(files.join(self._uri, name))
            del self._sent[name]
