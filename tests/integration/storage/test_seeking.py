"""Reading of ranges, alike in both object stores."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from gcs_server import gcs_server
from s3_server import s3_server

from yt8m.components import storage
from yt8m.components.storage import objects


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(s3_server, id="s3"),
        pytest.param(gcs_server, id="gs", marks=pytest.mark.needs("fake-gcs-server")),
    ],
)
def bucket(request: pytest.FixtureRequest) -> Iterator[str]:
    with request.param() as uri:
        yield uri


def test_ranges_and_seeking_give_the_same_bytes_as_the_whole(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "_READ_BYTES", 100_000)
    content = os.urandom(1_000_000)
    storage.write_bytes(f"{place}/big", content)
    with storage.open_file(f"{place}/big") as file:
        assert file.read(5) == content[:5]
        assert file.seek(-7, os.SEEK_END) == len(content) - 7
        assert file.read() == content[-7:]
        file.seek(650_000)
        assert file.read(200_000) == content[650_000:850_000]
    assert storage.read_bytes(f"{place}/big") == content
