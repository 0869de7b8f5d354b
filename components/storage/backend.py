"""What a kind of storage must be able to do; one module each for local, gs:// and s3://."""

from __future__ import annotations

from dataclasses import dataclass
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

    atomic_rename: bool  # whether a tree appears under its new name at once

    def open(self, path: str) -> BinaryIO:
        """A seekable file to read from."""
        ...

    def put(self, local_path: str, path: str) -> None:
        """Make `path` hold what the local file holds, all at once."""

    def stat(self, path: str) -> Stat:
        """Size and time of a file or a directory."""
        ...

    def list_dir(self, path: str) -> list[str]:
        """Names in a directory, sorted."""
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
        """A directory with everything in it, links as links."""
