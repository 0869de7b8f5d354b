"""A push directory on a file system: a version appears whole, by one rename, or not at all.

Everything is written and flushed under a name that TensorFlow Serving ignores; only then does the
directory get its number. Removal goes the other way: first the number goes, then the files. So a
kill at any moment leaves versions that are complete, and rubbish that the next push clears away.
What comes after the rename, cleaning included, changes nothing of the outcome.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import logging
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from yt8m.components import storage
from yt8m.components.artifacts.version_record import VersionRecord
from yt8m.components.registry.champion import CHOICE_FILE
from yt8m.components.registry.cleaning import LEFTOVERS_FILE, Cleaning
from yt8m.components.registry.outcomes import UnknownPushError
from yt8m.components.registry.signature import Signer
from yt8m.components.registry.versions import (
    ASIDE_DIR,
    NOT_SERVED_DIR,
    Version,
    next_number,
    wrong_files,
)
from yt8m.components.registry.written_files import written_files
from yt8m.components.storage.lock import LockedError, file_lock
from yt8m.schemas.errors import UserError, Yt8mError

# TensorFlow Serving looks at names that are numbers, and at nothing else.
LOCK_FILE = ".lock"
_STAGING = ".yt8m-staging-"
_REMOVED = ".yt8m-removed-"
_KEPT_ASIDE_S = 7 * 24 * 3600.0
_TAKEN = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)

_log = logging.getLogger(__name__)


class LocalStore:
    """Adds and removes versions; only one process at a time does."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._cleaning = Cleaning(str(root))

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Cleaning]:
        """Wait for the push directory and hold it; the kernel frees the lock of a killed one."""
        with contextlib.ExitStack() as stack:
            try:
                _make_root(self._root)
                stack.enter_context(_lock(self._root))
            except OSError as error:
                raise UserError(f"versions cannot be written to {self._root}: {error}") from error
            self._cleaning = Cleaning(str(self._root))
            self._clear_rubbish()
            try:
                yield self._cleaning
            finally:
                self._clear_rubbish()
                self._cleaning.finish()
                for name in (LEFTOVERS_FILE, CHOICE_FILE):
                    with contextlib.suppress(OSError):  # there is none, most of the time
                        _share(self._root / name, self._root)

    def add(
        self,
        contents: Mapping[str, str],
        record: VersionRecord,
        *,
        served: bool,
        check: Callable[[], None],
        signer: Signer | None,
    ) -> Version:
        """The files of `contents`, by name, and the record as the next free number.

        `check` may still refuse, just before the version appears.
        """
        check()
        staging = Path(tempfile.mkdtemp(prefix=_STAGING, dir=self._root))
        for name, source in contents.items():
            storage.copy(source, str(staging / name))
        if wrong := list(wrong_files(str(staging), record, verify=True)):
            raise Yt8mError(f"the model changed while it was copied: {'; '.join(wrong)}")
        place = self._root if served else self._root / NOT_SERVED_DIR
        _make_shared(place, self._root)
        while True:
            check()  # somebody who does not take our lock may have been faster
            number = next_number(str(self._root))
            numbered, texts = written_files(dataclasses.replace(record, version=number), signer)
            for name, text in texts.items():
                storage.write_text(str(staging / name), text)
            for path in (staging, *staging.rglob("*")):
                _share(path, self._root)
            _flush_directories(staging)
            target = place / str(number)
            if self._reveal(staging, target):
                return Version(number=number, path=str(target), record=numbered)

    def remove(self, path: str) -> None:
        """The version's name vanishes immediately; its files go when the transaction ends."""
        version = Path(path)
        version.rename(self._root / f"{_REMOVED}{version.name}")

    def put_aside(self, path: str) -> str:
        """Remove a version, which stays for a week under another name; that name."""
        version = Path(path)
        aside = self._root / ASIDE_DIR
        _make_shared(aside, self._root)
        target = aside / version.name
        version.rename(target)
        with self._cleaning.trying(f"the time of {target} was not set"):
            target.touch()
        return str(target)

    def _reveal(self, staging: Path, target: Path) -> bool:
        """Whether the version got its number; not where somebody has taken it."""
        try:
            staging.rename(target)
        except OSError as error:
            if error.errno in _TAKEN:
                return False
            if error.errno == errno.EXDEV:
                raise UserError(
                    f"{target.parent} is on another file system than {self._root}: a version gets "
                    "its number by a rename, so both must be on one"
                ) from error
            if not self._was_renamed(staging, target, error):
                raise
        with self._cleaning.trying(f"{target.parent} was not flushed to the disk"):
            _flush(target.parent)
        return True

    def _was_renamed(self, staging: Path, target: Path, error: OSError) -> bool:
        """Whether a rename that failed was done: a network file system may lose the answer."""
        try:
            return not os.path.lexists(staging) and target.is_dir()
        except OSError:
            raise UnknownPushError(str(self._root), int(target.name), error) from error

    def _clear_rubbish(self) -> None:
        """Remove what killed pushes left; the lock is held, so nobody is at it now."""
        with self._cleaning.trying(f"{self._root} was not searched for leftovers"):
            for path in self._root.iterdir():
                if path.name.startswith((_STAGING, _REMOVED)):
                    with self._cleaning.trying(f"{path} was not removed"):
                        storage.remove_tree(str(path))
            aside = self._root / ASIDE_DIR
            for path in aside.iterdir() if aside.is_dir() else ():
                if path.lstat().st_mtime < time.time() - _KEPT_ASIDE_S:
                    with self._cleaning.trying(f"{path} was not removed"):
                        storage.remove_tree(str(path))


@contextlib.contextmanager
def _lock(root: Path) -> Iterator[None]:
    holder = f"{os.getpid()}\n"
    lock = root / LOCK_FILE
    if not lock.exists():
        lock.touch()
        _share(lock, root, write=True)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(file_lock(lock, holder=holder))
        except LockedError as error:
            other = error.holder.strip() or "unknown"
            _log.info("waiting for another push into %s (process %s)", root, other)
            stack.enter_context(file_lock(lock, holder=holder, wait_s=None))
        yield


def _make_root(root: Path) -> None:
    """Create the push directory where it is missing, so that a power cut does not lose it."""
    missing = [path for path in (root, *root.parents) if not path.exists()]
    root.mkdir(parents=True, exist_ok=True)
    for path in missing:
        _flush(path.parent)


def _make_shared(directory: Path, root: Path) -> None:
    try:
        directory.mkdir()
    except FileExistsError:
        return
    _share(directory, root)
    _flush(root)


def _share(path: Path, root: Path, *, write: bool = False) -> None:
    """Give `path` the push directory's group and rights, whatever group and umask this process has.

    So model servers read what any pusher wrote, and other pushers may remove it.
    """
    status, rights = path.lstat(), root.stat()
    if stat.S_ISDIR(status.st_mode):
        mode = 0o700 | rights.st_mode & 0o2775
    else:
        mode = 0o600 | rights.st_mode & (0o066 if write else 0o044)
    try:
        if status.st_gid != rights.st_gid:
            os.chown(path, -1, rights.st_gid)
            status = path.lstat()  # of which that cleared bits
        if stat.S_IMODE(status.st_mode) != mode:
            path.chmod(mode)
    except PermissionError as error:
        _log.warning("cannot give %s the group and permissions of %s: %s", path, root, error)


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
