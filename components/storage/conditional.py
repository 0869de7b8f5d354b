"""Conditional writes of small objects: how writers in gs:// and s3:// agree without a lock.

Both stores refuse a write whose condition on the object's present state does not hold: S3 by
If-Match and If-None-Match, GCS by ifGenerationMatch. TensorFlow's file IO knows none of them.
"""

from __future__ import annotations

from yt8m.components.storage import gcs
from yt8m.components.storage.files import scheme
from yt8m.components.storage.s3 import _client as _s3_client
from yt8m.components.storage.s3 import _split, _translated

_REFUSED = ("PreconditionFailed", "ConditionalRequestConflict", "412", "409")
_MISSING = ("NoSuchKey", "404", "NotFound")


def read_tagged(uri: str) -> tuple[bytes, str] | None:
    """The content with a tag that changes whenever it does; None where there is no object."""
    return _gcs_read(uri) if scheme(uri) == "gs" else _s3_read(uri)


def write_if(uri: str, data: bytes, *, tag: str | None) -> bool:
    """Write `data` if the object still has `tag` (None: is still absent); whether it was done."""
    return _gcs_write(uri, data, tag) if scheme(uri) == "gs" else _s3_write(uri, data, tag)


def _s3_read(uri: str) -> tuple[bytes, str] | None:
    bucket, key = _split(uri)
    try:
        with _translated(uri):
            found = _s3_client().get_object(Bucket=bucket, Key=key)
            return found["Body"].read(), found["ETag"]
    except FileNotFoundError:
        return None


def _s3_write(uri: str, data: bytes, tag: str | None) -> bool:
    from botocore.exceptions import ClientError

    bucket, key = _split(uri)
    condition = {"IfNoneMatch": "*"} if tag is None else {"IfMatch": tag}
    with _translated(uri):
        try:
            _s3_client().put_object(Bucket=bucket, Key=key, Body=data, **condition)
        except ClientError as error:
            code = error.response["Error"]["Code"]
            # With If-Match, an object that has vanished answers as a missing one.
            if code in _REFUSED or (tag is not None and code in _MISSING):
                return False
            raise
    return True


def _gcs_read(uri: str) -> tuple[bytes, str] | None:
    blob = gcs.blob(uri)
    try:
        data = gcs.repeated(uri, blob.download_as_bytes)
    except FileNotFoundError:
        return None
    return data, str(blob.generation)


def _gcs_write(uri: str, data: bytes, tag: str | None) -> bool:
    """Sent once: if an answer is lost, nobody knows whether the write before it was done."""
    from google.api_core.exceptions import GoogleAPIError, PreconditionFailed

    generation = 0 if tag is None else int(tag)  # 0 is GCS's word for an absent object
    try:
        gcs.blob(uri).upload_from_string(data, if_generation_match=generation)
    except PreconditionFailed:
        return False
    except GoogleAPIError as error:
        raise OSError(f"{uri}: {error}") from error
    return True
