"""A network that fails is never a bad record: reads are resumed, or the network is named."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from faulty_proxy import FaultyProxy
from ingesting import ingest_directory
from records import make_dataset
from s3_server import faulty_s3_server
from sources import assert_same, batches, make_source

from yt8m.components import storage
from yt8m.components.inputs.dataset import dataset_for_scoring
from yt8m.components.inputs.faults import explaining_faults
from yt8m.components.storage import s3
from yt8m.components.storage.errors import StorageError
from yt8m.schemas.features import Level

ALL = ("cut", "reset", "500", "slow-down")


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, FaultyProxy]]:
    with faulty_s3_server() as place:
        yield place


@pytest.mark.parametrize("fault", ALL)
def test_each_fault_is_passed_over_and_the_bytes_are_right(
    bucket: str, proxy: FaultyProxy, fault: str
) -> None:
    content = os.urandom(5 << 20)
    storage.write_bytes(f"{bucket}/file", content)
    proxy.faults.extend([fault] * 2)
    assert storage.read_bytes(f"{bucket}/file") == content
    assert proxy.done == {fault: 2, "passed": 1}  # the rest of it in one request


def test_ingest_through_faults_keeps_every_record(
    bucket: str, proxy: FaultyProxy, tmp_path: Path
) -> None:
    root = f"{bucket}/ingest"
    storage.copy_tree(str(make_dataset(tmp_path / "data")), root)
    proxy.faults.extend(ALL)
    done = ingest_directory(
        root, tmp_path / "out", ingest="reference", bad_input="quarantine", workers=1
    )
    assert (done.accounts.kept, done.accounts.quarantined) == (36, 0)
    assert sum(proxy.done[fault] for fault in ALL) == 4


def test_a_network_that_stays_away_is_named_and_no_record_is_blamed(
    bucket: str,
    proxy: FaultyProxy,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = f"{bucket}/away"
    storage.copy_tree(str(make_dataset(tmp_path / "data")), root)
    monkeypatch.setattr(s3, "_ATTEMPTS", 2)
    s3.client.cache_clear()
    proxy.always = "reset"
    with pytest.raises(StorageError, match="the storage or the network failed"):
        ingest_directory(root, tmp_path / "out", ingest="reference", bad_input="quarantine")
    s3.client.cache_clear()


def test_the_training_reader_resumes_and_blames_no_record(
    bucket: str,
    proxy: FaultyProxy,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()
    local = make_source(tmp_path / "data", Level.VIDEO)
    shards = []
    for shard in local.shards:
        uri = f"{bucket}/train/{Path(shard.uri).name}"
        storage.copy(shard.uri, uri)
        shards.append(dataclasses.replace(shard, uri=uri))
    remote = dataclasses.replace(local, shards=tuple(shards))
    proxy.faults.extend(ALL)
    found = batches(dataset_for_scoring(remote, batch_size=8), 99)
    assert_same(found, batches(dataset_for_scoring(local, batch_size=8), 99))
    assert sum(proxy.done[fault] for fault in ALL) == 4

    for path in (tmp_path / "cache").rglob("*.tfrecord"):
        path.unlink()
    monkeypatch.setattr(s3, "_ATTEMPTS", 2)
    s3.client.cache_clear()
    proxy.always = "reset"
    with pytest.raises(StorageError, match="the storage or the network failed"):  # noqa: SIM117
        with explaining_faults(remote):
            batches(dataset_for_scoring(remote, batch_size=8), 99)
    s3.client.cache_clear()


@pytest.mark.parametrize("fault", ["html", "checksum", "404"])
@pytest.mark.parametrize("times", [1, 2])
def test_an_answer_that_is_none_of_s3s_is_asked_for_again(
    bucket: str, proxy: FaultyProxy, fault: str, times: int
) -> None:
    content = os.urandom(3000)
    storage.write_bytes(f"{bucket}/record", content)
    proxy.faults.extend([fault] * times)
    if fault == "404":  # which says that the object went away while it was open
        with pytest.raises(FileNotFoundError):
            storage.read_bytes(f"{bucket}/record")
        proxy.faults.clear()
    assert storage.read_bytes(f"{bucket}/record") == content


@pytest.mark.parametrize("fault", ["html", "403", "expired"])
def test_no_answer_passes_for_an_empty_directory_or_a_missing_file(
    bucket: str, proxy: FaultyProxy, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3, "_BAD_ANSWERS", 2)
    storage.write_text(f"{bucket}/there/file", "text")
    proxy.choose = lambda method, path: fault
    calls = (storage.exists, storage.list_dir, storage.list_directories, storage.read_bytes)
    for call in (*calls, storage.glob):
        with pytest.raises(OSError, match="s3://") as raised:
            call(f"{bucket}/there/file")
        assert not isinstance(raised.value, FileNotFoundError)
        assert isinstance(raised.value, PermissionError) == (fault != "html")
    proxy.choose = None


def test_a_page_with_status_200_never_passes_for_a_write(
    bucket: str, proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(s3, "_BAD_ANSWERS", 2)
    storage.write_text(f"{bucket}/kept/file", "old")
    large = tmp_path / "large"
    large.write_bytes(bytes(9 << 20))  # in parts
    writes: dict[str, Callable[[], object]] = {
        "small": lambda: storage.write_text(f"{bucket}/kept/file", "new"),
        "large": lambda: storage.copy(str(large), f"{bucket}/kept/large"),
        "conditional": lambda: storage.write_if(f"{bucket}/kept/head", b"1", tag=None),
        "copy": lambda: storage.copy(f"{bucket}/kept/file", f"{bucket}/kept/copy"),
        "removal": lambda: storage.remove(f"{bucket}/kept/file"),
        "removal of all": lambda: storage.remove_tree(f"{bucket}/kept"),
    }
    proxy.choose = lambda method, path: "html" if method in ("PUT", "POST", "DELETE") else ""
    for name, write in writes.items():
        with pytest.raises(OSError, match=r"not from S3|s3://") as raised:
            write()
        assert not isinstance(raised.value, FileNotFoundError), name
    proxy.choose = None
    assert storage.list_dir(f"{bucket}/kept") == ["file"]
    assert storage.read_text(f"{bucket}/kept/file") == "old"
    # Once is passed over.
    pages = iter(["html"])
    proxy.choose = lambda method, path: next(pages, "") if method == "PUT" else ""
    storage.write_text(f"{bucket}/kept/file", "new")
    assert storage.read_text(f"{bucket}/kept/file") == "new"
    proxy.choose = None


@pytest.mark.parametrize("fault", ["403", "expired"])
def test_a_write_that_is_refused_says_so_and_is_no_bug(
    bucket: str, proxy: FaultyProxy, fault: str
) -> None:
    proxy.choose = lambda method, path: fault if method in ("PUT", "POST", "DELETE") else ""
    storage_calls = (
        lambda: storage.write_text(f"{bucket}/new", "text"),
        lambda: storage.copy(f"{bucket}/record", f"{bucket}/copy"),
        lambda: storage.write_if(f"{bucket}/head", b"1", tag=None),
        lambda: storage.remove_tree(f"{bucket}/there"),
        lambda: storage.remove(f"{bucket}/record"),
    )
    for call in storage_calls:
        with pytest.raises(PermissionError, match=r"AccessDenied|ExpiredToken"):
            call()
    proxy.choose = None
