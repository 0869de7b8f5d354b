"""Local files."""

from __future__ import annotations

import glob
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from yt8m.components.storage.backend import Stat


class LocalBackend:
    """The file system of this machine."""

    atomic_rename = True

    def open(self, path: str) -> BinaryIO:
        return Path(path).open("rb")

    def put(self, local_path: str, path: str) -> None:
        with Path(local_path).open("rb") as source, replacing(path) as target:
            shutil.copyfileobj(source, target, 1 << 20)

    def stat(self, path: str) -> Stat:
        found = Path(path).stat()
        is_dir = Path(path).is_dir()
        return Stat(0 if is_dir else found.st_size, found.st_mtime, is_dir)

    def list_dir(self, path: str) -> list[str]:
        return sorted(entry.name for entry in os.scandir(path))

    def glob(self, pattern: str) -> list[str]:
        return sorted(glob.glob(pattern))

    def find(self, pattern: str) -> dict[str, Stat]:
        return {path: self.stat(path) for path in self.glob(pattern)}

    def make_dirs(self, path: str) -> None:
        Path(path).mkdir(parents=True, exist_ok=True)

    def copy(self, source: str, target: str) -> None:
        self.put(source, target)

    def rename(self, source: str, target: str) -> None:
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        Path(source).replace(target)

    def remove(self, path: str) -> None:
        Path(path).unlink()

    def remove_tree(self, path: str) -> None:
        # shutil.rmtree unlinks links inside the tree, and refuses one at its top.
        if Path(path).is_symlink():
            Path(path).unlink()
        else:
            shutil.rmtree(path)


@contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """A file beside `path` that takes its place when the block ends well."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name[:100]}.{uuid.uuid4().hex[:12]}")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
