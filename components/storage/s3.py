"""s3:// through boto3. Credentials, region and endpoint come from boto3's usual sources.

A request that fails is sent again, adaptively: the client slows down when the server asks for it.
What breaks off while a body is read is resumed where it broke. An answer without what S3 puts into
each (a proxy's page with status 200, say) counts as a failure, never as an empty or absent object.

A server other than Amazon's (MinIO, SeaweedFS) is named by AWS_ENDPOINT_URL_S3.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from yt8m.components.storage.backend import Stat
from yt8m.components.storage.objects import (
    CONNECTIONS,
    ObjectBackend,
    ObjectFile,
    folder,
    split,
)
from yt8m.components.storage.retry import Backoff
from yt8m.schemas.errors import UserError

if TYPE_CHECKING:
    from botocore.exceptions import ClientError

_CHUNK_BYTES = 1 << 18  # what came in whole chunks before a body breaks off is kept
_ATTEMPTS = 10
_BAD_ANSWERS = 5
_CONNECT_S, _ANSWER_S = 10, 60
_DELETED_AT_ONCE = 1000
_MISSING = ("404", "NoSuchKey", "NoSuchBucket", "NotFound")
_CHANGED = ("PreconditionFailed", "ConditionalRequestConflict", "412", "409")
_REFUSED_STATUS = (401, 403)
# Amazon answers these with status 400, which is all that the answer to HEAD says.
_EXPIRED = ("ExpiredToken", "ExpiredTokenException", "InvalidToken", "TokenRefreshRequired", "400")
_NO_CONTENT = 204
# By which the answer to a write is told from a page of somebody else's.
_PARTS_OF_ANSWERS = {
    "PutObject": "ETag",
    "CopyObject": "CopyObjectResult",
    "CreateMultipartUpload": "UploadId",
    "UploadPart": "ETag",
    "UploadPartCopy": "CopyPartResult",
    "CompleteMultipartUpload": "ETag",
}

T = TypeVar("T")


class S3Backend(ObjectBackend):
    """Objects of S3 and of servers that speak like it."""

    def put(self, local_path: str, path: str) -> None:
        bucket, key = split(path)
        _asked(path, lambda: client().upload_file(local_path, bucket, key))

    def stat(self, path: str) -> Stat:
        bucket, key = split(path)
        if key and not key.endswith("/"):
            try:
                return _asked(path, lambda: _head(bucket, key))
            except FileNotFoundError:
                pass  # a directory, perhaps
        below = _asked(path, lambda: _page(bucket, folder(key), MaxKeys=1))
        if not below.get("Contents"):
            raise FileNotFoundError(f"{path} does not exist")
        return Stat(0, below["Contents"][0]["LastModified"].timestamp(), is_dir=True)

    def list_dir(self, path: str) -> list[str]:
        bucket, key = split(path)
        prefix = folder(key)
        names: set[str] = set()
        for page in _pages(path, bucket, prefix, Delimiter="/"):
            names |= {item["Key"].removeprefix(prefix) for item in page.get("Contents", ())}
            names |= _directories(page, prefix)
        if not names:
            raise FileNotFoundError(f"{path} does not exist")
        return sorted(names - {""})

    def list_directories(self, path: str) -> list[str]:
        bucket, key = split(path)
        prefix = folder(key)
        pages = _pages(path, bucket, prefix, Delimiter="/")
        return sorted(set().union(*(_directories(page, prefix) for page in pages)))

    def copy(self, source: str, target: str) -> None:
        bucket, key = split(source)
        into, name = split(target)
        _asked(source, lambda: client().copy({"Bucket": bucket, "Key": key}, into, name))

    def remove(self, path: str) -> None:
        bucket, key = split(path)
        self.stat(path)
        _asked(path, lambda: client().delete_object(Bucket=bucket, Key=key))

    def remove_tree(self, path: str) -> None:
        bucket, key = split(path)
        keys = [name for name, _ in self._listed(path, folder(key))]
        for start in range(0, len(keys), _DELETED_AT_ONCE):
            some = [{"Key": name} for name in keys[start : start + _DELETED_AT_ONCE]]
            done = _asked(path, lambda: _delete(bucket, some))  # noqa: B023
            if failed := done.get("Errors"):
                raise _error_of(failed[0], path)

    def read_tagged(self, path: str) -> tuple[bytes, str] | None:
        bucket, key = split(path)

        def get() -> tuple[bytes, str]:
            answer = client().get_object(Bucket=bucket, Key=key)
            return answer["Body"].read(), answer["ETag"]

        try:
            return _asked(path, get)
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

    def _file(self, path: str, status: Stat) -> ObjectFile:
        return _S3Object(path, status)

    def _listed(self, path: str, prefix: str) -> Iterator[tuple[str, Stat]]:
        for page in _pages(path, split(path)[0], prefix):
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
        asked = f"bytes={self._at}-{end - 1}"
        with _translated(self._path):
            answer = client().get_object(Bucket=bucket, Key=key, Range=asked, IfMatch=self._tag)
        body = answer["Body"]
        try:
            if answer.get("ContentRange") != f"{asked.replace('=', ' ')}/{self._size}":
                raise _BrokenOffError(f"{self._path}: the response is not the requested range")
            for chunk in body.iter_chunks(_CHUNK_BYTES):
                at = self._at - start
                view[at : at + len(chunk)] = chunk
                self._at += len(chunk)
        except exceptions.FlexibleChecksumError as error:  # some byte that came is wrong
            self._at = start
            raise _BrokenOffError(f"{self._path}: {error}") from error
        except (exceptions.BotoCoreError, exceptions.HTTPClientError, OSError) as error:
            raise _BrokenOffError(f"{self._path}: {error}") from error
        finally:
            body.close()
        if self._at < end:
            raise _BrokenOffError(f"{self._path}: the response ended at byte {self._at}")


class _BrokenOffError(OSError):
    """An answer that ended before it was complete, or is not what was asked for."""


class _BadAnswerError(OSError):
    """An answer that is none of S3's, whatever its status."""


@functools.cache
def client() -> Any:
    """boto3's, of this process."""
    import boto3
    from botocore.config import Config

    config = Config(
        retries={"mode": "adaptive", "max_attempts": _ATTEMPTS},
        connect_timeout=_CONNECT_S,
        read_timeout=_ANSWER_S,
        max_pool_connections=CONNECTIONS,
    )
    made = boto3.session.Session().client("s3", config=config)
    made.meta.events.register("after-call.s3", _check_answer)
    return made


def _check_answer(model: Any, parsed: Mapping[str, Any], **_: Any) -> None:
    """_BadAnswerError where a page with status 200 would pass for a write that was done."""
    if "Error" in parsed:
        return
    part = _PARTS_OF_ANSWERS.get(model.name)
    status = parsed["ResponseMetadata"]["HTTPStatusCode"]
    if (part and not parsed.get(part)) or (model.name == "DeleteObject" and status != _NO_CONTENT):
        raise _BadAnswerError(f"{model.name}: the response is not from S3")


def _head(bucket: str, key: str) -> Stat:
    answer = client().head_object(Bucket=bucket, Key=key)
    return _stat_of({**answer, "Size": answer["ContentLength"]})


def _pages(path: str, bucket: str, prefix: str, **options: str) -> Iterator[dict[str, Any]]:
    """A listing, page by page."""
    more: dict[str, str] = {}
    while True:
        page = _asked(path, lambda: _page(bucket, prefix, **options, **more))  # noqa: B023
        yield page
        if not page.get("IsTruncated"):
            return
        more = {"ContinuationToken": page["NextContinuationToken"]}


def _page(bucket: str, prefix: str, **options: Any) -> dict[str, Any]:
    page: dict[str, Any] = client().list_objects_v2(Bucket=bucket, Prefix=prefix, **options)
    if page["Name"] != bucket:  # which a page of somebody else's has not at all
        raise KeyError("Name")
    return page


def _delete(bucket: str, objects: list[dict[str, str]]) -> dict[str, Any]:
    done: dict[str, Any] = client().delete_objects(Bucket=bucket, Delete={"Objects": objects})
    if len(done.get("Deleted", ())) + len(done.get("Errors", ())) != len(objects):
        raise KeyError("Deleted")
    return done


def _directories(page: Mapping[str, Any], prefix: str) -> set[str]:
    below = page.get("CommonPrefixes", ())
    return {item["Prefix"].removeprefix(prefix).rstrip("/") for item in below}


def _stat_of(item: Mapping[str, Any]) -> Stat:
    return Stat(item["Size"], item["LastModified"].timestamp(), tag=item["ETag"])


def _asked(path: str, action: Callable[[], T]) -> T:
    """`action`, again where its answer has not what S3 puts into each."""

    def once() -> T:
        with _translated(path):
            try:
                return action()
            except KeyError as missing:
                raise _BadAnswerError(
                    f"{path}: the answer has no {missing}, so it is not from S3"
                ) from missing

    return Backoff(attempts=_BAD_ANSWERS).call(
        once, again=lambda error: isinstance(error, _BadAnswerError)
    )


@contextmanager
def _translated(path: str) -> Iterator[None]:
    """boto3's errors as the ones that Python's own files raise."""
    from boto3.exceptions import Boto3Error
    from botocore import exceptions
    from botocore.parsers import ResponseParserError
    from s3transfer import exceptions as transfer

    try:
        yield
    except exceptions.ClientError as error:
        raise _error_of(error.response["Error"], path, error) from error
    except (exceptions.NoCredentialsError, exceptions.NoRegionError) as error:
        raise UserError(
            f"{path}: {error}; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile"
        ) from error
    except ResponseParserError as error:
        raise _BadAnswerError(f"{path}: {error}") from error
    except (Boto3Error, *_errors_of(transfer), *_errors_of(exceptions)) as error:
        # An upload's error has S3's own in it.
        cause: Any = error.__cause__ or error.__context__
        if isinstance(cause, exceptions.ClientError):
            raise _error_of(cause.response["Error"], path, cause) from error
        raise OSError(f"{path}: {error}") from error


@functools.cache
def _errors_of(module: ModuleType) -> tuple[type[Exception], ...]:
    """A module's errors, which have no class in common; of warnings, none."""
    classes = (kind for kind in vars(module).values() if isinstance(kind, type))
    return tuple(
        kind
        for kind in classes
        if issubclass(kind, Exception)
        and not issubclass(kind, Warning)
        and kind.__module__ == module.__name__
    )


def _error_of(reason: Mapping[str, str], path: str, error: ClientError | None = None) -> OSError:
    code = reason.get("Code", "")
    text = f"{path}: {error or '; '.join(map(str, reason.values()))}"
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") if error else None
    if code in _MISSING:
        return FileNotFoundError(text)
    if code in _EXPIRED:
        return PermissionError(f"{text}; the credentials may have expired: renew them")
    if status in _REFUSED_STATUS or code in ("AccessDenied", *map(str, _REFUSED_STATUS)):
        return PermissionError(text)
    return OSError(text)
