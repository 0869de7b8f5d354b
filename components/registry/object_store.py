"""A push directory in an object store, which has neither renames nor locks.

What such stores have is a write that succeeds only if nobody else wrote meanwhile. So `.head` names
the version that was published last, and a version becomes the next one by replacing `.head` as it
was read: of two pushers one succeeds, and the other looks again at what is in service.

All files of a version but one are uploaded before that. The last one, by which model servers and
this registry recognise a complete version, waits in `.uploads/`; whoever finds it there under the
number in `.head` puts it in its place, so a pusher that was killed in between holds nobody up and
nothing up. Numbers are microseconds, so that two pushers take different ones; they only grow, and
where the highest is ahead of the clock they grow at random.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from yt8m.components import storage
from yt8m.components.artifacts.saved_model import MODEL_FILE
from yt8m.components.artifacts.version_record import RECORD_FILE, VersionRecord
from yt8m.components.registry.cleaning import Cleaning, read_leftovers
from yt8m.components.registry.outcomes import UnknownPushError
from yt8m.components.registry.readings import is_there, pause, read_until_agreed
from yt8m.components.registry.signature import Signer
from yt8m.components.registry.versions import (
    ASIDE_DIR,
    NOT_SERVED_DIR,
    UPLOADS_DIR,
    Version,
    in_service,
    list_versions,
    next_number,
    version_path,
)
from yt8m.components.registry.written_files import written_files
from yt8m.schemas.json_file import fields_of, reading, to_text

HEAD_FILE = ".head"
_REMOVED_DIR = ".removed"  # marks of versions whose removal has begun
_STALE_AFTER_S = 24 * 3600.0  # no upload of a model takes that long
_SPREAD = 1_000_000  # a second
_KEPT_ASIDE_S = 7 * 24 * 3600.0
# Refusals: such an answer says that nothing was done.
_REFUSED = (PermissionError, FileNotFoundError)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class _Head:
    """Contents of `.head`, and the tag by which it may be replaced."""

    version: int = 0  # published last; 0: none yet
    push: str = ""  # whose push that was
    tag: str | None = None


class ObjectStore:
    """Adds and removes versions in an object store."""

    waits_s = (1.0, 5.0)  # between attempts at what is decided already

    def __init__(self, push_dir: str) -> None:
        self._root = push_dir
        self._cleaning = Cleaning(push_dir)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Cleaning]:
        """Finish what a killed pusher had published; clear uploads broken off long ago."""
        head = self._read_head()
        self._finish(head.version)
        self._cleaning = Cleaning(self._root)
        with self._cleaning.trying("broken-off uploads were not removed"):
            self._clear_rubbish(head.version)
        try:
            yield self._cleaning
        finally:
            self._cleaning.finish()

    def add(
        self,
        contents: Mapping[str, str],
        record: VersionRecord,
        *,
        served: bool,
        check: Callable[[], None],
        signer: Signer | None,
    ) -> Version:
        """The files of `contents`, by name, and the record under a new number.

        `check` may refuse until the version is published; then nothing of it stays.
        """
        check()
        while True:
            number = max(time.time_ns() // 1000, next_number(self._root, spread=_SPREAD))
            numbered, texts = written_files(dataclasses.replace(record, version=number), signer)
            version = Version(number=number, path=self._path(number), record=numbered)
            if not served:
                place = storage.join(self._root, NOT_SERVED_DIR, str(number))
                version = dataclasses.replace(version, path=place)
            try:
                # The file in `.uploads/` goes up first: it marks the directory as an upload.
                storage.copy(contents[MODEL_FILE], self._staged(number))
                _upload(contents, version, texts)
                published = self._publish(number, check) if served else self._complete(version)
            except UnknownPushError:
                raise
            except Exception:
                self._discard(number)
                raise
            if published:
                self._put_in_place(version)
                return version
            self._discard(number)

    def remove(self, path: str) -> None:
        """Remove a version: first the file that makes it one, last the one that makes it ours."""
        mark = storage.join(self._root, _REMOVED_DIR, path.rpartition("/")[2])
        storage.write_text(mark, "")
        with contextlib.suppress(FileNotFoundError):
            names = [name for name in storage.walk_files(path) if name != RECORD_FILE]
            for name in sorted(names, key=lambda name: name != MODEL_FILE):
                with contextlib.suppress(FileNotFoundError):
                    storage.remove(storage.join(path, name))
        _remove_all(path)
        storage.remove(mark)

    def put_aside(self, path: str) -> str:
        """Remove a version, a copy of which stays for a week; where that is."""
        aside = storage.join(self._root, ASIDE_DIR, path.rpartition("/")[2])
        for name in read_until_agreed(path, lambda: _files(path)):
            storage.copy(storage.join(path, name), storage.join(aside, name))
        self.remove(path)
        return aside

    def _publish(self, number: int, check: Callable[[], None]) -> bool:
        """Whether `number` became the version in service; not if a higher one did meanwhile."""
        push, has_tried = uuid.uuid4().hex, False
        while True:
            try:
                head = self._read_head()
            except OSError as error:
                if has_tried:
                    raise UnknownPushError(self._root, number, error) from error
                raise
            if head.push == push:  # the answer to an earlier attempt was lost
                return True
            self._finish(head.version)
            check()
            if in_service(self._root).version > number:
                return False
            has_tried = True
            if self._replace_head(head, number, push):
                return True
            _log.info("another push into %s finished first: trying again", self._root)

    def _replace_head(self, head: _Head, number: int, push: str) -> bool:
        try:
            return self._write_head(head, version=number, push=push)
        except _REFUSED:
            raise
        except OSError as error:
            if self._was_written(push, number, error):
                return True
            raise

    def _was_written(self, push: str, number: int, error: OSError) -> bool:
        """Whether a write that failed was done; afterwards it cannot be done any more."""
        for wait_s in (0.0, *self.waits_s):
            time.sleep(wait_s)
            try:
                head = self._read_head()
                if head.push == push:
                    return True
                # A write that is still on its way finds another tag then.
                if self._write_head(head, version=head.version, push=head.push):
                    return False
            except OSError as failure:
                _log.info("%s: %s", self._root, failure)
        raise UnknownPushError(self._root, number, error) from error

    def _complete(self, version: Version) -> bool:
        """Put the last file of a baseline, of which nobody else has to know, in its place."""
        target = storage.join(version.path, MODEL_FILE)
        try:
            storage.copy(self._staged(version.number), target)
        except OSError as error:
            try:
                done = is_there(target)
            except OSError:
                raise UnknownPushError(self._root, version.number, error) from error
            if not done:
                raise
        return True

    def _put_in_place(self, version: Version) -> None:
        """Put the last file of a published version in its place, where model servers see it."""
        staged, target = self._staged(version.number), storage.join(version.path, MODEL_FILE)
        if self._is_in_place(target):
            self._unmark(version.number)
            return
        for wait_s in (*self.waits_s, None):
            try:
                storage.copy(staged, target)
                break
            except OSError as error:
                # Another pusher may have been faster, or the answer was lost.
                if self._is_in_place(target):
                    break
                if wait_s is None:
                    raise UnknownPushError(self._root, version.number, error) from error
                time.sleep(wait_s)
        self._unmark(version.number)

    def _unmark(self, number: int) -> None:
        staged = self._staged(number)
        with self._cleaning.trying(f"{staged} was not removed"), _missing_is_done():
            storage.remove(staged)

    def _is_in_place(self, target: str) -> bool:
        try:
            return storage.exists(target)
        except OSError:
            return False

    def _finish(self, number: int) -> None:
        """Put the last file of a published version in its place, whoever published it."""
        staged, path = self._staged(number), self._path(number)
        if not number or storage.exists(storage.join(path, MODEL_FILE)):
            return
        # Without its record a version was removed: one file must not come back alone.
        if not (is_there(staged) and is_there(storage.join(path, RECORD_FILE))):
            return
        with _missing_is_done():  # another pusher was faster
            storage.copy(staged, storage.join(path, MODEL_FILE))
            storage.remove(staged)

    def _discard(self, number: int) -> None:
        """Remove an upload that was not published, its mark last."""
        before = len(self._cleaning.problems)
        with self._cleaning.trying(f"the upload of version {number} was not removed"):
            _remove_all(self._path(number))
            _remove_all(storage.join(self._root, NOT_SERVED_DIR, str(number)))
            with _missing_is_done():
                storage.remove(self._staged(number))
        if len(self._cleaning.problems) > before:
            self._cleaning.uploads.append(number)

    def _clear_rubbish(self, head: int) -> None:
        uploads = storage.join(self._root, UPLOADS_DIR)
        given_up = read_leftovers(self._root).uploads
        for number in list_versions(uploads):
            staged = self._staged(number)
            is_over = number in given_up or self._is_older(staged, than_s=_STALE_AFTER_S)
            if number == head or not is_over:
                continue
            if is_there(storage.join(version_path(self._root, number), MODEL_FILE)):
                self._unmark(number)
            else:
                self._discard(number)
        removed = storage.join(self._root, _REMOVED_DIR)
        for mark in storage.find(storage.join(storage.escape(removed), "[0-9]*")):
            self.remove(version_path(self._root, int(mark.rpartition("/")[2])))
        aside = storage.join(self._root, ASIDE_DIR)
        for number in list_versions(aside):
            path = storage.join(aside, str(number))
            if self._is_older(path, than_s=_KEPT_ASIDE_S):
                storage.remove_tree(path)

    def _is_older(self, path: str, *, than_s: float) -> bool:
        """Whether it was written so long ago; by the store's clock too, for ours may be ahead."""
        try:
            written = storage.stat(path).mtime
        except FileNotFoundError:  # somebody finished it just now
            return False
        return written < time.time() - than_s and written < self._store_time() - than_s

    def _store_time(self) -> float:
        """The time by which the store dates what is written."""
        path = storage.join(self._root, UPLOADS_DIR, f"clock-{uuid.uuid4().hex}")
        storage.write_text(path, "")
        try:
            return storage.stat(path).mtime
        finally:
            storage.remove(path)

    def _read_head(self) -> _Head:
        """Read `.head`; where that is no JSON, the list of versions."""
        path = storage.join(self._root, HEAD_FILE)
        problem: Exception | None = None
        tag: str | None = None
        for _ in range(2):
            content = storage.read_tagged(path)
            if content is None:
                if not is_there(path):
                    return _Head()
                raise OSError(f"{path}: was listed, but then not found")
            data, tag = content
            try:
                with reading(path):
                    fields = fields_of(data.decode())
                return _Head(
                    version=int(fields["version"]), push=str(fields.get("push", "")), tag=tag
                )
            except (ValueError, KeyError, TypeError) as error:
                problem = error
                pause(path)
        version = max(in_service(self._root).version, 0)
        _log.warning(
            "%s is damaged (%s): rebuilt from the list of versions, of which %d is the newest",
            path,
            problem,
            version,
        )
        return _Head(version=version, tag=tag)

    def _write_head(self, head: _Head, *, version: int, push: str) -> bool:
        # The last part makes the content, and so the tag, another one each time.
        text = to_text({"version": version, "push": push, "written": uuid.uuid4().hex})
        return storage.write_if(storage.join(self._root, HEAD_FILE), text.encode(), tag=head.tag)

    def _path(self, number: int) -> str:
        return storage.join(self._root, str(number))

    def _staged(self, number: int) -> str:
        return storage.join(self._root, UPLOADS_DIR, str(number), MODEL_FILE)


def _upload(contents: Mapping[str, str], version: Version, texts: Mapping[str, str]) -> None:
    """The record first, which says whose directory it is; all but the model file."""
    for name in sorted(texts, key=lambda name: name != RECORD_FILE):
        storage.write_text(storage.join(version.path, name), texts[name])
    for name, source in contents.items():
        if name != MODEL_FILE:
            storage.copy(source, storage.join(version.path, name))


def _remove_all(path: str) -> None:
    """Remove a directory; what an answer says is gone, and is still listed, is removed again."""
    for _ in range(2):
        storage.remove_tree(path)
        if not _files(path):
            return
    raise OSError(f"{path}: its files were removed, and are still listed")


def _files(path: str) -> list[str]:
    try:
        return list(storage.walk_files(path))
    except FileNotFoundError:
        return []


@contextlib.contextmanager
def _missing_is_done() -> Iterator[None]:
    """Somebody else was faster."""
    with contextlib.suppress(FileNotFoundError):
        yield
