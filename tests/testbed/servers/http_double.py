"""What the doubles of HTTP servers have in common: routes, state under a lock, faults, a free port.

class Clock(HttpDouble):
    routes = Map([Rule("/time", endpoint="time", methods=["GET"])])

    def time(self, request: Request) -> object:
        return {"hour": 3}

with listening(Clock()) as url: ...
"""

from __future__ import annotations

import json
import re
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn

from werkzeug import Request, Response
from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound, abort
from werkzeug.routing import Map
from werkzeug.serving import WSGIRequestHandler, make_server


@dataclass
class Fault:
    """What to do to the next `times` requests whose "METHOD /path" matches.

    `status` answers with that code; without one the connection is closed, after a silence of
    `hang_s`. With `after` the request is carried out first, which is the ambiguous case.
    """

    pattern: str
    status: int = 0
    hang_s: float = 0.0
    after: bool = False
    times: int = 1
    message: str = ""
    headers: dict[str, str] = field(default_factory=dict)


class HttpDouble:
    """An application whose endpoints are methods: of a request, to JSON, text or a Response."""

    routes: ClassVar[Map]
    prefix: ClassVar[str] = ""  # of every path; requests are counted, and fail, without it

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.faults: list[Fault] = []
        self.lock = threading.RLock()

    def fail(self, pattern: str, **how: Any) -> None:
        self.faults.append(Fault(pattern, **how))

    def count(self, pattern: str) -> int:
        return sum(bool(re.search(pattern, request)) for request in self.requests)

    def error(self, status: int, message: str) -> Response:
        """An error in the words of this server."""
        return respond({"message": message}, status)

    def refuse(self, status: int, message: str) -> NoReturn:
        abort(self.error(status, message))

    def answer(self, request: Request) -> Response:
        try:
            with self.lock:
                endpoint, values = self.routes.bind_to_environ(request.environ).match()
                return respond(getattr(self, endpoint)(request, **values))
        except (NotFound, MethodNotAllowed):
            return self.error(404, f"no {request.method} {request.path}")
        except HTTPException as refused:
            return refused.get_response(request.environ)

    @Request.application
    def __call__(self, request: Request) -> Response:
        name = f"{request.method} {request.path.removeprefix(self.prefix)}"
        self.requests.append(name)
        request.get_data()
        fault = self._take_fault(name)
        answer = None if fault and not fault.after else self.answer(request)
        return self._break(fault, request) if fault else answer

    def _take_fault(self, name: str) -> Fault | None:
        for fault in self.faults:
            if fault.times > 0 and re.search(fault.pattern, name):
                fault.times -= 1
                return fault
        return None

    def _break(self, fault: Fault, request: Request) -> Response:
        time.sleep(fault.hang_s)
        if not fault.status:
            request.environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
            return Response()
        answer = self.error(fault.status, fault.message or f"fault {fault.status}")
        answer.headers.update(fault.headers)
        return answer


def respond(answer: object, status: int = 200) -> Response:
    if isinstance(answer, Response):
        return answer
    if isinstance(answer, str | bytes):
        return Response(answer, status)
    return Response(json.dumps(answer), status, mimetype="application/json")


def reset(request: Request) -> NoReturn:
    """End the request's connection without an answer, as a program that is killed does."""
    connection = request.environ["werkzeug.socket"]
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
    raise ConnectionResetError


class _Silent(WSGIRequestHandler):
    disable_nagle_algorithm = True  # which waits 40 ms between an answer's headers and its body

    def log(self, kind: str, message: str, *arguments: object) -> None:
        """Tests look at what the client says."""

    def connection_dropped(self, error: BaseException, environ: Any = None) -> None:
        self.close_connection = True  # else it waits for the next request, and nothing is closed


@contextmanager
def listening(application: Any, place: str = "127.0.0.1:0", tls: Any = None) -> Iterator[str]:
    """The address of the application, which listens until the block ends.

    `tls` is a certificate's file and its key's, or "adhoc": signed by nobody.
    """
    host, port = place.split(":")
    server = make_server(
        host, int(port), application, threaded=True, request_handler=_Silent, ssl_context=tls
    )
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http{'s' if tls else ''}://{host}:{server.port}"
    finally:
        server.shutdown()
        thread.join()
