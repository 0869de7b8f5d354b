"""gs:// against a server: storage, what reads through it, and a network that fails."""

from __future__ import annotations

import dataclasses
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from faulty_proxy import FaultyProxy, faulty_proxy
from gcs_server import gcs_server, reached_at
from ingesting import ingest_directory
from records import flip_byte_in_record, make_dataset
from sources import assert_same, batches, make_source

from yt8m.components import storage
from yt8m.components.example_gen.config import DataConfig
from yt8m.components.example_gen.sources import resolve_sources, source_digest
from yt8m.components.inputs.config import BatchSlice
from yt8m.components.inputs.dataset import dataset_for_scoring, dataset_for_training
from yt8m.components.inputs.faults import explaining_faults
from yt8m.components.storage import gcs
from yt8m.components.storage.errors import StorageError
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.errors import DataError, UserError
from yt8m.schemas.features import Level

pytestmark = pytest.mark.needs("fake-gcs-server")
FAULTS = ("cut", "reset", "500", "slow-down")


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, FaultyProxy]]:
    """The bucket, and a proxy before its server that passes on what it is not told to damage."""
    with (
        gcs_server() as uri,
        faulty_proxy(os.environ["STORAGE_EMULATOR_HOST"]) as proxy,
        reached_at(proxy.url),
    ):
        yield uri, proxy


def test_files_are_written_listed_found_copied_and_removed(place: str, tmp_path: Path) -> None:
    for name in ("saved_model.pb", "variables/data", "assets.extra/record.json"):
        storage.write_text(str(tmp_path / "model" / name), f"grün {name}")
    storage.copy_tree(str(tmp_path / "model"), f"{place}/a[1]", last="saved_model.pb")
    assert storage.list_dir(f"{place}/a[1]") == ["assets.extra", "saved_model.pb", "variables"]
    assert storage.read_text(f"{place}/a[1]/variables/data") == "grün variables/data"
    assert storage.stat(f"{place}/a[1]/variables/data").size == len("grün variables/data") + 1
    assert storage.glob(storage.escape(f"{place}/a[1]") + "/s*") == [f"{place}/a[1]/saved_model.pb"]
    assert [stat.is_dir for stat in storage.find(f"{place}/a*").values()] == [True]
    storage.rename(f"{place}/a[1]", f"{place}/7", last="saved_model.pb")
    storage.write_text(f"{place}/70/saved_model.pb", "another, whose name begins alike")
    assert len(list(storage.walk_files(f"{place}/7"))) == 3
    storage.remove_tree(f"{place}/7")
    assert storage.list_dir(place) == ["70"]
    storage.remove(f"{place}/70/saved_model.pb")
    assert not storage.exists(place)


def test_what_is_missing_raises_file_not_found(place: str) -> None:
    for call in (storage.stat, storage.open_file, storage.list_dir, storage.remove):
        with pytest.raises(FileNotFoundError):
            call(f"{place}/missing")
    config = from_dict(DataConfig, {"root": "gs://no-such-bucket", "ingest": "reference"})
    with pytest.raises(UserError, match="gs://no-such-bucket/train"):
        resolve_sources(config)


def test_of_writers_that_read_the_same_state_one_is_done(place: str) -> None:
    uri = f"{place}/.head"
    assert storage.read_tagged(uri) is None
    done: list[bool] = []

    def compete(tag: str | None) -> None:
        writers = [
            threading.Thread(
                target=lambda n=n: done.append(storage.write_if(uri, b"%d" % n, tag=tag))
            )
            for n in range(8)
        ]
        for one in writers:
            one.start()
        for one in writers:
            one.join()

    compete(None)
    found = storage.read_tagged(uri)
    assert found is not None
    compete(found[1])
    assert done.count(True) == 2
    assert not storage.write_if(f"{place}/absent", b"x", tag=found[1])


def test_records_are_verified_referenced_quarantined_and_named(place: str, tmp_path: Path) -> None:
    data = make_dataset(tmp_path / "data")
    storage.copy_tree(str(data), place)
    local = ingest_directory(data, tmp_path / "local")
    remote = ingest_directory(place, tmp_path / "remote", ingest="reference")
    assert remote.manifest.digest == local.manifest.digest
    digest = source_digest(from_dict(DataConfig, {"root": place, "ingest": "reference"}))
    flip_byte_in_record(data / "train0001.tfrecord", 4)
    storage.copy(str(data / "train0001.tfrecord"), f"{place}/train0001.tfrecord")
    assert digest != source_digest(from_dict(DataConfig, {"root": place, "ingest": "reference"}))
    with pytest.raises(DataError, match=rf"{place}/train0001\.tfrecord: record 4"):
        ingest_directory(place, tmp_path / "bad", ingest="reference")


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_passed_over_and_the_bytes_are_right(
    place: str, proxy: FaultyProxy, fault: str
) -> None:
    content = os.urandom(5 << 20)
    storage.write_bytes(f"{place}/file", content)
    proxy.faults.extend([fault] * 2)
    assert storage.read_bytes(f"{place}/file") == content
    assert proxy.done == {fault: 2, "passed": 1}  # the rest of it in one request


def test_ingest_and_training_through_faults_lose_and_blame_no_record(
    place: str, proxy: FaultyProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()
    local = make_source(tmp_path / "data", Level.VIDEO)
    for shard in local.shards:
        storage.copy(shard.uri, f"{place}/{Path(shard.uri).name}")
    remote = dataclasses.replace(
        local,
        shards=tuple(
            dataclasses.replace(shard, uri=f"{place}/{Path(shard.uri).name}")
            for shard in local.shards
        ),
    )
    proxy.faults.extend(FAULTS)
    taken = BatchSlice(global_batch_size=8)
    found = batches(dataset_for_training(remote, taken), 6)
    assert_same(found, batches(dataset_for_training(local, taken), 6))
    assert sum(proxy.done[fault] for fault in FAULTS) == 4

    for path in (tmp_path / "cache").rglob("*.tfrecord"):
        path.unlink()
    monkeypatch.setattr(gcs, "_ATTEMPTS", 2)
    proxy.always = "reset"
    with pytest.raises(StorageError, match="the storage or the network failed"):  # noqa: SIM117
        with explaining_faults(remote):
            batches(dataset_for_scoring(remote, batch_size=8), 99)


def test_a_network_that_fails_is_no_empty_directory(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TensorFlow's own file IO says that the directory is not there."""
    monkeypatch.setattr(gcs, "_ATTEMPTS", 1)
    with reached_at("http://127.0.0.1:9"):
        for call in (storage.list_dir, storage.stat, storage.find, storage.exists):
            with pytest.raises(OSError, match="127") as caught:
                call(f"{place}/x")
            assert not isinstance(caught.value, FileNotFoundError)


def test_the_client_sends_no_requests_of_its_own(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a bucket's metadata it starts threads under a lock that a reader may wait for."""
    from google.cloud.storage._bucket_metadata_cache import BucketMetadataCache

    buckets: list[str] = []
    monkeypatch.setattr(
        BucketMetadataCache, "get_or_queue_fetch", lambda _self, name: buckets.append(name)
    )
    storage.write_text(f"{place}/a", "x")
    assert storage.read_text(f"{place}/a") == "x"
    assert storage.list_dir(place) == ["a"]
    assert buckets == []


def test_tfx_file_io_goes_the_same_way(place: str) -> None:
    from tfx.dsl.io import fileio

    import yt8m.components.storage.tfx_plugin  # noqa: F401

    with fileio.open(f"{place}/dir/text", "w") as file:
        file.write("grün")
    assert storage.read_text(f"{place}/dir/text") == "grün"
    assert fileio.listdir(f"{place}/dir") == ["text"]
    with pytest.raises(fileio.NotFoundError):
        fileio.open(f"{place}/dir/missing")
