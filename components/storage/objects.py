"""Common part of gs:// and s3://: objects in buckets, and names that look like directories.

There are none: a directory exists while an object lies below it. Nothing can be renamed or locked
either; what such stores have is a write that succeeds only if the object is still as it was read.
"""

from __future__ import annotations

import io
import math
import re
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, cast

from yt8m.components.storage.backend import Stat
from yt8m.schemas.errors import UserError

CONNECTIONS = 64  # a client keeps so many: with fewer than threads, some connect anew each time
_READ_BYTES = 8 << 20
_APPENDED_S = 10.0  # a file that grows is sent again so often at most
_WILDCARD = re.compile(r"[*?\[]")


class ObjectBackend(ABC):
    """An object store; safe to use from several threads."""

    atomic_rename = False

    @abstractmethod
    def put(self, local_path: str, path: str) -> None:
        """Make `path` hold what the local file holds, atomically."""

    @abstractmethod
    def stat(self, path: str) -> Stat: ...

    @abstractmethod
    def list_dir(self, path: str) -> list[str]: ...

    @abstractmethod
    def list_directories(self, path: str) -> list[str]: ...

    @abstractmethod
    def copy(self, source: str, target: str) -> None: ...

    @abstractmethod
    def remove(self, path: str) -> None: ...

    @abstractmethod
    def remove_tree(self, path: str) -> None: ...

    @abstractmethod
    def read_tagged(self, path: str) -> tuple[bytes, str] | None:
        """The content with a tag that changes whenever it does; None where there is no object."""

    @abstractmethod
    def write_if(self, path: str, data: bytes, *, tag: str | None) -> bool:
        """Write if the object still has `tag` (None: is still absent); whether it was done."""

    @abstractmethod
    def _file(self, path: str, status: Stat) -> ObjectFile:
        """The object as it was found, to be read."""

    @abstractmethod
    def _listed(self, path: str, prefix: str) -> Iterable[tuple[str, Stat]]:
        """Every object of `path`'s bucket whose name begins with `prefix`."""

    def local_path(self, path: str) -> Path | None:
        return None

    def absolute(self, path: str) -> str:
        split(path)
        return path

    def unwritable(self, directory: str) -> str:
        split(directory)
        return ""

    def free_bytes(self, directory: str) -> int | None:
        return None

    def touch(self, path: str) -> None:  # noqa: B027  (the same in every store)
        """Nothing: a new time would be a new object."""

    @contextmanager
    def write(self, path: str) -> Iterator[BinaryIO]:
        with tempfile.NamedTemporaryFile(prefix="yt8m-") as file:
            yield cast(BinaryIO, file)
            file.flush()
            self.put(file.name, path)

    def append(self, path: str) -> BinaryIO:
        try:
            with self.open(path) as file:
                before = file.read()
        except FileNotFoundError:
            before = b""
        return cast(BinaryIO, _Growing(before, lambda local: self.put(local, path)))

    def open(self, path: str) -> BinaryIO:
        status = self.stat(path)
        if status.is_dir:
            raise IsADirectoryError(f"{path} is a directory")
        return cast(BinaryIO, io.BufferedReader(self._file(path, status), buffer_size=_READ_BYTES))

    def listed_sizes(self, path: str) -> dict[str, int]:
        prefix = folder(split(path)[1])
        return {key.removeprefix(prefix): stat.size for key, stat in self._listed(path, prefix)}

    def listed(self, path: str) -> dict[str, Stat]:
        """The object itself, or all below it, by address; one listing tells it."""
        key = split(path)[1]
        root, listed = path.removesuffix(key), self._listed(path, key)
        return {
            f"{root}{name}": stat
            for name, stat in listed
            if (name == key or name.startswith(folder(key))) and not name.endswith("/")
        }

    def walk(self, path: str) -> Iterator[str]:
        prefix = folder(split(path)[1])
        below = (key.removeprefix(prefix) for key, _ in self._listed(path, prefix))
        names = sorted(
            (name for name in below if name and not name.endswith("/")), key=_in_directories
        )
        if not names and not self.list_dir(path):
            raise FileNotFoundError(f"{path} does not exist")
        yield from names

    def glob(self, pattern: str) -> list[str]:
        return sorted(self.find(pattern))

    def find(self, pattern: str) -> dict[str, Stat]:
        key = split(pattern)[1]
        root = pattern.removesuffix(key)
        literal = key[: match.start()] if (match := _WILDCARD.search(key)) else key
        regex, depth = _regex(key), key.count("/")
        by_path: dict[str, Stat] = {}
        for full, stat in self._listed(pattern, literal):
            # The part as long as the pattern: the object itself, or a directory above it.
            name = "/".join(full.split("/")[: depth + 1])
            if regex.fullmatch(name):
                there = stat if name == full else replace(stat, size=0, is_dir=True, tag="")
                by_path[f"{root}{name}"] = there
        return dict(sorted(by_path.items()))

    def make_dirs(self, path: str) -> None:  # noqa: B027  (the same in every store)
        """Nothing to do, and no empty object that would stand for a directory."""

    def rename(self, source: str, target: str) -> None:
        self.copy(source, target)
        self.remove(source)


class _Growing(io.BytesIO):
    """A file that grows, of which each flush may send the whole, for objects cannot."""

    def __init__(self, content: bytes, put: Callable[[str], None]) -> None:
        super().__init__()
        self.write(content)
        self._put, self._sent_at, self._sent_bytes = put, -math.inf, len(content)

    def flush(self) -> None:
        if time.monotonic() - self._sent_at >= _APPENDED_S:
            self._send()

    def close(self) -> None:
        if not self.closed:
            self._send()
        super().close()

    def _send(self) -> None:
        if self.tell() != self._sent_bytes:
            with tempfile.NamedTemporaryFile(prefix="yt8m-") as file:
                file.write(self.getvalue())
                file.flush()
                self._put(file.name)
            self._sent_at, self._sent_bytes = time.monotonic(), self.tell()


class ObjectFile(io.RawIOBase):
    """One object as it was when it was opened, read in ranges."""

    def __init__(self, path: str, status: Stat) -> None:
        self._path, self._size, self._tag, self._at = path, status.size, status.tag, 0

    def _fill(self, view: memoryview, start: int, end: int) -> None:
        """Put the bytes from `start` to `end` into `view`, and set `_at` to where the next are."""
        raise NotImplementedError

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        start, end = self._at, min(self._at + len(buffer), self._size)
        if end > start:
            self._fill(memoryview(buffer), start, end)
        return max(self._at - start, 0)

    def readall(self) -> bytes:
        """The rest in one range: Python's own asks for 8 KB at a time."""
        return cast(bytes, self.read(max(self._size - self._at, 0)))

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        return self._at


def _in_directories(name: str) -> list[str]:
    """The order of a walk through directories, where `a/b` comes before `a.b`."""
    return name.split("/")


def split(path: str) -> tuple[str, str]:
    """Bucket and name of an object."""
    scheme, _, rest = path.partition("://")
    bucket, _, key = rest.partition("/")
    if "@" in bucket:
        raise UserError(
            f"{scheme}://***@{bucket.rpartition('@')[2]}: an address holds no user and password; "
            "the client finds credentials in the environment or its profile"
        )
    if not bucket:
        raise UserError(f"{path} names no bucket: write {scheme}://bucket/path")
    return bucket, key


def folder(key: str) -> str:
    """The common beginning of the names of all objects below `key`."""
    return f"{key.rstrip('/')}/" if key.strip("/") else ""


def _regex(pattern: str) -> re.Pattern[str]:
    wild = {"*": "[^/]*", "?": "[^/]"}
    pieces = re.findall(r"\*|\?|\[!?\]?[^\]]*\]|.", pattern, re.DOTALL)
    texts = [
        wild.get(piece) or (re.escape(piece) if len(piece) == 1 else _class(piece))
        for piece in pieces
    ]
    # As in a directory, what begins a name with a wildcard finds no hidden one.
    starts = [at for at, before in enumerate(["/", *pieces[:-1]]) if before == "/"]
    for at in starts:
        if texts and pieces[at] != ".":
            texts[at] = rf"(?!\.){texts[at]}"
    return re.compile("".join(texts))


def _class(piece: str) -> str:
    """`[...]` of a pattern as a regular expression, where `[` in it must not open another."""
    inner = piece[1:].replace("[", r"\[")
    return f"[^{inner[1:]}" if inner.startswith("!") else f"[{inner}"
