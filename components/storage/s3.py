"""s3:// through boto3. Credentials, region and endpoint come from boto3's usual sources.

A request that fails is sent again, adaptively: the client slows down when the server asks for it.
What breaks off while a body is read is resumed where it broke.

A server other than Amazon's (MinIO, SeaweedFS) is named by AWS_ENDPOINT_URL_S3.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from yt8m.components.storage.backend import Stat
from yt8m.components.storage.objects import ObjectBackend, ObjectFile, folder, split
from yt8m.components.storage.retry import Backoff
from yt8m.schemas.errors import UserError

_CHUNK_BYTES = 1 << 18  # what came in whole chunks before a body breaks off is kept
_ATTEMPTS = 10
_CONNECT_S, _ANSWER_S = 10, 60
_DELETED_AT_ONCE = 1000
_MISSING = ("404", "NoSuchKey", "NoSuchBucket", "NotFound")
_CHANGED = ("PreconditionFailed", "ConditionalRequestConflict", "412", "409")
_REFUSED = ("401", "403", "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch")


class S3Backend(ObjectBackend):
    """Objects of S3 and of servers that speak like it."""

    def put(self, local_path: str, path: str) -> None:
        bucket, key = split(path)
        with _translated(path):
            client().upload_file(local_path, bucket, key)

    def stat(self, path: str) -> Stat:
        bucket, key = split(path)
        with _translated(path):
            try:
                if key and not key.endswith("/"):
                    found = client().head_object(Bucket=bucket, Key=key)
                    return _stat_of({**found, "Size": found["ContentLength"]})
            except client().exceptions.ClientError as error:
                if error.response["Error"]["Code"] not in _MISSING:
                    raise
            below = client().list_objects_v2(Bucket=bucket, Prefix=folder(key), MaxKeys=1)
        if not below.get("Contents"):
            raise FileNotFoundError(f"{path} does not exist")
        return Stat(0, below["Contents"][0]["LastModified"].timestamp(), is_dir=True)

    def list_dir(self, path: str) -> list[str]:
        bucket, key = split(path)
        prefix = folder(key)
        names: set[str] = set()
        with _translated(path):
            for page in _pages(bucket, prefix, Delimiter="/"):
                names |= {item["Key"].removeprefix(prefix) for item in page.get("Contents", ())}
                names |= {
                    item["Prefix"].removeprefix(prefix).rstrip("/")
                    for item in page.get("CommonPrefixes", ())
                }
        if not names:
            raise FileNotFoundError(f"{path} does not exist")
        return sorted(names - {""})

    def copy(self, source: str, target: str) -> None:
        bucket, key = split(source)
        into, name = split(target)
        with _translated(source):
            client().copy({"Bucket": bucket, "Key": key}, into, name)

    def remove(self, path: str) -> None:
        bucket, key = split(path)
        self.stat(path)
        with _translated(path):
            client().delete_object(Bucket=bucket, Key=key)

    def remove_tree(self, path: str) -> None:
        bucket, key = split(path)
        keys = [name for name, _ in self._listed(path, folder(key))]
        with _translated(path):
            for start in range(0, len(keys), _DELETED_AT_ONCE):
                some = [{"Key": name} for name in keys[start : start + _DELETED_AT_ONCE]]
                client().delete_objects(Bucket=bucket, Delete={"Objects": some, "Quiet": True})

    def read_tagged(self, path: str) -> tuple[bytes, str] | None:
        bucket, key = split(path)
        try:
            with _translated(path):
                found = client().get_object(Bucket=bucket, Key=key)
                return found["Body"].read(), found["ETag"]
        except FileNotFoundError:
            return None

    def write_if(self, path: str, data: bytes, *, tag: str | None) -> bool:
        from botocore.exceptions import ClientError

        bucket, key = split(path)
        condition = {"IfNoneMatch": "*"} if tag is None else {"IfMatch": tag}
        with _translated(path):
            try:
                client().put_object(Bucket=bucket, Key=key, Body=data, **condition)
            except ClientError as error:
                code = error.response["Error"]["Code"]
                # With If-Match, an object that has vanished answers as a missing one.
                if code in _CHANGED or (tag is not None and code in _MISSING):
                    return False
                raise
        return True

    def _file(self, path: str, found: Stat) -> ObjectFile:
        return _S3Object(path, found)

    def _listed(self, path: str, prefix: str) -> Iterator[tuple[str, Stat]]:
        with _translated(path):
            for page in _pages(split(path)[0], prefix):
                for item in page.get("Contents", ()):
                    yield item["Key"], _stat_of(item)


class _S3Object(ObjectFile):
    """One object, read in ranges, each of which is resumed where it breaks off."""

    def _fill(self, view: memoryview, start: int, end: int) -> None:
        Backoff(attempts=_ATTEMPTS).call(
            lambda: self._read_on(view, start, end),
            again=lambda error: isinstance(error, _BrokenOffError),
        )

    def _read_on(self, view: memoryview, start: int, end: int) -> None:
        """The bytes up to `end` that are missing yet; a failure keeps those that came."""
        from botocore import exceptions

        bucket, key = split(self._path)
        with _translated(self._path):
            body = client().get_object(
                Bucket=bucket, Key=key, Range=f"bytes={self._at}-{end - 1}", IfMatch=self._tag
            )["Body"]
        try:
            for chunk in body.iter_chunks(_CHUNK_BYTES):
                at = self._at - start
                view[at : at + len(chunk)] = chunk
                self._at += len(chunk)
        except (exceptions.BotoCoreError, exceptions.HTTPClientError, OSError) as error:
            raise _BrokenOffError(f"{self._path}: {error}") from error
        finally:
            body.close()
        if self._at < end:
            raise _BrokenOffError(f"{self._path}: the response ended at byte {self._at}")


class _BrokenOffError(OSError):
    """An answer that ended before it was complete."""


@functools.cache
def client() -> Any:
    """boto3's, of this process."""
    import boto3
    from botocore.config import Config

    config = Config(
        retries={"mode": "adaptive", "max_attempts": _ATTEMPTS},
        connect_timeout=_CONNECT_S,
        read_timeout=_ANSWER_S,
    )
    return boto3.session.Session().client("s3", config=config)


def _pages(bucket: str, prefix: str, **options: str) -> Iterable[dict[str, Any]]:
    paginator = client().get_paginator("list_objects_v2")
    pages: Iterable[dict[str, Any]] = paginator.paginate(Bucket=bucket, Prefix=prefix, **options)
    return pages


def _stat_of(item: Mapping[str, Any]) -> Stat:
    return Stat(item["Size"], item["LastModified"].timestamp(), tag=item["ETag"])


@contextmanager
def _translated(path: str) -> Iterator[None]:
    """boto3's errors as the ones that Python's own files raise."""
    from botocore import exceptions

    try:
        yield
    except exceptions.ClientError as error:
        code, text = error.response["Error"]["Code"], f"{path}: {error}"
        if code in _MISSING:
            raise FileNotFoundError(text) from error
        raise (PermissionError(text) if code in _REFUSED else OSError(text)) from error
    except (exceptions.NoCredentialsError, exceptions.NoRegionError) as error:
        raise UserError(
            f"{path}: {error}; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile"
        ) from error
    except (exceptions.BotoCoreError, exceptions.HTTPClientError) as error:
        raise OSError(f"{path}: {error}") from error
