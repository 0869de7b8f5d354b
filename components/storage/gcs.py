"""gs:// through Google's client. Credentials come from its usual sources; without any, public
buckets can be read.

A request that fails is sent again, and what breaks off while an object is read is read again from
there. TensorFlow's own file IO is not used: it takes a failing network for an empty directory, and
knows no conditional writes.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from yt8m.components.storage.backend import Stat
from yt8m.components.storage.errors import OF_THE_FILE
from yt8m.components.storage.objects import (
    CONNECTIONS,
    ObjectBackend,
    ObjectFile,
    folder,
    split,
)
from yt8m.components.storage.retry import Backoff

T = TypeVar("T")
_NO_BUCKET_METADATA = "DISABLE_GCS_PYTHON_CLIENT_OTEL_BUCKET_METADATA"

_ATTEMPTS = 10
_ONCE: dict[str, Any] = {"retry": None, "timeout": (10, 60)}  # trying again is done here


class GcsBackend(ObjectBackend):
    """Objects of Google Cloud Storage."""

    def put(self, local_path: str, path: str) -> None:
        repeated(path, lambda: blob(path).upload_from_filename(local_path, **_ONCE))

    def stat(self, path: str) -> Stat:
        bucket, key = split(path)
        if key and not key.endswith("/"):
            found_blob = repeated(path, lambda: client().bucket(bucket).get_blob(key, **_ONCE))
            if found_blob is not None:
                return _stat_of(found_blob)
        below = _blobs(path, folder(key), max_results=1)
        if not below:
            raise FileNotFoundError(f"{path} does not exist")
        return Stat(0, below[0].updated.timestamp(), is_dir=True)

    def list_dir(self, path: str) -> list[str]:
        bucket, key = split(path)
        prefix = folder(key)

        def names() -> set[str]:
            blobs = client().list_blobs(bucket, prefix=prefix, delimiter="/", **_ONCE)
            files = {one.name.removeprefix(prefix) for one in blobs}
            return files | {name.removeprefix(prefix).rstrip("/") for name in blobs.prefixes}

        there = repeated(path, names)
        if not there:
            raise FileNotFoundError(f"{path} does not exist")
        return sorted(there - {""})

    def list_directories(self, path: str) -> list[str]:
        bucket, key = split(path)
        prefix = folder(key)

        def names() -> set[str]:
            blobs = client().list_blobs(bucket, prefix=prefix, delimiter="/", **_ONCE)
            _ = list(blobs)
            return {name.removeprefix(prefix).rstrip("/") for name in blobs.prefixes}

        return sorted(repeated(path, names))

    def copy(self, source: str, target: str) -> None:
        def rewrite() -> None:
            token, from_, into = None, blob(source), blob(target)
            while True:  # a large object takes several requests
                token, *_ = into.rewrite(from_, token=token, **_ONCE)
                if token is None:
                    return

        repeated(source, rewrite)

    def remove(self, path: str) -> None:
        self.stat(path)
        _delete(path)

    def remove_tree(self, path: str) -> None:
        bucket, key = split(path)
        for name, _ in self._listed(path, folder(key)):
            _delete(f"gs://{bucket}/{name}")

    def read_tagged(self, path: str) -> tuple[bytes, str] | None:
        def read() -> tuple[bytes, str]:
            found_blob = blob(path)
            data = found_blob.download_as_bytes(**_ONCE)
            if found_blob.generation is None:
                raise OSError(f"{path}: the response is not from Google Cloud Storage")
            return data, str(found_blob.generation)

        try:
            return repeated(path, read)
        except FileNotFoundError:
            return None

    def write_if(self, path: str, data: bytes, *, tag: str | None) -> bool:
        """Sent once: if an answer is lost, nobody knows whether the write before it was done."""
        from google.api_core.exceptions import PreconditionFailed

        generation = 0 if tag is None else int(tag)  # 0 is GCS's word for an absent object
        try:
            with _translated(path):
                blob(path).upload_from_string(data, if_generation_match=generation, **_ONCE)
        except PreconditionFailed:
            return False
        return True

    def _file(self, path: str, status: Stat) -> ObjectFile:
        return _GcsObject(path, status)

    def _listed(self, path: str, prefix: str) -> Iterator[tuple[str, Stat]]:
        for one in _blobs(path, prefix):
            yield one.name, _stat_of(one)


class _GcsObject(ObjectFile):
    """One object, each range of which is read again where it breaks off."""

    def _fill(self, view: memoryview, start: int, end: int) -> None:
        view[: end - start] = repeated(self._path, lambda: self._range(start, end))
        self._at = end

    def _range(self, start: int, end: int) -> bytes:
        data: bytes = blob(self._path).download_as_bytes(
            start=start, end=end - 1, if_generation_match=int(self._tag), **_ONCE
        )
        if len(data) != end - start:
            raise OSError(f"the response ended at byte {start + len(data)}")
        return data


def repeated(path: str, action: Callable[[], T]) -> T:
    """`action` with its errors as Python's own, again where the network is to blame."""

    def once() -> T:
        with _translated(path):
            return action()

    return Backoff(attempts=_ATTEMPTS).call(once, again=_may_pass)


def blob(path: str) -> Any:
    """Google's handle of an object."""
    bucket, key = split(path)
    return client().bucket(bucket).blob(key)


@functools.cache
def client() -> Any:
    """Of this process; the project matters to no request that is sent here."""
    from google.auth.exceptions import DefaultCredentialsError
    from google.cloud import storage

    # Without it the client asks for each bucket's metadata in threads of its own, and waits for
    # them with a lock held: where TensorFlow's reader is collected just then, that never ends.
    os.environ.setdefault(_NO_BUCKET_METADATA, "true")
    try:
        made = storage.Client(project="yt8m")
    except DefaultCredentialsError:
        made = storage.Client.create_anonymous_client()
    for adapter in made._http.adapters.values():  # Google's manual, too, reaches for it
        adapter.init_poolmanager(CONNECTIONS, CONNECTIONS)
    return made


def _blobs(path: str, prefix: str, **options: Any) -> list[Any]:
    bucket, _ = split(path)
    return repeated(
        path, lambda: list(client().list_blobs(bucket, prefix=prefix, **options, **_ONCE))
    )


def _delete(path: str) -> None:
    try:
        repeated(path, lambda: blob(path).delete(**_ONCE))
    except FileNotFoundError:
        return  # the answer to an earlier try was lost, or another process was faster


def _stat_of(blob: Any) -> Stat:
    if blob.size is None or blob.updated is None or blob.generation is None:
        raise OSError(f"{blob.name}: the response is not from Google Cloud Storage")
    return Stat(blob.size, blob.updated.timestamp(), tag=str(blob.generation))


def _may_pass(error: Exception) -> bool:
    return isinstance(error, OSError) and not isinstance(error, OF_THE_FILE)


@contextmanager
def _translated(path: str) -> Iterator[None]:
    """Google's errors as the ones that Python's own files raise."""
    import requests
    from google.api_core import exceptions
    from google.auth.exceptions import GoogleAuthError
    from google.cloud.storage.exceptions import DataCorruption, InvalidPathError, InvalidResponse

    try:
        yield
    except KeyError as missing:
        raise OSError(
            f"{path}: the answer has no {missing}, so it is not from Google Cloud Storage"
        ) from missing
    except exceptions.NotFound as error:
        raise FileNotFoundError(f"{path}: {error}") from error
    except (exceptions.Forbidden, exceptions.Unauthorized) as error:
        raise PermissionError(f"{path}: {error}") from error
    except exceptions.PreconditionFailed:
        raise
    except exceptions.AsyncRestUnsupportedParameterError:
        raise  # of clients that are not used here
    except (
        exceptions.GoogleAPIError,
        GoogleAuthError,
        requests.RequestException,
        DataCorruption,
        InvalidPathError,
        InvalidResponse,
    ) as error:
        raise OSError(f"{path}: {error}") from error
