"""Kubeflow's own interface before a server: its Node server with what its own build made.

In an installation Envoy translates the browser's calls of the metadata store from gRPC-web. The
interface makes none but unary ones, which take the twenty lines below.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import grpc
import requests
from argo_controller import address_of_pod, start_pod, until
from kfp_programs import METADATA_PORT
from kube_control_plane import NAMESPACE, Cluster
from pod_network import GATEWAY
from requirements import program

_NAME, _PORT = "ml-pipeline-ui", 3000  # as in Kubeflow's manifests
_PARTS = ("build/index.html", "server/dist/server.js")
_TRAILER = 0x80


def built_interface(source: Path) -> Path | None:
    """Where a checkout of Kubeflow Pipelines has its interface; None where it cannot be served."""
    place = source / "frontend"
    ready = program("node") and all((place / part).exists() for part in _PARTS)
    return place if ready else None


@contextmanager
def interface(cluster: Cluster, place: Path, host: str) -> Iterator[str]:
    """The address of the interface of the server at `host`."""
    server = urlsplit(host)
    with _translator() as metadata:
        variables = {
            "ML_PIPELINE_SERVICE_HOST": str(server.hostname),
            "ML_PIPELINE_SERVICE_PORT": str(server.port),
            "METADATA_ENVOY_SERVICE_SERVICE_HOST": GATEWAY,
            "METADATA_ENVOY_SERVICE_SERVICE_PORT": str(metadata),
            "FRONTEND_SERVER_NAMESPACE": NAMESPACE,
        }
        program, files = place / "server/dist/server.js", place / "build"
        start_pod(cluster, _NAME, ["node", str(program), str(files), str(_PORT)], variables)
        url = f"http://{address_of_pod(cluster, _NAME)}:{_PORT}"
        until(lambda: _answers(url), "Kubeflow's interface", said=lambda: cluster.log(_NAME))
        yield url


def _answers(url: str) -> bool:
    return requests.get(f"{url}/apis/v2beta1/healthz", timeout=5).ok


@contextmanager
def _translator() -> Iterator[int]:
    """The port of a server that hands gRPC-web calls on to the metadata store."""
    unlimited = [("grpc.max_receive_message_length", -1)]
    with grpc.insecure_channel(f"{GATEWAY}:{METADATA_PORT}", options=unlimited) as channel:

        class Handler(_Handler):
            store = channel

        with ThreadingHTTPServer((GATEWAY, 0), Handler) as server:
            thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
            thread.start()
            try:
                yield server.server_port
            finally:
                server.shutdown()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store: Any

    def do_POST(self) -> None:
        kind = self.headers["Content-Type"]
        body = self.rfile.read(int(self.headers["Content-Length"]))
        message = (base64.b64decode(body) if "text" in kind else body)[5:]
        call = self.store.unary_unary(self.path)  # bytes in, bytes out
        try:
            answer = _frame(0, call(message, timeout=20)) + _frame(_TRAILER, b"grpc-status:0\r\n")
        except grpc.RpcError as error:
            told = f"grpc-status:{error.code().value[0]}\r\ngrpc-message:{error.details()}\r\n"
            answer = _frame(_TRAILER, told.encode())
        answer = base64.b64encode(answer) if "text" in kind else answer
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *words: object) -> None:
        """Say nothing."""


def _frame(kind: int, data: bytes) -> bytes:
    return struct.pack(">BI", kind, len(data)) + data
