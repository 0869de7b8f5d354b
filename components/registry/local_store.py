"""A push directory on a file system: a version appears whole, by one rename, or not at all.

Everything is written and flushed under a name that TensorFlow Serving ignores; only then does the
directory get its number. Removal goes the other way: first the number goes, then the files. So a
kill at any moment leaves versions that are complete, and rubbish that the next push clears away.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from yt8m.components.artifacts.version_record import RECORD_FILE, VersionRecord
from yt8m.components.registry.versions import list_versions
from yt8m.components.storage import files
from yt8m.components.storage.lock import LockedError, file_lock
from yt8m.schemas.errors import UserError

# TensorFlow Serving looks at names that are numbers, and at nothing else.
LOCK_FILE = ".lock"
_STAGING = ".staging-"
_REMOVED = ".removed-"
_TAKEN = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)

_log = logging.getLogger(__name__)


class LocalStore:
    """Places and takes away versions; only one process at a time does."""

    def __init__(self, push_dir: str) -> None:
        self._root = Path(push_dir.removeprefix("file://"))

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Wait for the push directory and hold it; the kernel frees the lock of a killed one."""
        with contextlib.ExitStack() as stack:
            try:
                self._root.mkdir(parents=True, exist_ok=True)
                stack.enter_context(_lock(self._root))
            except OSError as error:
                raise UserError(f"versions cannot be put into {self._root}: {error}") from error
            self._clear_rubbish()
            try:
                yield
            finally:
                self._clear_rubbish()

    def place(self, contents: Mapping[str, str], record: VersionRecord) -> int:
        """The files of `contents`, by name, and the record as the next free number."""
        staging = Path(tempfile.mkdtemp(prefix=_STAGING, dir=self._root))
        staging.chmod(0o755)  # mkdtemp's 0700 would lock a model server out
        for name, source in contents.items():
            files.copy(source, str(staging / name))
        number = max(list_versions(str(self._root)), default=0)
        while True:
            number += 1
            text = dataclasses.replace(record, version=number).to_json()
            files.write_text(str(staging / RECORD_FILE), text)
            _flush_directories(staging)
            if self._reveal(staging, number):
                return number

    def take_away(self, number: int) -> None:
        """The number vanishes at once; its files go when the writing ends."""
        (self._root / str(number)).rename(self._root / f"{_REMOVED}{number}")

    def _reveal(self, staging: Path, number: int) -> bool:
        try:
            staging.rename(self._root / str(number))
        except OSError as error:
            if error.errno in _TAKEN:  # somebody who does not take our lock was faster
                return False
            raise
        _flush(self._root)
        return True

    def _clear_rubbish(self) -> None:
        """What killed pushes left; who calls this holds the lock, so nobody is at it now."""
        for path in self._root.iterdir():
            if path.name.startswith((_STAGING, _REMOVED)):
                shutil.rmtree(path)


@contextlib.contextmanager
def _lock(root: Path) -> Iterator[None]:
    holder = f"{os.getpid()}\n"
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(file_lock(root / LOCK_FILE, holder=holder))
        except LockedError as error:
            other = error.holder.strip() or "unknown"
            _log.info("waiting for another push into %s (process %s)", root, other)
            stack.enter_context(file_lock(root / LOCK_FILE, holder=holder, wait_s=None))
        yield


def _flush_directories(root: Path) -> None:
    """The files are on the disk (storage writes them so); now their names."""
    for path in root.rglob("*"):
        if path.is_dir():
            _flush(path)
    _flush(root)


def _flush(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
