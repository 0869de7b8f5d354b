"""A server with the paths of the published dataset, which fails as it is told.

    with dataset_server({"2/video/train/train00.tfrecord": b"..."}) as server:
        server.faults["train00.tfrecord"] = ["cut", "503", "reset", "whole", "wrong"]

Each GET of a file takes the next of its faults: `cut` sends half of what was asked and closes,
`reset` breaks the connection, a number is a status, `whole` ignores the range, `wrong` turns a
byte. Plans and checksums follow from the files.
"""

from __future__ import annotations

import hashlib
import json
import re
import socket
import struct
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_FILE = re.compile(r"/(us|eu|asia)\.data\.yt8m\.org/(\d)/(\w+)/(\w+)/([^/]+)")
_PLAN = re.compile(r"/data\.yt8m\.org/(\d)/download_plans/(\w+)_(train|validate|test)\.json")
_VOCABULARY = "/youtube8m/csv/2/vocabulary.csv"


class DatasetServer(ThreadingHTTPServer):
    """`served` counts the bytes of each file that were sent, `asked` its ranges."""

    daemon_threads = True

    def __init__(self, files: dict[str, bytes], vocabulary: bytes) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files, self.vocabulary = files, vocabulary
        self.faults: defaultdict[str, list[str]] = defaultdict(list)
        self.served: Counter[str] = Counter()
        self.asked: defaultdict[str, list[int]] = defaultdict(list)
        self.mirrors: set[str] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def plan(self, version: str, level: str, split: str) -> bytes | None:
        folder = f"{version}/{level}/{split}/"
        found = {
            path.removeprefix(folder): hashlib.md5(data).hexdigest()
            for path, data in self.files.items()
            if path.startswith(folder)
        }
        return json.dumps({"files": found}).encode() if found else None


@contextmanager
def dataset_server(files: dict[str, bytes], vocabulary: bytes = b"") -> Iterator[DatasetServer]:
    """The server, running until the block ends."""
    with DatasetServer(files, vocabulary) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: DatasetServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed."""

    def do_HEAD(self) -> None:
        data = self._content()
        if data is None:
            self._end(404, b"")
        else:
            self._end(200, b"", length=len(data))

    def do_GET(self) -> None:
        data = self._content()
        if data is None:
            self._end(404, b"no such object")
            return
        match = _FILE.fullmatch(self.path)
        if match is None:
            self._end(200, data)
            return
        self.server.mirrors.add(match[1])
        self._send_file(match[5], data)

    def _content(self) -> bytes | None:
        if self.path == _VOCABULARY:
            return self.server.vocabulary or None
        if match := _PLAN.fullmatch(self.path):
            return self.server.plan(match[1], match[2], match[3])
        match = _FILE.fullmatch(self.path)
        return self.server.files.get("/".join(match.groups()[1:])) if match else None

    def _send_file(self, name: str, data: bytes) -> None:
        faults = self.server.faults[name]
        fault = faults.pop(0) if faults else ""
        begin = int(self.headers.get("Range", "bytes=0-")[6:].rstrip("-"))
        self.server.asked[name].append(begin)
        if fault.isdecimal():
            self._end(int(fault), b"told to")
            return
        if fault == "reset":
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.close_connection = True
            self.connection.close()
            return
        if fault == "whole":
            begin = 0
        if begin and begin >= len(data):
            self._end(416, b"", content_range=f"bytes */{len(data)}")
            return
        body = data[begin:]
        if fault == "wrong":
            body = bytes([body[0] ^ 255]) + body[1:]
        part = f"bytes {begin}-{len(data) - 1}/{len(data)}" if begin else None
        sent = body[: len(body) // 2] if fault == "cut" else body
        self.server.served[name] += len(sent)
        self._end(206 if begin else 200, sent, length=len(body), content_range=part)

    def _end(
        self,
        status: int,
        body: bytes,
        *,
        length: int | None = None,
        content_range: str | None = None,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        if content_range:
            self.send_header("Content-Range", content_range)
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = self.command == "GET" and length not in (None, len(body))
