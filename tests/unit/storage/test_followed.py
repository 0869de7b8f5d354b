"""A local directory that an object store follows."""

from __future__ import annotations

from pathlib import Path

import pytest
from memory_store import memory_store

from yt8m.components import storage
from yt8m.components.storage.errors import StorageError
from yt8m.components.storage.followed import followed

PLACE = "mem://bucket/checkpoints/key"


@pytest.fixture
def store():
    with memory_store() as store:
        yield store


def there():
    return {
        address.removeprefix(f"{PLACE}/"): storage.read_bytes(address)
        for address in storage.listed(PLACE)
    }


def test_a_local_directory_is_used_itself(tmp_path):
    with followed(str(tmp_path)) as directory:
        assert directory == str(tmp_path)


def test_what_is_there_is_in_it_and_what_changes_goes_there(store):
    storage.write_bytes(f"{PLACE}/old", b"1")
    storage.write_bytes(f"{PLACE}/below/kept", b"2")
    storage.write_bytes(f"{PLACE}-beside/not", b"3")
    with followed(PLACE, every_s=60) as directory:
        local = Path(directory)
        assert (local / "below" / "kept").read_bytes() == b"2"
        assert sorted(p.name for p in local.rglob("*")) == ["below", "kept", "old"]
        (local / "old").unlink()
        (local / "new").write_bytes(b"4")
        (local / "below" / "kept").write_bytes(b"22")
        store.requests.clear()
    assert there() == {"new": b"4", "below/kept": b"22"}
    assert not Path(directory).exists()


def test_what_has_not_changed_is_not_sent_again(store):
    storage.write_bytes(f"{PLACE}/old", b"1")
    with followed(PLACE, every_s=60) as directory:
        Path(directory, "new").write_bytes(b"4")
        store.requests.clear()
    assert [path for operation, path in store.requests if operation == "put"] == [f"{PLACE}/new"]


def test_it_follows_while_the_block_goes_on(store):
    with followed(PLACE, every_s=0.01) as directory:
        Path(directory, "log").write_bytes(b"1")
        while there() != {"log": b"1"}:
            pass
        with Path(directory, "log").open("ab") as file:
            file.write(b"2")
        while there() != {"log": b"12"}:
            pass


def test_files_that_name_others_are_sent_after_them(store):
    with followed(PLACE, last=("DONE", "checkpoint"), every_s=60) as directory:
        for name in ("DONE", "checkpoint", "model", "zebra"):
            Path(directory, name).write_bytes(name.encode())
        store.requests.clear()
    sent = [path.rpartition("/")[2] for operation, path in store.requests if operation == "put"]
    assert sorted(sent[:2]) == ["model", "zebra"]
    assert sent[2:] == ["checkpoint", "DONE"]


def interrupted(directory):
    Path(directory, "ckpt").write_bytes(b"1")
    raise KeyboardInterrupt


def test_a_block_that_fails_leaves_what_it_wrote(store):
    with pytest.raises(KeyboardInterrupt), followed(PLACE, every_s=60) as directory:
        interrupted(directory)
    assert there() == {"ckpt": b"1"}


def cut_off(directory, store):
    Path(directory, "ckpt").write_bytes(b"1")
    store.answer = fail


def fail(operation, path):
    raise OSError("no network")


def test_what_cannot_be_sent_at_the_end_is_an_error(store):
    with pytest.raises(StorageError, match="could not be sent there"), followed(PLACE) as directory:
        cut_off(directory, store)
