"""A push directory in an object store, which has neither renames nor locks.

What such stores have is a write that succeeds only if nobody else wrote meanwhile. So `.head` names
the version that was published last, and a version becomes the next one by replacing `.head` as it
was read: of two pushers one succeeds, and the other looks again at what is in service.

All files of a version but one are uploaded before that. The last one, by which model servers and
this registry recognise a complete version, waits in `.uploads/`; whoever finds it there under the
number in `.head` puts it in its place, so a pusher that was killed in between holds nobody up and
nothing up. Numbers are microseconds, so that two pushers take different ones; they only grow.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import time
from collections.abc import Callable, Iterator, Mapping

from yt8m.components import storage
from yt8m.components.artifacts.saved_model import MODEL_FILE
from yt8m.components.artifacts.version_record import RECORD_FILE, VersionRecord
from yt8m.components.registry.versions import (
    NOT_SERVED_DIR,
    in_service,
    list_versions,
    next_number,
)
from yt8m.schemas.json_file import fields_of, reading, to_text

HEAD_FILE = ".head"
UPLOADS_DIR = ".uploads"
_STALE_AFTER_S = 24 * 3600.0  # no upload of a model takes that long

_log = logging.getLogger(__name__)


class ObjectStore:
    """Adds and removes versions in gs:// and s3://."""

    def __init__(self, push_dir: str) -> None:
        self._root = push_dir

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Finish what a killed pusher had published; clear uploads broken off long ago."""
        head, _ = self._read_head()
        self._finish(head)
        for number in list_versions(storage.join(self._root, UPLOADS_DIR)):
            if number != head and _is_stale(self._staged(number)):
                self._discard(number)
        yield

    def add(
        self,
        contents: Mapping[str, str],
        record: VersionRecord,
        *,
        served: bool,
        check: Callable[[], None],
    ) -> int:
        """The files of `contents`, by name, and the record under a new number.

        `check` may refuse until the version is published; then nothing of it stays.
        """
        check()
        while True:
            number = max(time.time_ns() // 1000, next_number(self._root))
            if not served:
                place = storage.join(self._root, NOT_SERVED_DIR, str(number))
                _upload(contents, record, number, place, last=storage.join(place, MODEL_FILE))
                return number
            # The file in `.uploads/` goes up first: it marks the directory as an upload.
            storage.copy(contents[MODEL_FILE], self._staged(number))
            _upload(contents, record, number, self._path(number), last=None)
            try:
                published = self._publish(number, check)
            except Exception:
                self._discard(number)
                raise
            if published:
                return number
            self._discard(number)

    def remove(self, path: str) -> None:
        """Remove a version: first the file that makes it one, last the one that makes it ours."""
        names = [name for name in storage.walk_files(path) if name != RECORD_FILE]
        for name in sorted(names, key=lambda name: name != MODEL_FILE):
            storage.remove(storage.join(path, name))
        storage.remove_tree(path)

    def _publish(self, number: int, check: Callable[[], None]) -> bool:
        """Whether `number` became the version in service; not if a higher one did meanwhile."""
        while True:
            head, tag = self._read_head()
            self._finish(head)
            check()
            if in_service(self._root).version > number:
                return False
            data = to_text({"version": number}).encode()
            if storage.write_if(storage.join(self._root, HEAD_FILE), data, tag=tag):
                break
            _log.info("another push into %s finished first: trying again", self._root)
        self._finish(number)
        return True

    def _finish(self, number: int) -> None:
        """Put the last file of a published version in its place, whoever published it."""
        staged, path = self._staged(number), self._path(number)
        # Without its record a version was removed: one file must not come back alone.
        if not (storage.exists(staged) and storage.exists(storage.join(path, RECORD_FILE))):
            return
        with contextlib.suppress(FileNotFoundError):  # another pusher was faster
            storage.copy(staged, storage.join(path, MODEL_FILE))
            storage.remove(staged)

    def _discard(self, number: int) -> None:
        """An upload that was not published; a complete version only loses its upload's mark."""
        if not storage.exists(storage.join(self._path(number), MODEL_FILE)):
            storage.remove_tree(self._path(number))
        with contextlib.suppress(FileNotFoundError):
            storage.remove(self._staged(number))

    def _read_head(self) -> tuple[int, str | None]:
        """The version that was published last (0: none yet), and the tag to replace it by."""
        path = storage.join(self._root, HEAD_FILE)
        found = storage.read_tagged(path)
        if found is None:
            return 0, None
        data, tag = found
        with reading(path):
            return int(fields_of(data.decode())["version"]), tag

    def _path(self, number: int) -> str:
        return storage.join(self._root, str(number))

    def _staged(self, number: int) -> str:
        return storage.join(self._root, UPLOADS_DIR, str(number), MODEL_FILE)


def _upload(
    contents: Mapping[str, str], record: VersionRecord, number: int, place: str, *, last: str | None
) -> None:
    """The record first, which says whose directory it is; the model file last or not at all."""
    text = dataclasses.replace(record, version=number).to_json()
    storage.write_text(storage.join(place, RECORD_FILE), text)
    for name, source in contents.items():
        if name != MODEL_FILE:
            storage.copy(source, storage.join(place, name))
    if last is not None:
        storage.copy(contents[MODEL_FILE], last)


def _is_stale(path: str) -> bool:
    try:
        return storage.stat(path).mtime < time.time() - _STALE_AFTER_S
    except FileNotFoundError:  # somebody finished it just now
        return False
