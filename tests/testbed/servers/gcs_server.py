"""A server of Google Cloud Storage's interface in a process of its own, on this machine only."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from faulty_proxy import FaultyProxy, faulty_proxy
from requirements import fake_gcs_program

from yt8m.components.storage import gcs

BUCKET = "bucket"
_START_S = 60.0


@contextmanager
def gcs_server() -> Iterator[str]:
    """`gs://bucket`, empty, reached by every client of Google's in this process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    place = f"127.0.0.1:{port}"
    command = [str(fake_gcs_program()), "-scheme", "http", "-backend", "memory"]
    command += ["-host", "127.0.0.1", "-port", str(port), "-public-host", place]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _create_bucket(f"http://{place}")
        with reached_at(f"http://{place}"):
            yield f"gs://{BUCKET}"
    finally:
        server.terminate()
        server.wait(30)


@contextmanager
def faulty_gcs_server() -> Iterator[tuple[str, FaultyProxy]]:
    """The same behind a proxy that passes on what it is not told to damage."""
    with (
        gcs_server() as uri,
        faulty_proxy(os.environ["STORAGE_EMULATOR_HOST"]) as proxy,
        reached_at(proxy.url),
    ):
        yield uri, proxy


@contextmanager
def reached_at(url: str) -> Iterator[None]:
    """Clients go to `url` instead of Google's servers."""
    with mock.patch.dict(os.environ, {"STORAGE_EMULATOR_HOST": url}):
        gcs.client.cache_clear()
        yield
    gcs.client.cache_clear()


def _create_bucket(url: str) -> None:
    wanted = urllib.request.Request(
        f"{url}/storage/v1/b?project=tests",
        data=json.dumps({"name": BUCKET}).encode(),
        headers={"Content-Type": "application/json"},
    )
    deadline = time.monotonic() + _START_S
    while True:
        try:
            urllib.request.urlopen(wanted).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
