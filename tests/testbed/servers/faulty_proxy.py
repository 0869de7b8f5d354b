"""A proxy before an HTTP server that damages answers as it is told, and counts what it did.

    with faulty_proxy("http://127.0.0.1:5000") as proxy:
        proxy.faults.extend(["cut", "reset", "500", "slow-down"])

Each GET of a byte range takes the next fault from the list; when there is none it passes. With
`proxy.writes = True` each PUT takes one instead. "lost" is a request that was done and whose answer
never came; "html" is a page with status 200, and "empty" a listing without anything in it.

`proxy.choose`, where it is set, is asked for each request's fault, by its method and path.
"""

from __future__ import annotations

import http.client
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from http_double import listening, reset
from werkzeug import Request, Response
from werkzeug.datastructures import Headers

_HOPS = ("transfer-encoding", "connection")
_ERROR = "<?xml version='1.0'?><Error><Code>{code}</Code><Message>told to</Message></Error>"
_STATUS = {
    "500": (500, "InternalError"),
    "slow-down": (503, "SlowDown"),
    "403": (403, "AccessDenied"),
    "expired": (400, "ExpiredToken"),
    "404": (404, "NoSuchKey"),
}
_CHECKSUM = "x-amz-checksum-"
_PAGE = b"<html><body>Please log in</body></html>"
_EMPTY = {
    "list-type=2": "<ListBucketResult><Name>{bucket}</Name></ListBucketResult>",
    "/o?": '{{"kind": "storage#objects"}}',
}


class FaultyProxy:
    """`faults` are used up in their order; `done` counts those that hit a request."""

    def __init__(self, target: str) -> None:
        self.target, self.url = urlsplit(target), ""
        self.faults: deque[str] = deque()
        self.always = ""
        self.writes = False
        self.choose: Callable[[str, str], str] | None = None
        self.done: Counter[str] = Counter()
        self.served = 0  # bytes of objects

    @Request.application
    def __call__(self, request: Request) -> Response:
        request.get_data()
        is_ranged = request.method == "GET" and "Range" in request.headers
        fault = self._next_fault(request, is_ranged=is_ranged)
        if fault == "reset":
            reset(request)
        if fault in _STATUS:
            status, code = _STATUS[fault]
            return Response(_ERROR.format(code=code), status)
        if fault == "html":
            return Response(_PAGE, mimetype="text/html")
        if fault == "empty" and (text := _empty_listing(request)):
            return Response(text)
        answer = self.forward(request)
        body = answer.get_data()
        if fault == "lost":
            reset(request)
        self.served += len(body) * is_ranged
        if fault == "checksum":
            kept = [pair for pair in answer.headers if not pair[0].lower().startswith(_CHECKSUM)]
            answer.headers = Headers([*kept, (f"{_CHECKSUM}crc32", "AAAAAA==")])
        if fault == "cut":
            answer.content_length = len(body)
            answer.response = [body[: len(body) * 2 // 3]]
        return answer

    def forward(self, request: Request) -> Response:
        """What the server behind it answers."""
        target = http.client.HTTPConnection(self.target.netloc, timeout=60)
        path, sent = request.environ["RAW_URI"], request.get_data()
        target.request(request.method, path, body=sent, headers=dict(request.headers))
        answer = target.getresponse()
        passed = Response(answer.read(), answer.status)
        passed.headers.clear()
        passed.headers.update({k: v for k, v in answer.getheaders() if k.lower() not in _HOPS})
        return passed

    def _next_fault(self, request: Request, *, is_ranged: bool) -> str:
        if self.choose is not None:
            return self.choose(request.method, request.environ["RAW_URI"])
        if not (request.method == "PUT" if self.writes else is_ranged):
            return ""
        fault = self.always or (self.faults.popleft() if self.faults else "")
        self.done[fault or "passed"] += 1
        return fault


def _empty_listing(request: Request) -> str:
    """What lists nothing; "" where no listing was asked for."""
    path = request.environ["RAW_URI"]
    texts = [text for part, text in _EMPTY.items() if part in path and request.method == "GET"]
    return texts[0].format(bucket=urlsplit(path).path.split("/")[1]) if texts else ""


@contextmanager
def faulty_proxy(target: str) -> Iterator[FaultyProxy]:
    """A running proxy before `target`, http://host:port."""
    proxy = FaultyProxy(target)
    with listening(proxy) as proxy.url:
        yield proxy
