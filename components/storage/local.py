"""Local files."""

from __future__ import annotations

import errno
import glob
import os
import shutil
import stat
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import BinaryIO

from yt8m.components.storage.backend import Stat
from yt8m.components.storage.lock import NoLocksError, check_locks
from yt8m.schemas.errors import UserError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # there is no room for what is written
_NO_FILES = {
    stat.S_ISFIFO: "a named pipe",
    stat.S_ISSOCK: "a socket",
    stat.S_ISCHR: "a device",
    stat.S_ISBLK: "a device",
}
_WRONG_NAMES = {errno.ELOOP: "a loop of links", errno.ENAMETOOLONG: "its name is too long"}


class LocalBackend:
    """The file system of this machine."""

    atomic_rename = True

    def local_path(self, path: str) -> Path | None:
        return Path(path)

    def absolute(self, path: str) -> str:
        return str(Path(path).absolute()) if path else path

    def unwritable(self, directory: str) -> str:
        try:
            Path(directory).mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=directory) as file:
                file.write(b"?")
                check_locks(file, directory)
        except FileExistsError:
            return "is a file, not a directory"
        except NoLocksError as error:
            return str(error).removeprefix(f"{directory}: ")
        except OSError as error:
            return f"cannot be written ({error.strerror}); choose another, or fix its permissions"
        return ""

    def free_bytes(self, directory: str) -> int | None:
        return shutil.disk_usage(directory).free if Path(directory).is_dir() else None

    def open(self, path: str) -> BinaryIO:
        _check_kind(path, _status(path))  # opening a named pipe would wait for a writer
        return Path(path).open("rb")

    def write(self, path: str) -> AbstractContextManager[BinaryIO]:
        return _replacing(path)

    def append(self, path: str) -> BinaryIO:
        return Path(path).open("ab")

    def stat(self, path: str) -> Stat:
        return _stat_of(_status(path))

    def touch(self, path: str) -> None:
        Path(path).touch()

    def list_dir(self, path: str) -> list[str]:
        return sorted(entry.name for entry in os.scandir(path))

    def list_directories(self, path: str) -> list[str]:
        try:
            return sorted(entry.name for entry in os.scandir(path) if entry.is_dir())
        except FileNotFoundError:
            return []

    def listed_sizes(self, path: str) -> dict[str, int]:
        return {}

    def walk(self, path: str) -> Iterator[str]:
        return _walk(Path(path), ())

    def glob(self, pattern: str) -> list[str]:
        return sorted(glob.glob(pattern))

    def find(self, pattern: str) -> dict[str, Stat]:
        by_path = {path: _status_of_found(path) for path in self.glob(pattern)}
        for path, status in by_path.items():
            _check_kind(path, status)
        return {path: _stat_of(status) for path, status in by_path.items()}

    def make_dirs(self, path: str) -> None:
        Path(path).mkdir(parents=True, exist_ok=True)

    def copy(self, source: str, target: str) -> None:
        with Path(source).open("rb") as reader, _replacing(target) as writer:
            shutil.copyfileobj(reader, writer, 1 << 20)

    def rename(self, source: str, target: str) -> None:
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        Path(source).replace(target)

    def remove(self, path: str) -> None:
        Path(path).unlink()

    def remove_tree(self, path: str) -> None:
        # shutil.rmtree unlinks links inside the tree, and refuses one at its top.
        if Path(path).is_symlink():
            Path(path).unlink()
        elif os.path.lexists(path):
            shutil.rmtree(path)


def _walk(directory: Path, above: tuple[Path, ...]) -> Iterator[str]:
    here = (*above, directory.resolve())
    if here[-1] in above:
        raise UserError(f"{directory}: a link to a directory above it; remove it")
    for name in sorted(entry.name for entry in os.scandir(directory)):
        path = directory / name
        if path.is_dir():
            yield from (f"{name}/{below}" for below in _walk(path, here))
        else:
            yield name


def _stat_of(status: os.stat_result) -> Stat:
    is_dir = stat.S_ISDIR(status.st_mode)
    return Stat(0 if is_dir else status.st_size, status.st_mtime, is_dir)


def _status(path: str) -> os.stat_result:
    """UserError where the name itself is wrong: to try again, as of a storage, helps nobody."""
    try:
        return Path(path).stat()
    except OSError as error:
        if error.errno not in _WRONG_NAMES:
            raise
        what = _WRONG_NAMES[error.errno]
        raise UserError(f"{path}: {what}; repair it, or make the pattern narrower") from error


def _status_of_found(path: str) -> os.stat_result:
    """Of what a pattern found; what cannot be used is named before anything is read."""
    try:
        return _status(path)
    except FileNotFoundError as error:
        raise UserError(f"{path}: a broken link; its target is missing") from error
    except OSError as error:
        raise UserError(
            f"{path}: {error.strerror}; repair it, or make the pattern narrower"
        ) from error


def other_than_file(path: Path) -> str:
    """The device, pipe or socket at `path`, which no file may replace; "" where there is none."""
    if os.path.realpath(path.parent) == "/dev":  # /dev/stdout is a link, maybe to a file
        return "a device"
    try:
        return _kind(path.stat())
    except OSError:  # nothing is there, or writing will say what is wrong
        return ""


def _kind(status: os.stat_result) -> str:
    return next((name for test, name in _NO_FILES.items() if test(status.st_mode)), "")


def _check_kind(path: str, status: os.stat_result) -> None:
    if kind := _kind(status):
        raise UserError(f"{path}: {kind}, not a file; move it away or make the pattern narrower")


def flush_to_disk(path: Path) -> None:
    """What was written to the file outlasts a loss of power from now on."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


@contextmanager
def naming_full_disk(path: str | Path) -> Iterator[None]:
    """A write for which there is no room names no file: in the block it names `path`."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL and error.filename is None:
            error.filename = str(path)
        raise


@contextmanager
def _replacing(path: str) -> Iterator[BinaryIO]:
    """A file beside `path` that takes its place when the block ends well."""
    target = Path(path)
    if kind := other_than_file(target):
        raise UserError(f"{path}: {kind}, not a file; write to another place")
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name[:100]}.{uuid.uuid4().hex[:12]}")
    try:
        with naming_full_disk(path), temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
