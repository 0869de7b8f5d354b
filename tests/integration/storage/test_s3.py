"""Storage on an S3 server, and what uses it: ingestion, TFX's file IO, the read cache."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ingesting
import pytest
import tensorflow as tf
from ingesting import ingest_directory
from records import flip_byte_in_record, make_dataset
from s3_server import s3_server

from yt8m.components import storage
from yt8m.components.example_gen.config import DataConfig
from yt8m.components.example_gen.sources import resolve_sources, source_digest
from yt8m.components.storage import s3
from yt8m.components.storage.cache import CacheDirectory, ReadCache
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.errors import DataError, UserError


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    with s3_server() as uri:
        yield uri


def test_a_file_is_written_read_and_removed(place: str) -> None:
    storage.write_text(f"{place}/a/b.json", "grün")
    assert storage.read_text(f"{place}/a/b.json") == "grün"
    assert storage.stat(f"{place}/a/b.json").size == len("grün".encode())
    assert storage.is_dir(f"{place}/a")
    storage.remove(f"{place}/a/b.json")
    assert not storage.exists(f"{place}/a")


def test_a_failing_writer_leaves_what_was_there(place: str) -> None:
    storage.write_text(f"{place}/a", "old")

    def fail_half_way() -> None:
        with storage.atomic_write(f"{place}/a") as file:
            file.write(b"half of the new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert storage.read_text(f"{place}/a") == "old"


def test_a_tree_is_listed_copied_renamed_and_removed(place: str, tmp_path: Path) -> None:
    for name in ("saved_model.pb", "variables/data", "assets.extra/record.json"):
        storage.write_text(str(tmp_path / "model" / name), name)
    storage.copy_tree(str(tmp_path / "model"), f"{place}/staging", last="saved_model.pb")
    assert storage.list_dir(f"{place}/staging") == ["assets.extra", "saved_model.pb", "variables"]
    storage.rename(f"{place}/staging", f"{place}/7", last="saved_model.pb")
    assert not storage.exists(f"{place}/staging")
    assert list(storage.walk_files(f"{place}/7")) == [
        "assets.extra/record.json",
        "saved_model.pb",
        "variables/data",
    ]
    storage.write_text(f"{place}/70/saved_model.pb", "another version, whose name begins alike")
    storage.remove_tree(f"{place}/7")
    assert storage.list_dir(place) == ["70"]


def test_the_file_that_says_complete_is_written_last(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "saved_model.pb", "z"):
        storage.write_text(f"{place}/staging/{name}", name)
    copied: list[str] = []
    original = s3.S3Backend.copy

    def noting(self: s3.S3Backend, source: str, target: str) -> None:
        copied.append(target.rpartition("/")[2])
        original(self, source, target)

    monkeypatch.setattr(s3.S3Backend, "copy", noting)
    storage.rename(f"{place}/staging", f"{place}/1", last="saved_model.pb")
    assert copied == ["a", "z", "saved_model.pb"]


def test_a_glob_finds_files_and_directories_and_its_star_stays_in_one(place: str) -> None:
    for name in ("train1", "train0", "train/3", "eval0", "1/model", "12/model"):
        storage.write_text(f"{place}/{name}", "x")
    assert storage.glob(f"{place}/train*") == [
        f"{place}/{n}" for n in ("train", "train0", "train1")
    ]
    assert storage.glob(f"{place}/*/model") == [f"{place}/1/model", f"{place}/12/model"]
    assert storage.glob(f"{place}/[0-9]*") == [f"{place}/1", f"{place}/12"]
    found = storage.find(f"{place}/train*")
    assert [stat.is_dir for stat in found.values()] == [True, False, False]


def test_what_is_missing_raises_file_not_found(place: str) -> None:
    for call in (storage.stat, storage.open_file, storage.list_dir, storage.remove):
        with pytest.raises(FileNotFoundError):
            call(f"{place}/missing")
    with pytest.raises(FileNotFoundError):
        storage.read_bytes("s3://no-such-bucket/x")


def test_no_credentials_is_the_users_mistake_and_says_what_to_set(
    bucket: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    s3.client.cache_clear()
    with pytest.raises(UserError, match="AWS_ACCESS_KEY_ID"):
        storage.exists(f"{bucket}/x")
    s3.client.cache_clear()


def _uploaded(tmp_path: Path, place: str) -> Path:
    data = make_dataset(tmp_path / "data", test=4)
    storage.copy_tree(str(data), place)
    return data


def test_remote_shards_are_verified_referenced_and_sampled(place: str, tmp_path: Path) -> None:
    data = _uploaded(tmp_path, place)
    local = ingest_directory(data, tmp_path / "local")
    remote = ingest_directory(place, tmp_path / "remote", ingest="reference")  # type: ignore[arg-type]
    assert remote.manifest.digest == local.manifest.digest
    assert all(shard.uri.startswith(place) for shard in remote.manifest.shards)
    sampled = list((tmp_path / "remote" / "sample" / "Split-train").iterdir())
    assert len(sampled) == 2
    assert not any(path.is_symlink() for path in sampled)


@pytest.mark.parametrize("then", ["replaced", "gone"])
def test_a_remote_shard_that_changes_after_its_verification_stops_the_run(
    place: str, tmp_path: Path, then: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _uploaded(tmp_path, place)
    uri, verify = f"{place}/train0000.tfrecord", ingesting.verify_shards

    def verify_and_change(*args: Any, **kwargs: Any) -> Any:
        reports = verify(*args, **kwargs)
        if then == "gone":
            storage.remove(uri)
        else:
            storage.write_bytes(uri, storage.read_bytes(f"{place}/train0001.tfrecord"))
        return reports

    monkeypatch.setattr(ingesting, "verify_shards", verify_and_change)
    with pytest.raises(DataError, match=r"train0000\.tfrecord changed while it was ingested"):
        ingest_directory(place, tmp_path / "out", ingest="reference")  # type: ignore[arg-type]


def test_a_remote_shard_with_a_bad_record_is_named_or_quarantined(
    place: str, tmp_path: Path
) -> None:
    data = make_dataset(tmp_path / "data")
    flip_byte_in_record(data / "train0001.tfrecord", 4)
    storage.copy_tree(str(data), place)
    values: dict[str, Any] = {"ingest": "reference"}
    with pytest.raises(DataError, match=rf"{place}/train0001\.tfrecord: record 4"):
        ingest_directory(place, tmp_path / "a", **values)  # type: ignore[arg-type]
    values |= {"bad_input": "quarantine", "max_quarantined": 0.5}
    done = ingest_directory(place, tmp_path / "b", **values)  # type: ignore[arg-type]
    assert done.manifest.examples("train") == 23


def test_the_source_digest_follows_the_objects(place: str, tmp_path: Path) -> None:
    _uploaded(tmp_path, place)
    config = from_dict(DataConfig, {"root": place, "ingest": "reference"})
    first = source_digest(config)
    assert source_digest(config) == first
    storage.write_bytes(f"{place}/train0009.tfrecord", b"new")
    assert source_digest(config) != first
    assert len(resolve_sources(config).split("train")) == 3


def test_tf_data_reads_remote_shards_through_the_cache(place: str, tmp_path: Path) -> None:
    _uploaded(tmp_path, place)
    done = ingest_directory(place, tmp_path / "out", ingest="reference")  # type: ignore[arg-type]
    cache = ReadCache(CacheDirectory(tmp_path / "cache"))
    paths = [cache.path(shard.uri) for shard in done.manifest.split("train")]
    assert sum(1 for _ in tf.data.TFRecordDataset(paths)) == 24
    before = {path: Path(path).stat().st_ino for path in paths}
    assert [cache.path(shard.uri) for shard in done.manifest.split("train")] == paths
    assert {path: Path(path).stat().st_ino for path in paths} == before
    uri = done.manifest.split("train")[0].uri
    storage.write_bytes(uri, storage.read_bytes(uri)[:-20])
    assert cache.path(uri) != paths[0]


def test_the_cache_stays_bounded_and_drops_what_was_used_longest_ago(
    place: str, tmp_path: Path
) -> None:
    for name in "abc":
        storage.write_bytes(f"{place}/{name}", name.encode() * 1000)
    cache = ReadCache(CacheDirectory(tmp_path / "cache", max_bytes=2000))
    first, second = cache.path(f"{place}/a"), cache.path(f"{place}/b")
    os.utime(first, (2000, 2000))
    os.utime(second, (1000, 1000))
    third = cache.path(f"{place}/c")
    assert sorted(map(str, (tmp_path / "cache").glob("[!.]*"))) == sorted([first, third])


def test_local_paths_need_no_copy(tmp_path: Path) -> None:
    cache = ReadCache(CacheDirectory(tmp_path / "cache"))
    assert cache.path("/data/train0") == "/data/train0"
    assert not (tmp_path / "cache").exists()


def test_tfx_file_io_knows_s3(place: str) -> None:
    from tfx.dsl.io import fileio

    import yt8m.components.storage.tfx_plugin  # noqa: F401

    fileio.makedirs(f"{place}/dir")
    with fileio.open(f"{place}/dir/text", "w") as file:
        file.write("grün")
    with fileio.open(f"{place}/dir/text") as file:
        assert file.read() == "grün"
    with fileio.open(f"{place}/dir/sub/bytes", "wb") as file:
        file.write(b"\x00\xff")
    assert file.closed
    assert fileio.exists(f"{place}/dir/text")
    assert fileio.isdir(f"{place}/dir")
    assert fileio.listdir(f"{place}/dir") == ["sub", "text"]
    assert next(iter(fileio.walk(f"{place}/dir"))) == (f"{place}/dir", ["sub"], ["text"])
    fileio.copy(f"{place}/dir/text", f"{place}/copy")
    with pytest.raises(OSError, match="exists already"):
        fileio.copy(f"{place}/dir/text", f"{place}/copy")
    fileio.rename(f"{place}/copy", f"{place}/moved")
    assert fileio.glob(f"{place}/m*") == [f"{place}/moved"]
    fileio.rmtree(f"{place}/dir")
    assert not fileio.exists(f"{place}/dir")
    with pytest.raises(fileio.NotFoundError):
        fileio.rmtree(f"{place}/dir")
    with pytest.raises(fileio.NotFoundError):
        fileio.open(f"{place}/dir/text")
