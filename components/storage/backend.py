"""Interface of a storage backend: one module each for local files, gs:// and s3://."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol


@dataclass(frozen=True)
class Stat:
    """Size in bytes and time of the last change in seconds; directories have size 0.

    `tag` tells contents apart where times are too coarse for it (s3:// counts whole seconds).
    """

    size: int
    mtime: float
    is_dir: bool = False
    tag: str = ""


class Backend(Protocol):
    """One kind of storage. Paths are as the user wrote them; a missing one is FileNotFoundError."""

    atomic_rename: bool  # whether a tree appears under its new name atomically

    def local_path(self, path: str) -> Path | None:
        """The file's path on this machine; None in a store that programs cannot open files of."""
        ...

    def absolute(self, path: str) -> str:
        """The same place, named so that it does not depend on the working directory."""
        ...

    def unwritable(self, directory: str) -> str:
        """Why nothing can be written there, "" where something can; a missing one is created."""
        ...

    def free_bytes(self, directory: str) -> int | None:
        """Free space; None where the store has no limit of its own."""
        ...

    def open(self, path: str) -> BinaryIO:
        """A seekable file to read from."""
        ...

    def write(self, path: str) -> AbstractContextManager[BinaryIO]:
        """A file that becomes `path` when the block ends well, and vanishes otherwise."""
        ...

    def append(self, path: str) -> BinaryIO:
        """A file that grows; readers see what was flushed, of an object seconds later."""
        ...

    def stat(self, path: str) -> Stat:
        """Size and time of a file or a directory."""
        ...

    def touch(self, path: str) -> None:
        """Renew the file's time where that is cheap; an object keeps that of its writing."""

    def list_dir(self, path: str) -> list[str]:
        """Names in a directory, sorted."""
        ...

    def list_directories(self, path: str) -> list[str]:
        """Names of the directories in a directory, sorted; none where nothing is."""
        ...

    def listed_sizes(self, path: str) -> dict[str, int]:
        """Sizes of the files below a directory where one listing tells them, else nothing."""
        ...

    def walk(self, path: str) -> Iterator[str]:
        """All files below a directory, relative to it, sorted in each directory."""
        ...

    def glob(self, pattern: str) -> list[str]:
        """Paths that match, sorted."""
        ...

    def find(self, pattern: str) -> dict[str, Stat]:
        """The same paths with their sizes and times, where a listing knows them without asking."""
        ...

    def make_dirs(self, path: str) -> None:
        """Create a directory and those above it; where directories do not exist, nothing."""

    def copy(self, source: str, target: str) -> None:
        """One file to another path of the same kind, replacing what is there."""

    def rename(self, source: str, target: str) -> None:
        """One file, or a directory where `atomic_rename` holds, replacing a file."""

    def remove(self, path: str) -> None:
        """One file or link, never what a link points to."""

    def remove_tree(self, path: str) -> None:
        """A directory with everything in it, links as links. Nothing there is no error."""
