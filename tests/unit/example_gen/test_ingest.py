"""Links, copies, references, samples, and shards that were verified before."""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import shutil
from pathlib import Path
from typing import Any

import ingesting
import pytest
from ingesting import ingest_directory
from records import (
    compress,
    edit_record,
    flip_byte_in_record,
    make_dataset,
    read_all,
    set_feature,
)

from yt8m.components.artifacts.manifest import Manifest
from yt8m.components.artifacts.record_index import parse_index
from yt8m.components.example_gen import verification_cache
from yt8m.components.example_gen import verify as verify_module
from yt8m.components.example_gen.config import DataConfig
from yt8m.components.records import shard_reader
from yt8m.components.records.decode import decode_record
from yt8m.components.records.tfrecord import read_records
from yt8m.schemas.errors import DataError
from yt8m.schemas.features import Level


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(tmp_path_factory.mktemp("generated") / "video", test=4)


def _fingerprint(root: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def _count_opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    opened: list[str] = []
    original = shard_reader.storage.open_file

    def counting(uri: str) -> Any:
        opened.append(uri)
        return original(uri)

    monkeypatch.setattr(shard_reader.storage, "open_file", counting)
    return opened


def test_links_are_to_files_and_hold_no_byte(data: Path, tmp_path: Path) -> None:
    done = ingest_directory(data, tmp_path)
    split = tmp_path / "examples" / "Split-train"
    assert not split.is_symlink()
    assert all(path.is_symlink() and path.is_file() for path in split.iterdir())
    assert [path.resolve() for path in sorted(split.iterdir())] == sorted(data.glob("train*"))
    assert done.manifest.examples("train") == 24


def test_the_manifest_on_disk_is_the_one_returned_and_tells_the_truth(
    data: Path, tmp_path: Path
) -> None:
    done = ingest_directory(data, tmp_path)
    stored = Manifest.from_json((tmp_path / "examples" / "manifest.json").read_text())
    assert stored == done.manifest
    for shard in stored.shards:
        assert shard.records == len(read_all(Path(shard.uri)))
        assert shard.bytes == Path(shard.uri).stat().st_size
    assert [shard.labels for shard in stored.split("train")] == [12, 12]


def test_the_index_beside_the_manifest_says_where_each_record_is(tmp_path: Path) -> None:
    data = make_dataset(tmp_path / "data", level="segment", train=24, shards=3)
    compress(data / "train0001.tfrecord")
    flip_byte_in_record(data / "train0002.tfrecord", 4)
    values = {"level": "segment", "bad_input": "quarantine", "max_quarantined": 0.5}
    for turn in ("read", "remembered"):
        out, cache = tmp_path / turn, tmp_path / "cache"
        manifest = ingest_directory(data, out, cache=cache, **values).manifest
        index = parse_index((out / "examples" / "record_index.npz").read_bytes())
        assert index.keys() == {shard.uri for shard in manifest.shards}
        for shard in manifest.shards:
            found = index[shard.uri]
            with shard_reader.open_shard(shard.uri) as (file, _):
                records = [record for _, record in read_records(file)]
            assert found.lengths.tolist() == [len(record) for record in records]
            if not shard.quarantined:
                segments = [decode_record(record).num_segments for record in records]
                assert found.segments is not None
                assert found.segments.tolist() == segments


def test_references_leave_the_artifact_without_data_and_the_sample_with(
    data: Path, tmp_path: Path
) -> None:
    done = ingest_directory(data, tmp_path, ingest="reference")
    assert list((tmp_path / "examples" / "Split-train").iterdir()) == []
    assert {shard.uri for shard in done.manifest.split("train")} == set(
        map(str, data.glob("train*"))
    )
    assert len(list((tmp_path / "sample" / "Split-train").iterdir())) == 2


def test_copies_are_equal_and_independent(data: Path, tmp_path: Path) -> None:
    source = Path(shutil.copytree(data, tmp_path / "data"))
    done = ingest_directory(source, tmp_path, ingest="copy")
    shutil.rmtree(source)
    for shard in done.manifest.split("train"):
        assert not Path(shard.uri).is_symlink()
        assert len(read_all(Path(shard.uri))) == shard.records


@pytest.mark.parametrize("mode", ["link", "reference", "copy"])
def test_all_ways_in_give_the_same_digest_and_leave_the_source_alone(
    data: Path, tmp_path: Path, mode: str
) -> None:
    before = _fingerprint(data)
    reference = ingest_directory(data, tmp_path / "first")
    done = ingest_directory(data, tmp_path / "second", ingest=mode)
    assert done.manifest.digest == reference.manifest.digest
    assert _fingerprint(data) == before


@pytest.mark.parametrize("verify", ["full", "checksum", "sample", "off"])
def test_the_digest_is_of_the_records_whatever_is_verified(
    data: Path, tmp_path: Path, verify: str
) -> None:
    def digests(place: str) -> dict[str, str]:
        done = ingest_directory(changed, tmp_path / place, verify=verify)
        return {Path(shard.uri).name: shard.digest for shard in done.manifest.shards}

    changed = Path(shutil.copytree(data, tmp_path / "data"))
    before = digests("before")
    assert len(set(before.values())) == len(before) == 6
    edit_record(changed / "train0001.tfrecord", 3, set_feature("labels", [7]))
    after = digests("after")
    assert [name for name in before if before[name] != after[name]] == ["train0001.tfrecord"]


def test_a_gzipped_shard_has_the_records_and_the_digest_of_the_plain_one(
    data: Path, tmp_path: Path
) -> None:
    packed = Path(shutil.copytree(data, tmp_path / "data"))
    for shard in packed.glob("train*"):
        shard.write_bytes(gzip.compress(shard.read_bytes()))
    plain = ingest_directory(data, tmp_path / "plain")
    done = ingest_directory(packed, tmp_path / "packed")
    assert done.manifest.digest == plain.manifest.digest
    assert {shard.compression for shard in done.manifest.split("train")} == {"GZIP"}
    links = (tmp_path / "packed" / "examples" / "Split-train").iterdir()
    assert all(link.name.endswith(".gz") for link in links)


def test_equal_names_in_two_spans_are_told_apart(data: Path, tmp_path: Path) -> None:
    for span in (1, 2):
        for shard in data.glob("[tv]*.tfrecord"):
            target = tmp_path / "data" / f"span-{span}" / shard.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(shard, target)
    splits = {"train": ["span-{SPAN}/train*"], "eval": ["span-{SPAN}/validate*"]}
    done = ingest_directory(tmp_path / "data", tmp_path, splits=splits, span="last:2")
    assert done.manifest.examples("train") == 48
    assert {shard.span for shard in done.manifest.shards} == {1, 2}
    assert len(list((tmp_path / "examples" / "Split-train").iterdir())) == 4


def test_the_sample_is_bounded_and_a_shard_above_the_bound_is_cut(tmp_path: Path) -> None:
    data = make_dataset(tmp_path / "data", train=600, eval=60, shards=2)
    done = ingest_directory(data, tmp_path, sample_mb=1)
    (sampled,) = (tmp_path / "sample" / "Split-train").iterdir()
    whole = done.manifest.split("train")[0].bytes
    assert whole > 1 << 20
    assert (1 << 20) <= sampled.stat().st_size < 1.3 * (1 << 20)
    assert 0 < len(read_all(sampled)) < 300
    assert len(list((tmp_path / "sample" / "Split-eval").iterdir())) == 2


@pytest.mark.parametrize(("level", "megabytes"), [(Level.VIDEO, 64), (Level.FRAME, 256)])
def test_a_sample_is_bounded_by_level_where_nothing_is_said(level: Level, megabytes: int) -> None:
    assert DataConfig(level=level).sample_bytes == megabytes << 20
    assert DataConfig(level=level, sample_mb=3).sample_bytes == 3 << 20
    assert DataConfig(level=level, sample_mb=0).sample_bytes is None


def test_without_a_bound_the_sample_has_every_record(data: Path, tmp_path: Path) -> None:
    """0 bytes would be the first record, and 64 MB whatever there is of so few."""
    packed = Path(shutil.copytree(data, tmp_path / "data"))
    compress(packed / "train0000.tfrecord")
    ingest_directory(packed, tmp_path, sample_mb=0)
    for split in ("train", "eval"):
        links = sorted((tmp_path / "sample" / f"Split-{split}").iterdir())
        sources = sorted(packed.glob({"train": "train*", "eval": "validate*"}[split]))
        assert sorted(link.resolve() for link in links) == sources


def test_a_rolling_window_reads_only_its_new_span(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def add(span: int) -> None:
        for shard in data.glob("[tv]*.tfrecord"):
            target = tmp_path / "data" / f"span-{span}" / shard.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(shard, target)

    values: dict[str, Any] = {
        "splits": {"train": ["span-{SPAN}/train*"], "eval": ["span-{SPAN}/validate*"]},
        "span": "last:3",
        "cache": tmp_path / "verified",
    }
    add(1)
    add(2)
    first = ingest_directory(tmp_path / "data", tmp_path / "a", **values)
    add(3)
    opened = _count_opened(monkeypatch)
    second = ingest_directory(tmp_path / "data", tmp_path / "b", **values)
    assert first.accounts.remembered == 0
    assert second.accounts.remembered == 8
    assert second.accounts.kept == 108
    assert {Path(uri).parent.name for uri in opened} == {"span-3"}
    fresh = ingest_directory(tmp_path / "data", tmp_path / "c", **{**values, "cache": None})
    assert fresh.manifest == second.manifest


def test_a_changed_shard_another_policy_and_a_damaged_memory_are_read_again(
    data: Path, tmp_path: Path
) -> None:
    source = Path(shutil.copytree(data, tmp_path / "data"))
    cache = tmp_path / "verified"
    total = len(list(source.glob("*.tfrecord")))

    def remembered(number: int, **values: Any) -> int:
        done = ingest_directory(source, tmp_path / str(number), cache=cache, **values)
        return done.accounts.remembered

    assert remembered(0) == 0
    assert remembered(1) == total
    os.utime(source / "train0000.tfrecord", (1, 1))
    assert remembered(2) == total - 1
    assert remembered(3, verify="checksum") == 0
    memories = sorted(cache.rglob("*.npz"))
    for memory in memories:
        memory.write_bytes(b"damaged")
    memories[0].write_bytes(b"")  # as after a power cut
    assert remembered(4) == 0
    assert remembered(5) == total


def test_a_leak_into_a_remembered_shard_is_still_found(data: Path, tmp_path: Path) -> None:
    source = Path(shutil.copytree(data, tmp_path / "data"))
    cache = tmp_path / "verified"
    ingest_directory(source, tmp_path / "0", cache=cache)
    shutil.copy(source / "train0001.tfrecord", source / "validate0009.tfrecord")
    with pytest.raises(Exception, match="is in eval too"):
        ingest_directory(source, tmp_path / "1", cache=cache)


def test_a_memory_that_cannot_be_written_costs_time_and_nothing_else(
    data: Path, tmp_path: Path
) -> None:
    (tmp_path / "taken").write_text("a file where the directory should be")
    done = ingest_directory(data, tmp_path, cache=tmp_path / "taken" / "verified")
    assert done.manifest.examples("train") == 24


def test_a_memory_on_a_read_only_disk_is_used(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest_directory(data, tmp_path / "0", cache=tmp_path / "verified")

    def read_only(path: str) -> None:
        raise OSError(errno.EROFS, "Read-only file system", path)

    monkeypatch.setattr(verification_cache.storage, "touch", read_only)
    done = ingest_directory(data, tmp_path / "1", cache=tmp_path / "verified")
    assert done.accounts.remembered == len(list(data.glob("*.tfrecord")))


def test_what_no_run_has_used_for_long_is_forgotten(data: Path, tmp_path: Path) -> None:
    cache = tmp_path / "verified"
    ingest_directory(data, tmp_path / "0", cache=cache)
    kept = set(cache.rglob("*.npz"))
    for memory in kept:
        os.utime(memory, (1, 1))
    stale = cache / "aa" / "stale.npz"
    stale.parent.mkdir(exist_ok=True)
    stale.write_bytes(b"")
    os.utime(stale, (1, 1))
    done = ingest_directory(data, tmp_path / "1", cache=cache)
    assert done.accounts.remembered == len(kept)
    assert set(cache.rglob("*.npz")) == kept


@pytest.mark.parametrize("policy", ["link", "copy", "reference", "quarantine"])
def test_a_shard_that_changes_after_its_verification_stops_the_run(
    data: Path, tmp_path: Path, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = shutil.copytree(data, tmp_path / "data")
    shard = place / "train0000.tfrecord"
    if policy == "quarantine":
        flip_byte_in_record(shard, 1)
        values: dict[str, Any] = {"bad_input": "quarantine", "max_quarantined": 0.5}
    else:
        values = {"ingest": policy}
    other = (place / "train0001.tfrecord").read_bytes()
    verify = ingesting.verify_shards

    def verify_and_change(*args: Any, **kwargs: Any) -> Any:
        reports = verify(*args, **kwargs)
        shard.write_bytes(other)  # sound records, and no longer those that were verified
        return reports

    monkeypatch.setattr(ingesting, "verify_shards", verify_and_change)
    with pytest.raises(DataError, match=r"train0000\.tfrecord changed while it was ingested"):
        ingest_directory(place, tmp_path, **values)
    monkeypatch.setattr(ingesting, "verify_shards", verify)
    done = ingest_directory(place, tmp_path / "again", ingest="copy")
    assert done.manifest.examples("train") > 0


def test_a_shard_that_changes_before_its_verification_stops_the_run_and_is_not_remembered(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = shutil.copytree(data, tmp_path / "data")
    shard = place / "train0000.tfrecord"
    verify = ingesting.verify_shards

    def change_and_verify(*args: Any, **kwargs: Any) -> Any:
        shard.write_bytes((place / "train0001.tfrecord").read_bytes())
        return verify(*args, **kwargs)

    monkeypatch.setattr(ingesting, "verify_shards", change_and_verify)
    with pytest.raises(DataError, match=r"train0000\.tfrecord changed while it was ingested"):
        ingest_directory(place, tmp_path, cache=tmp_path / "verified")
    assert len(list((tmp_path / "verified").rglob("*.npz"))) < len(list(data.glob("*.tfrecord")))


@pytest.mark.parametrize("then", ["replaced", "gone"])
def test_a_leaking_shard_that_changes_before_it_is_looked_at_again_stops_the_run(
    data: Path, tmp_path: Path, then: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = shutil.copytree(data, tmp_path / "data")
    shard = place / "train0000.tfrecord"
    sound = shard.read_bytes()
    shutil.copy(place / "validate0000.tfrecord", shard)
    verify = ingesting.verify_shards

    def verify_and_change(*args: Any, **kwargs: Any) -> Any:
        reports = verify(*args, **kwargs)
        if then == "gone":
            shard.unlink()
        else:
            shard.write_bytes(sound)
        return reports

    monkeypatch.setattr(ingesting, "verify_shards", verify_and_change)
    with pytest.raises(DataError, match=r"train0000\.tfrecord changed while it was ingested"):
        ingest_directory(place, tmp_path, bad_input="quarantine", max_quarantined=0.9)


def test_of_a_shard_that_nobody_may_read_all_records_are_lost(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_shard = verify_module.open_shard

    def refused(uri: str) -> Any:
        if "train0000" in uri:
            raise PermissionError(errno.EACCES, "Permission denied", uri)
        return open_shard(uri)

    monkeypatch.setattr(verify_module, "open_shard", refused)
    with pytest.raises(DataError, match=r"about 12 of 40 records(.|\n)*about 12 records are lost"):
        ingest_directory(data, tmp_path, bad_input="quarantine", max_quarantined=0.1)
