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
import socket
import struct
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

_HOP_BY_HOP = ("transfer-encoding", "connection", "content-length")
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


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Of a server; of HEAD, without its body."""

    status: int
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""


class FaultyProxy(ThreadingHTTPServer):
    """`faults` are used up in their order; `done` counts those that hit a request."""

    daemon_threads = True

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target = urlsplit(target)
        self.faults: deque[str] = deque()
        self.always = ""
        self.writes = False
        self.choose: Callable[[str, str], str] | None = None
        self.done: Counter[str] = Counter()
        self.served = 0  # bytes of objects

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def forward(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """What the server behind it answers."""
        target = http.client.HTTPConnection(self.target.netloc, timeout=60)
        target.request(method, path, body=body, headers=dict(headers))
        answer = target.getresponse()
        return Answer(status=answer.status, headers=answer.getheaders(), body=answer.read())

    def next_fault(self) -> str:
        fault = self.always or (self.faults.popleft() if self.faults else "")
        self.done[fault or "passed"] += 1
        return fault

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that give up on a cut answer are what this is for."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # which waits 40 ms between an answer's headers and its body
    server: FaultyProxy

    def _forward(self) -> None:
        size = int(self.headers.get("Content-Length", 0))
        sent = self.rfile.read(size)
        ranged = self.command == "GET" and "Range" in self.headers
        meant = self.command == "PUT" if self.server.writes else ranged
        if self.server.choose is not None:
            fault = self.server.choose(self.command, self.path)
        else:
            fault = self.server.next_fault() if meant else ""
        if fault == "reset":
            self._reset()
        elif fault in _STATUS:
            status, code = _STATUS[fault]
            self._answer(status, [], _ERROR.format(code=code).encode())
        elif fault == "html":
            self._answer(200, [("Content-Type", "text/html")], _PAGE)
        elif fault == "empty" and (text := self._empty_listing()):
            self._answer(200, [], text.encode())
        else:
            self._pass_on(sent, fault)

    def _pass_on(self, sent: bytes, fault: str) -> None:
        answer = self.server.forward(self.command, self.path, dict(self.headers), sent)
        body = answer.body
        if fault == "lost":
            self._reset()
            return
        if self.command == "GET" and "Range" in self.headers:
            self.server.served += len(body)
        lengths = [value for name, value in answer.headers if name.lower() == "content-length"]
        length = next(iter(lengths), None) if self.command == "HEAD" else None
        headers = [pair for pair in answer.headers if pair[0].lower() not in _HOP_BY_HOP]
        if fault == "checksum":
            headers = [pair for pair in headers if not pair[0].lower().startswith(_CHECKSUM)]
            headers.append((f"{_CHECKSUM}crc32", "AAAAAA=="))
        self._answer(answer.status, headers, body, length=length, cut=fault == "cut")

    def _empty_listing(self) -> str:
        """What lists nothing; "" where no listing was asked for."""
        bucket = urlsplit(self.path).path.split("/")[1]
        texts = [text for part, text in _EMPTY.items() if part in self.path]
        return texts[0].format(bucket=bucket) if texts and self.command == "GET" else ""

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _forward  # noqa: N815

    def _answer(
        self,
        status: int,
        headers: list[tuple[str, str]],
        body: bytes,
        *,
        length: str | None = None,
        cut: bool = False,
    ) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", length or str(len(body)))
        self.end_headers()
        if cut:
            self.wfile.write(body[: len(body) * 2 // 3])
            self.wfile.flush()
            self.close_connection = True
        else:
            self.wfile.write(body)

    def _reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None: ...


@contextmanager
def faulty_proxy(target: str) -> Iterator[FaultyProxy]:
    """A running proxy before `target`, http://host:port."""
    with FaultyProxy(target) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
