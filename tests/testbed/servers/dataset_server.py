"""A server with the paths of the published dataset, which fails as it is told.

    with dataset_server({"2/video/train/train00.tfrecord": b"..."}) as server:
        server.faults_of["train00.tfrecord"] = ["cut", "503", "reset", "whole", "wrong"]

Each GET of a file takes the next of its faults: `cut` sends half of what was asked and closes,
`reset` breaks the connection, a number is a status, `whole` ignores the range, `wrong` turns a
byte. Plans and checksums follow from the files.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from http_double import HttpDouble, listening, reset, respond
from werkzeug import Request, Response
from werkzeug.routing import Map, Rule

_LEVELS = "<version>/<level>/<any(train,validate,test):split>"


class DatasetServer(HttpDouble):
    """`served` counts the bytes of each file that were sent, `asked` its ranges."""

    routes = Map(
        [
            Rule(f"/<any(us,eu,asia):mirror>.data.yt8m.org/{_LEVELS}/<name>", endpoint="get_file"),
            Rule("/data.yt8m.org/<version>/download_plans/<part>.json", endpoint="get_plan"),
            Rule("/youtube8m/csv/2/vocabulary.csv", endpoint="get_vocabulary"),
        ]
    )

    def __init__(self, files: dict[str, bytes], vocabulary: bytes) -> None:
        super().__init__()
        self.files, self.vocabulary = files, vocabulary
        self.url = ""
        self.faults_of: defaultdict[str, list[str]] = defaultdict(list)
        self.served: Counter[str] = Counter()
        self.asked: defaultdict[str, list[int]] = defaultdict(list)
        self.mirrors: set[str] = set()

    def get_vocabulary(self, request: Request) -> Any:
        return self.vocabulary or self.refuse(404, "no such object")

    def get_plan(self, request: Request, version: str, part: str) -> Any:
        folder = f"{version}/{part.replace('_', '/')}/"
        digests = {
            path.removeprefix(folder): hashlib.md5(data).hexdigest()
            for path, data in self.files.items()
            if path.startswith(folder)
        }
        return {"files": digests} if digests else self.refuse(404, "no such object")

    def get_file(self, request: Request, mirror: str, name: str, **place: str) -> Response:
        data = self.files.get("/".join([*place.values(), name]))
        if data is None:
            self.refuse(404, "no such object")
        if request.method == "HEAD":
            return respond(data)
        self.mirrors.add(mirror)
        begin = int(re.sub(r"\D", "", request.headers.get("Range", "0")))
        self.asked[name].append(begin)
        fault = self.faults_of[name].pop(0) if self.faults_of[name] else ""
        if fault.isdecimal():
            self.refuse(int(fault), "told to")
        if fault == "reset":
            reset(request)
        if fault == "wrong":
            data = data[:begin] + bytes([data[begin] ^ 255]) + data[begin + 1 :]
        answer = Response(data)
        if fault != "whole":
            answer.make_conditional(request, accept_ranges=True, complete_length=len(data))
        body = answer.get_data()
        if fault == "cut":
            answer = Response(body[: len(body) // 2], answer.status, answer.headers)
            answer.headers["Content-Length"] = str(len(body))
        self.served[name] += len(answer.get_data())
        return answer


@contextmanager
def dataset_server(files: dict[str, bytes], vocabulary: bytes = b"") -> Iterator[DatasetServer]:
    """The server, running until the block ends."""
    server = DatasetServer(files, vocabulary)
    with listening(server) as server.url:
        yield server
