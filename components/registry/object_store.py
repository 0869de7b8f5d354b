"""A push directory in an object store, which has neither renames nor locks.

The file by which model servers and this registry recognise a complete version goes up last, and
is taken away first. Numbers are microseconds, so that two pushers that know nothing of each other
take different ones; they still only grow.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Iterator, Mapping

from yt8m.components.artifacts.saved_model import MODEL_FILE
from yt8m.components.artifacts.version_record import RECORD_FILE, VersionRecord
from yt8m.components.registry.versions import list_versions, version_path
from yt8m.components.storage import files

_STALE_AFTER_S = 24 * 3600.0  # no upload of a model takes that long


class ObjectStore:
    """Places and takes away versions in gs:// and s3://."""

    def __init__(self, push_dir: str) -> None:
        self._root = push_dir

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Clear away uploads that were broken off long ago."""
        for number in list_versions(self._root):
            path = version_path(self._root, number)
            if not files.exists(files.join(path, MODEL_FILE)) and _is_stale(path):
                files.remove_tree(path)
        yield

    def place(self, contents: Mapping[str, str], record: VersionRecord) -> int:
        """The files of `contents`, by name, and the record; the model file comes last."""
        number = max([time.time_ns() // 1000, *(n + 1 for n in list_versions(self._root))])
        path = version_path(self._root, number)
        for name, source in contents.items():
            if name != MODEL_FILE:
                files.copy(source, files.join(path, name))
        text = dataclasses.replace(record, version=number).to_json()
        files.write_text(files.join(path, RECORD_FILE), text)
        files.copy(contents[MODEL_FILE], files.join(path, MODEL_FILE))
        return number

    def take_away(self, number: int) -> None:
        """Remove a version, beginning with the file that makes it one."""
        path = version_path(self._root, number)
        with contextlib.suppress(FileNotFoundError):
            files.remove(files.join(path, MODEL_FILE))
        files.remove_tree(path)


def _is_stale(path: str) -> bool:
    times = [files.stat(files.join(path, name)).mtime for name in files.walk_files(path)]
    return max(times, default=0.0) < time.time() - _STALE_AFTER_S
