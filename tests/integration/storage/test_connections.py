"""Threads that ask an object store at once keep their connections."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Barrier, Thread
from unittest import mock

import pytest
from gcs_server import reached_at
from s3_server import ENVIRONMENT

from yt8m.components import storage
from yt8m.components.storage import gcs, s3

THREADS = 16  # as many as walk shards
OBJECT = json.dumps(
    {"name": "a", "size": "1", "updated": "2026-01-01T00:00:00Z", "generation": "1"}
).encode()


class Store(ThreadingHTTPServer):
    """Knows one object, and keeps connections open, which werkzeug's server does not."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.connections = 0
        # Answers wait for one another, so that no thread takes over another's connection.
        self.together = Barrier(THREADS, timeout=60)

    def get_request(self) -> tuple[object, object]:
        self.connections += 1
        return super().get_request()


class Answer(BaseHTTPRequestHandler):
    server: Store
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self.server.together.wait()
        self.send_response(200)
        self.send_header("Content-Length", str(len(OBJECT)))
        self.send_header("Content-Type", "application/json")
        self.send_header("ETag", '"1"')
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        self.end_headers()

    def do_GET(self) -> None:
        self.do_HEAD()
        self.wfile.write(OBJECT)

    def log_message(self, *_: object) -> None:
        """Tests look at what the client says."""


@pytest.fixture
def store() -> Iterator[Store]:
    with Store() as store:
        thread = Thread(target=store.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        address = f"http://127.0.0.1:{store.server_port}"
        environment = {**ENVIRONMENT, "AWS_ENDPOINT_URL_S3": address}
        s3.client.cache_clear()
        with mock.patch.dict(os.environ, environment), reached_at(address):
            yield store
        s3.client().close()
        s3.client.cache_clear()
        store.shutdown()
        thread.join()


@pytest.mark.parametrize("scheme", ["s3", "gs"])
def test_a_second_request_of_each_thread_opens_no_connection(scheme: str, store: Store) -> None:
    {"s3": s3, "gs": gcs}[scheme].client()  # made once, not by each of the threads
    addresses = [f"{scheme}://bucket/a"] * THREADS
    with ThreadPoolExecutor(THREADS) as pool:
        for _ in range(2):
            assert not any(pool.map(storage.is_dir, addresses))
    assert store.connections == THREADS
