"""A server of Google Cloud Storage's interface in a process of its own, on this machine only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import requests
from faulty_proxy import FaultyProxy, faulty_proxy
from requirements import fake_gcs_program
from server_process import free_port, server_process

from yt8m.components.storage import gcs

BUCKET = "bucket"


@contextmanager
def gcs_server() -> Iterator[str]:
    """`gs://bucket`, empty, reached by every client of Google's in this process."""
    place = f"127.0.0.1:{(port := free_port())}"
    command = [str(fake_gcs_program()), "-scheme", "http", "-backend", "memory"]
    command += ["-host", "127.0.0.1", "-port", str(port), "-public-host", place]
    buckets = f"http://{place}/storage/v1/b?project=tests"
    with (
        server_process(command, lambda: requests.post(buckets, json={"name": BUCKET}, timeout=60)),
        reached_at(f"http://{place}"),
    ):
        yield f"gs://{BUCKET}"


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
