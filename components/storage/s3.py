"""s3:// through boto3. Credentials, region and endpoint come from boto3's usual sources.

A request that fails is sent again, adaptively: the client slows down when the server asks for it.
What breaks off while a body is read is resumed where it broke.

A server other than Amazon's (MinIO, SeaweedFS) is named by AWS_ENDPOINT_URL_S3. S3 has no
directories: one exists while an object lies below it.
"""

from __future__ import annotations

import functools
import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from yt8m.components.storage.backend import Stat
from yt8m.components.storage.retry import Backoff
from yt8m.schemas.errors import UserError

_READ_BYTES = 8 << 20
_CHUNK_BYTES = 1 << 18  # what came in whole chunks before a body breaks off is kept
_ATTEMPTS = 10
_CONNECT_S, _ANSWER_S = 10, 60
_DELETED_AT_ONCE = 1000
_MISSING = ("404", "NoSuchKey", "NoSuchBucket", "NotFound")
_REFUSED = ("401", "403", "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch")
_WILDCARD = re.compile(r"[*?\[]")


class S3Backend:
    """Objects of S3 and of servers that speak like it. Safe to use from several threads."""

    atomic_rename = False

    def open(self, path: str) -> BinaryIO:
        found = self.stat(path)
        if found.is_dir:
            raise IsADirectoryError(f"{path} is a directory")
        raw = _Object(path, found)
        return cast(BinaryIO, io.BufferedReader(raw, buffer_size=_READ_BYTES))

    def put(self, local_path: str, path: str) -> None:
        bucket, key = _split(path)
        with _translated(path):
            _client().upload_file(local_path, bucket, key)

    def stat(self, path: str) -> Stat:
        bucket, key = _split(path)
        with _translated(path):
            try:
                if key and not key.endswith("/"):
                    found = _client().head_object(Bucket=bucket, Key=key)
                    changed = found["LastModified"].timestamp()
                    return Stat(found["ContentLength"], changed, tag=found["ETag"])
            except _client().exceptions.ClientError as error:
                if error.response["Error"]["Code"] not in _MISSING:
                    raise
            prefix = _folder(key)
            below = _client().list_objects_v2(Bucket=bucket, Prefix=prefix, MaxKeys=1)
        if not below.get("Contents"):
            raise FileNotFoundError(f"{path} does not exist")
        return Stat(0, below["Contents"][0]["LastModified"].timestamp(), is_dir=True)

    def list_dir(self, path: str) -> list[str]:
        bucket, key = _split(path)
        prefix = _folder(key)
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

    def glob(self, pattern: str) -> list[str]:
        return sorted(self.find(pattern))

    def find(self, pattern: str) -> dict[str, Stat]:
        bucket, key = _split(pattern)
        literal = key[: match.start()] if (match := _WILDCARD.search(key)) else key
        regex, depth = _regex(key), key.count("/")
        found: dict[str, Stat] = {}
        with _translated(pattern):
            for item in _objects(bucket, literal):
                # The part as long as the pattern: the object itself, or a directory above it.
                name = "/".join(item["Key"].split("/")[: depth + 1])
                if regex.fullmatch(name):
                    is_dir = name != item["Key"]
                    size, tag = (0, "") if is_dir else (item["Size"], item["ETag"])
                    found[f"s3://{bucket}/{name}"] = Stat(
                        size, item["LastModified"].timestamp(), is_dir, tag
                    )
        return dict(sorted(found.items()))

    def make_dirs(self, path: str) -> None:
        """Nothing to do, and no empty object that would stand for a directory."""

    def copy(self, source: str, target: str) -> None:
        bucket, key = _split(source)
        into, name = _split(target)
        with _translated(source):
            _client().copy({"Bucket": bucket, "Key": key}, into, name)

    def rename(self, source: str, target: str) -> None:
        self.copy(source, target)
        self.remove(source)

    def remove(self, path: str) -> None:
        bucket, key = _split(path)
        self.stat(path)
        with _translated(path):
            _client().delete_object(Bucket=bucket, Key=key)

    def remove_tree(self, path: str) -> None:
        bucket, key = _split(path)
        with _translated(path):
            keys = [item["Key"] for item in _objects(bucket, _folder(key))]
            for start in range(0, len(keys), _DELETED_AT_ONCE):
                some = [{"Key": name} for name in keys[start : start + _DELETED_AT_ONCE]]
                _client().delete_objects(Bucket=bucket, Delete={"Objects": some, "Quiet": True})


class _Object(io.RawIOBase):
    """One object, read in ranges, each of which is resumed where it breaks off."""

    def __init__(self, path: str, found: Stat) -> None:
        self._path, self._size, self._tag, self._at = path, found.size, found.tag, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        end = min(self._at + len(buffer), self._size)
        if end <= self._at:
            return 0
        start, view = self._at, memoryview(buffer)
        Backoff(attempts=_ATTEMPTS).call(
            lambda: self._fill(view, start, end),
            again=lambda error: isinstance(error, _BrokenOffError),
        )
        return self._at - start

    def _fill(self, view: memoryview, start: int, end: int) -> None:
        """The bytes up to `end` that are missing yet; a failure keeps those that came."""
        from botocore import exceptions

        bucket, key = _split(self._path)
        with _translated(self._path):
            body = _client().get_object(
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

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        return self._at


class _BrokenOffError(OSError):
    """An answer that ended before it was complete."""


@functools.cache
def _client() -> Any:
    import boto3
    from botocore.config import Config

    config = Config(
        retries={"mode": "adaptive", "max_attempts": _ATTEMPTS},
        connect_timeout=_CONNECT_S,
        read_timeout=_ANSWER_S,
    )
    return boto3.session.Session().client("s3", config=config)


def _split(path: str) -> tuple[str, str]:
    bucket, _, key = path.removeprefix("s3://").partition("/")
    if not bucket:
        raise UserError(f"{path} has no bucket: write s3://bucket/path")
    return bucket, key


def _folder(key: str) -> str:
    return f"{key.rstrip('/')}/" if key.strip("/") else ""


def _pages(bucket: str, prefix: str, **options: str) -> Iterable[dict[str, Any]]:
    return (
        _client().get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix, **options)
    )


def _objects(bucket: str, prefix: str) -> Iterator[dict[str, Any]]:
    for page in _pages(bucket, prefix):
        yield from page.get("Contents", ())


def _regex(pattern: str) -> re.Pattern[str]:
    wild = {"*": "[^/]*", "?": "[^/]"}
    pieces = re.findall(r"\*|\?|\[!?\]?[^\]]*\]|.", pattern, re.DOTALL)
    texts = (
        wild.get(piece) or (re.escape(piece) if len(piece) == 1 else _class(piece))
        for piece in pieces
    )
    return re.compile("".join(texts))


def _class(piece: str) -> str:
    """`[...]` of a pattern as a regular expression, where `[` in it must not open another."""
    inner = piece[1:].replace("[", r"\[")
    return f"[^{inner[1:]}" if inner.startswith("!") else f"[{inner}"


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
