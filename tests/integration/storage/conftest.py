"""What tests of object stores share; `server`, a bucket and its proxy, is each file's own."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from faulty_proxy import FaultyProxy


@pytest.fixture(scope="module")
def bucket(server: tuple[str, FaultyProxy]) -> str:
    return server[0]


@pytest.fixture
def place(bucket: str) -> str:
    """A prefix of the test's own."""
    return f"{bucket}/{uuid.uuid4().hex}"


@pytest.fixture
def proxy(server: tuple[str, FaultyProxy]) -> Iterator[FaultyProxy]:
    proxy = server[1]
    proxy.done.clear()
    yield proxy
    proxy.faults.clear()
    proxy.always = ""
