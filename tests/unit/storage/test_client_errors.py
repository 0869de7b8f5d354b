"""Every error of both clients comes out as one that Python's own files raise, or as the user's."""

from __future__ import annotations

import inspect
from types import ModuleType

import boto3.exceptions
import botocore.exceptions
import botocore.parsers
import google.api_core.exceptions
import google.auth.exceptions
import google.cloud.storage.exceptions
import pytest
import requests.exceptions
import s3transfer.exceptions

from yt8m.components.storage import gcs, s3
from yt8m.schemas.errors import UserError

# What only other clients raise, or a mistake in our own code.
NOT_HERE = {"AsyncRestUnsupportedParameterError", "PreconditionFailed"}


def errors_of(*modules: ModuleType) -> list[type[Exception]]:
    return [
        found
        for module in modules
        for _, found in inspect.getmembers(module, inspect.isclass)
        if issubclass(found, Exception)
        and not issubclass(found, Warning)
        and found.__module__ == module.__name__
        and found.__name__ not in NOT_HERE
    ]


def one_of(kind: type[Exception]) -> Exception:
    """An instance, whatever its constructor asks for."""
    if issubclass(kind, botocore.exceptions.ClientError):
        return kind({"Error": {"Code": "Unknown", "Message": "told to"}}, "PutObject")
    for arguments in (("told to",), (None, "told to"), ()):
        try:
            return kind(*arguments)
        except (TypeError, KeyError):
            continue
    error = kind.__new__(kind)
    error.args = ("told to",)
    return error


@pytest.mark.parametrize(
    "kind",
    errors_of(botocore.exceptions, botocore.parsers, boto3.exceptions, s3transfer.exceptions),
    ids=lambda kind: f"{kind.__module__}.{kind.__name__}",
)
def test_every_error_of_boto3_is_one_of_ours(kind: type[Exception]) -> None:
    with pytest.raises((OSError, UserError)) as raised, s3._translated("s3://bucket/key"):
        raise one_of(kind)
    assert "s3://bucket/key" in str(raised.value)


@pytest.mark.parametrize(
    "kind",
    errors_of(
        google.api_core.exceptions,
        google.auth.exceptions,
        google.cloud.storage.exceptions,
        requests.exceptions,
    ),
    ids=lambda kind: f"{kind.__module__}.{kind.__name__}",
)
def test_every_error_of_googles_client_is_one_of_ours(kind: type[Exception]) -> None:
    with pytest.raises((OSError, UserError)), gcs._translated("gs://bucket/key"):
        raise one_of(kind)


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("AccessDenied", 403, PermissionError),
        ("InvalidAccessKeyId", 403, PermissionError),
        ("AllAccessDisabled", 403, PermissionError),
        ("ExpiredToken", 400, PermissionError),
        ("NoSuchKey", 404, FileNotFoundError),
        ("InternalError", 500, OSError),
    ],
)
def test_an_uploads_error_is_the_one_that_s3_gave(code: str, status: int, kind: type) -> None:
    response = {
        "Error": {"Code": code, "Message": "told to"},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    with pytest.raises(kind) as raised, s3._translated("s3://bucket/key"):
        raise _upload_error(botocore.exceptions.ClientError(response, "PutObject"))
    assert type(raised.value) is kind
    assert code in str(raised.value)


def _upload_error(cause: Exception) -> Exception:
    """As boto3 raises it: its own, while S3's is handled."""
    try:
        try:
            raise cause
        except botocore.exceptions.ClientError as error:
            raise boto3.exceptions.S3UploadFailedError(f"Failed to upload: {error}")  # noqa: B904
    except boto3.exceptions.S3UploadFailedError as error:
        return error
