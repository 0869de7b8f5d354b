"""Resumable reading over HTTP, and the choice of errors to retry."""

from __future__ import annotations

import http.client
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from yt8m.components.storage.errors import StorageError
from yt8m.schemas.errors import UserError
from yt8m.schemas.url import url_problem

_TIMEOUT_S = 60.0
_WAIT_AND_TRY_AGAIN = (408, 425, 429, 500, 502, 503, 504)
_PIECE_BYTES = 1 << 20
_OF_TOTAL = re.compile(r"bytes \d+-\d+/(\d+)")


class TemporaryError(Exception):
    """The network or the server failed in a way that passes, after `received` bytes."""

    def __init__(self, reason: str, received: int = 0) -> None:
        super().__init__(reason)
        self.received = received


class RangeError(Exception):
    """The file ends before the first byte that was wanted."""


class Body:
    """An answer from byte `begin` on, and how long the whole file is where that is said."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self._response = response
        match = _OF_TOTAL.match(response.headers.get("Content-Range", ""))
        # A server may send the whole file although a part was wanted.
        self.is_part = response.status == http.client.PARTIAL_CONTENT
        length = response.headers.get("Content-Length")
        self.total = int(match[1]) if match else int(length) if length else None

    def pieces(self) -> Iterator[bytes]:
        """Yield the received pieces; TemporaryError where the transfer breaks off."""
        try:
            while piece := self._response.read(_PIECE_BYTES):
                yield piece
        except (OSError, http.client.HTTPException) as error:
            raise TemporaryError(str(error) or type(error).__name__) from error


@contextmanager
def open_url(url: str, *, begin: int = 0, method: str = "GET") -> Iterator[Body]:
    """The answer to a request for `url`; StorageError where trying again would not help."""
    if problem := url_problem(url):
        raise UserError(f"{url}: {problem}")
    headers = {"Range": f"bytes={begin}-"} if begin else {}
    request = urllib.request.Request(url, headers=headers, method=method)
    try:
        response = urllib.request.urlopen(request, timeout=_TIMEOUT_S)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in _WAIT_AND_TRY_AGAIN:
            raise TemporaryError(f"HTTP {error.code} {error.reason}") from error
        if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise RangeError from error
        raise StorageError(f"{url}: HTTP {error.code} {error.reason}") from error
    except (OSError, http.client.HTTPException) as error:  # urllib's URLError is an OSError
        raise TemporaryError(str(getattr(error, "reason", error))) from error
    with response:
        yield Body(response)


def read_url(url: str) -> bytes:
    """All of a small file; TemporaryError where it breaks off."""
    with open_url(url) as body:
        data = b"".join(body.pieces())
        if body.total is not None and len(data) < body.total:
            raise TemporaryError(f"{len(data)} of {body.total} bytes came")
    return data


def read_text(url: str) -> str:
    """All of a small text file; StorageError where it does not come."""
    try:
        return read_url(url).decode()
    except (TemporaryError, UnicodeDecodeError) as error:
        raise StorageError(f"{url}: {error}; try again, or give a file") from error
