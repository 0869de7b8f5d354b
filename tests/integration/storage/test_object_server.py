"""The testbed's own server answers clients of s3:// and gs:// as those it stands in for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from gcs_server import gcs_server
from object_server import object_server
from s3_server import s3_server

from yt8m.components import storage


@contextmanager
def own(scheme: str) -> Iterator[str]:
    with object_server():
        yield f"{scheme}://bucket"


SERVERS = {
    "moto": s3_server,
    "own, as S3": lambda: own("s3"),
    "fake-gcs-server": gcs_server,
    "own, as Google's": lambda: own("gs"),
}


@pytest.fixture(
    params=[
        pytest.param(
            name, marks=[pytest.mark.needs("fake-gcs-server")] if name.startswith("fake") else []
        )
        for name in SERVERS
    ]
)
def place(request: pytest.FixtureRequest) -> Iterator[str]:
    with SERVERS[request.param]() as bucket:
        yield f"{bucket}/place"


def test_a_registrys_requests_are_answered_alike(place: str) -> None:
    for name in ("saved_model.pb", "variables/data", "a&b.json"):
        storage.write_text(f"{place}/1/{name}", f"grün {name}")
    assert storage.list_dir(f"{place}/1") == ["a&b.json", "saved_model.pb", "variables"]
    assert storage.list_directories(place) == ["1"]
    assert sorted(storage.listed_sizes(f"{place}/1").values()) == [14, 20, 20]
    assert storage.read_text(f"{place}/1/a&b.json") == "grün a&b.json"
    storage.copy(f"{place}/1/saved_model.pb", f"{place}/2/saved_model.pb")
    assert storage.read_range(f"{place}/2/saved_model.pb", 1, 3) == "grün".encode()[1:3]
    assert storage.is_dir(f"{place}/1")
    assert not storage.exists(f"{place}/none")

    head = f"{place}/.head"
    assert storage.read_tagged(head) is None
    assert storage.write_if(head, b"1", tag=None)
    assert not storage.write_if(head, b"2", tag=None)
    found = storage.read_tagged(head)
    assert found is not None
    assert storage.write_if(head, b"3", tag=found[1])
    assert not storage.write_if(head, b"4", tag=found[1])
    assert storage.read_bytes(head) == b"3"

    storage.remove(head)
    assert not storage.write_if(head, b"5", tag=found[1])
    storage.remove_tree(f"{place}/1")
    assert storage.list_dir(place) == ["2"]
    for call in (storage.stat, storage.open_file, storage.list_dir, storage.remove):
        with pytest.raises(FileNotFoundError):
            call(f"{place}/missing")
