"""Records that are read are those that were there when the reading began, wherever they are."""

import os

import pytest
from memory_store import memory_store

from yt8m.components import storage
from yt8m.components.artifacts.manifest import Shard
from yt8m.components.records.unchanged import while_unchanged
from yt8m.schemas.errors import DataError


@pytest.fixture(params=["local", "mem://bucket/data"])
def place(request, tmp_path):
    place = str(tmp_path) if request.param == "local" else request.param
    with memory_store():
        for shard in shards_of(place):
            storage.write_bytes(shard.uri, b"old")
        yield place


def shards_of(place):
    return [
        Shard(uri=storage.join(place, name), split="eval", records=0, bytes=3, digest="")
        for name in ("a[1].tfrecord", "b.tfrecord")
    ]


def test_files_that_stay_may_be_read_and_an_error_is_that_of_the_reader(place):
    with while_unchanged(shards_of(place), "test"):
        storage.write_bytes(storage.join(place, "c.tfrecord"), b"more")
    with (
        pytest.raises(ValueError, match="of the reader"),
        while_unchanged(shards_of(place), "test"),
    ):
        raise ValueError("of the reader")


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("content", [b"longer", b"new", None])
def test_a_file_that_is_written_or_removed_meanwhile_is_named(place, content, fails):
    uri = shards_of(place)[0].uri

    def read():
        if content is None:
            storage.remove(uri)
        else:
            storage.write_bytes(uri, content)
            if local := storage.local_path(uri):
                os.utime(local, (1, 1))  # whatever the clock's steps are
        if fails:
            raise ValueError("follows from it")

    with pytest.raises(DataError) as error, while_unchanged(shards_of(place), "test"):
        read()
    what = "was removed" if content is None else "changed"
    assert str(error.value) == f"{uri}: the file {what} during the test; run the command again"
