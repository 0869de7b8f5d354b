"""gs:// through Google's client. Credentials come from its usual sources; without any, public
buckets can be read.

A request that fails is sent again, and what breaks off while an object is read is read again from
there. TensorFlow's own file IO is not used: it takes a failing network for an empty directory, and
knows no conditional writes. Like S3 it has no directories: one exists while an object lies below.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, TypeVar, cast

from yt8m.components.storage.backend import Stat
from yt8m.components.storage.errors import OF_THE_FILE
from yt8m.components.storage.retry import Backoff
from yt8m.components.storage.s3 import _WILDCARD, _folder, _regex
from yt8m.schemas.errors import UserError

T = TypeVar("T")

_READ_BYTES = 8 << 20
_ATTEMPTS = 10
_ONCE: dict[str, Any] = {"retry": None, "timeout": (10, 60)}  # trying again is done here


class GcsBackend:
    """Objects of Google Cloud Storage. Safe to use from several threads."""

    atomic_rename = False

    def open(self, path: str) -> BinaryIO:
        found = self.stat(path)
        if found.is_dir:
            raise IsADirectoryError(f"{path} is a directory")
        return cast(BinaryIO, io.BufferedReader(_Object(path, found), buffer_size=_READ_BYTES))

    def put(self, local_path: str, path: str) -> None:
        repeated(path, lambda: blob(path).upload_from_filename(local_path, **_ONCE))

    def stat(self, path: str) -> Stat:
        bucket, key = split(path)
        if key and not key.endswith("/"):
            found = repeated(path, lambda: client().bucket(bucket).get_blob(key, **_ONCE))
            if found is not None:
                return _stat_of(found)
        below = _listed(path, _folder(key), max_results=1)
        if not below:
            raise FileNotFoundError(f"{path} does not exist")
        return Stat(0, below[0].updated.timestamp(), is_dir=True)

    def list_dir(self, path: str) -> list[str]:
        bucket, key = split(path)
        prefix = _folder(key)

        def names() -> set[str]:
            found = client().list_blobs(bucket, prefix=prefix, delimiter="/", **_ONCE)
            files = {one.name.removeprefix(prefix) for one in found}
            return files | {name.removeprefix(prefix).rstrip("/") for name in found.prefixes}

        there = repeated(path, names)
        if not there:
            raise FileNotFoundError(f"{path} does not exist")
        return sorted(there - {""})

    def glob(self, pattern: str) -> list[str]:
        return sorted(self.find(pattern))

    def find(self, pattern: str) -> dict[str, Stat]:
        bucket, key = split(pattern)
        literal = key[: match.start()] if (match := _WILDCARD.search(key)) else key
        regex, depth = _regex(key), key.count("/")
        found: dict[str, Stat] = {}
        for one in _listed(pattern, literal):
            # The part as long as the pattern: the object itself, or a directory above it.
            name = "/".join(one.name.split("/")[: depth + 1])
            if regex.fullmatch(name):
                is_dir = name != one.name
                there = Stat(0, one.updated.timestamp(), is_dir=True) if is_dir else _stat_of(one)
                found[f"gs://{bucket}/{name}"] = there
        return dict(sorted(found.items()))

    def make_dirs(self, path: str) -> None:
        """Nothing to do, and no empty object that would stand for a directory."""

    def copy(self, source: str, target: str) -> None:
        def rewrite() -> None:
            token, from_, into = None, blob(source), blob(target)
            while True:  # a large object takes several requests
                token, *_ = into.rewrite(from_, token=token, **_ONCE)
                if token is None:
                    return

        repeated(source, rewrite)

    def rename(self, source: str, target: str) -> None:
        self.copy(source, target)
        self.remove(source)

    def remove(self, path: str) -> None:
        self.stat(path)
        _delete(path)

    def remove_tree(self, path: str) -> None:
        bucket, key = split(path)
        for one in _listed(path, _folder(key)):
            _delete(f"gs://{bucket}/{one.name}")


class _Object(io.RawIOBase):
    """One object as it was when it was opened, read in ranges."""

    def __init__(self, path: str, found: Stat) -> None:
        self._path, self._size, self._at = path, found.size, 0
        self._generation = int(found.tag)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        end = min(self._at + len(buffer), self._size)
        if end <= self._at:
            return 0
        data = repeated(self._path, lambda: self._range(end))
        buffer[: len(data)] = data
        self._at = end
        return len(data)

    def _range(self, end: int) -> bytes:
        data: bytes = blob(self._path).download_as_bytes(
            start=self._at, end=end - 1, if_generation_match=self._generation, **_ONCE
        )
        if len(data) != end - self._at:
            raise OSError(f"the answer ended at byte {self._at + len(data)}")
        return data

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        return self._at


def repeated(path: str, action: Callable[[], T]) -> T:
    """`action` with its errors as Python's own, again where the network is to blame."""

    def once() -> T:
        with _translated(path):
            return action()

    return Backoff(attempts=_ATTEMPTS).call(once, again=_may_pass)


def split(path: str) -> tuple[str, str]:
    """Bucket and name of an object."""
    bucket, _, key = path.removeprefix("gs://").partition("/")
    if not bucket:
        raise UserError(f"{path} names no bucket: write gs://bucket/path")
    return bucket, key


def blob(path: str) -> Any:
    """Google's handle of an object."""
    bucket, key = split(path)
    return client().bucket(bucket).blob(key)


@functools.cache
def client() -> Any:
    """Of this process; the project matters to no request that is sent here."""
    from google.auth.exceptions import DefaultCredentialsError
    from google.cloud import storage

    try:
        return storage.Client(project="yt8m")
    except DefaultCredentialsError:
        return storage.Client.create_anonymous_client()


def _listed(path: str, prefix: str, **options: Any) -> list[Any]:
    bucket, _ = split(path)
    return repeated(
        path, lambda: list(client().list_blobs(bucket, prefix=prefix, **options, **_ONCE))
    )


def _delete(path: str) -> None:
    try:
        repeated(path, lambda: blob(path).delete(**_ONCE))
    except FileNotFoundError:
        return  # the answer to an earlier try was lost, or another process was faster


def _stat_of(found: Any) -> Stat:
    return Stat(found.size, found.updated.timestamp(), tag=str(found.generation))


def _may_pass(error: Exception) -> bool:
    return isinstance(error, OSError) and not isinstance(error, OF_THE_FILE)


@contextmanager
def _translated(path: str) -> Iterator[None]:
    """Google's errors as the ones that Python's own files raise."""
    import requests
    from google.api_core import exceptions
    from google.auth.exceptions import GoogleAuthError

    try:
        yield
    except exceptions.NotFound as error:
        raise FileNotFoundError(f"{path}: {error}") from error
    except (exceptions.Forbidden, exceptions.Unauthorized) as error:
        raise PermissionError(f"{path}: {error}") from error
    except exceptions.PreconditionFailed:
        raise
    except (exceptions.GoogleAPIError, GoogleAuthError, requests.RequestException) as error:
        raise OSError(f"{path}: {error}") from error
