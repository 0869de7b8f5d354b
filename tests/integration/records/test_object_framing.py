"""What is fetched from an object store to learn where records begin, counted by the server."""

from __future__ import annotations

import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memory_store import memory_store
from object_server import ObjectServer, object_server
from records import make_dataset

from yt8m.components import storage
from yt8m.components.artifacts.manifest import Manifest
from yt8m.components.artifacts.record_index import ShardIndex, pack_index
from yt8m.components.example_gen.config import DataConfig, Ingest
from yt8m.components.example_gen.ingest import ingest, record_index
from yt8m.components.example_gen.materialize import materialize_shards
from yt8m.components.example_gen.sources import resolve_sources
from yt8m.components.example_gen.verify import ShardReport, count_shards, verify_shards
from yt8m.components.inputs.config import BatchSlice, InputConfig, Source, source_of
from yt8m.components.inputs.dataset import create_step_reader
from yt8m.components.inputs.record_index import FRAMING_BYTES, index_of
from yt8m.components.records.shard_reader import record_framing
from yt8m.components.records.shared_index import FOLDER, SharedIndex
from yt8m.components.records.tfrecord import frame
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.features import FeatureConfig

FEATURES = FeatureConfig(num_classes=1000)
LARGE, SMALL = 100 << 10, 4700  # a video's frames, and a video


@pytest.fixture
def server() -> Iterator[ObjectServer]:
    with object_server() as server:
        yield server


def shard_of(sizes: list[int], *, seed: int = 0) -> tuple[str, int]:
    """An object with records of these sizes, and its own."""
    random = np.random.default_rng(seed)
    content = b"".join(frame(random.bytes(size)) for size in sizes)
    storage.write_bytes("mem://bucket/shard", content)
    return "s3://bucket/shard", len(content)


def placed(folder: Path) -> int:
    """The shards below `folder` at s3://bucket/data, without a request; their bytes."""
    for path in folder.glob("*.tfrecord"):
        storage.copy(str(path), f"mem://bucket/data/{path.name}")
    return sum(path.stat().st_size for path in folder.glob("*.tfrecord"))


def config_of(**values: str | int) -> DataConfig:
    return from_dict(DataConfig, {"root": "s3://bucket/data", "ingest": "reference", **values})


def test_large_records_are_passed_over_with_a_request_each(server: ObjectServer) -> None:
    sizes = [LARGE + number for number in range(40)]
    uri, total = shard_of(sizes)
    assert record_framing(uri).lengths == sizes
    assert server.served < 0.05 * total
    assert server.done["passed"] <= len(sizes) + 1  # the first header, which tells the packing


def test_small_records_are_fetched_once(server: ObjectServer) -> None:
    sizes = [SMALL + number for number in range(4000)]  # more than two blocks
    uri, total = shard_of(sizes)
    assert record_framing(uri).lengths == sizes
    assert server.served <= total
    assert server.done["passed"] < 10


def test_the_first_records_are_kept_and_not_fetched_again(server: ObjectServer) -> None:
    sizes = [LARGE, 10, LARGE, 0, SMALL, LARGE]
    uri, total = shard_of(sizes)
    content = storage.read_bytes(uri)
    server.served = 0
    framing = record_framing(uri, keep=3)
    assert framing.head == content[: sum(sizes[:3]) + 3 * 16]
    assert framing.lengths == sizes
    assert server.served <= total


@pytest.mark.parametrize("level", ["video", "frame"])
def test_no_policy_fetches_more_than_the_one_that_reads_all(
    level: str, server: ObjectServer, tmp_path: Path
) -> None:
    total = placed(make_dataset(tmp_path / "data", level=level, train=300))
    served, lengths = {}, {}
    for policy in ("full", "checksum", "sample", "off"):
        config = config_of(level=level, verify=policy)
        server.served = 0
        reports = verify_shards(resolve_sources(config).shards, config, FEATURES)
        served[policy] = server.served
        lengths[policy] = [report.lengths for report in reports]
        assert not any(report.problems for report in reports)
        assert all(map(np.array_equal, lengths[policy], lengths["full"]))
    assert served["full"] == total
    assert max(served.values()) <= total


def test_frames_are_passed_over_by_policies_that_read_no_contents(
    server: ObjectServer, tmp_path: Path
) -> None:
    frames = {"min_frames": 60, "max_frames": 60}  # 69 KB
    total = placed(make_dataset(tmp_path / "data", level="frame", train=300, shards=1, **frames))
    sources = resolve_sources(config_of(level="frame"))
    sampled = sum(shard.size * min(1, 256 / 300) for shard in sources.split("train"))
    sampled += sum(shard.size for shard in sources.split("eval"))
    for policy, allowed in (("off", 0.05 * total), ("sample", sampled + 0.05 * total)):
        config = config_of(level="frame", verify=policy)
        server.served, before = 0, server.done["passed"]
        reports = verify_shards(resolve_sources(config).shards, config, FEATURES)
        assert server.served <= allowed
        records = sum(report.records for report in reports)
        assert server.done["passed"] - before <= records + len(reports)


@pytest.mark.parametrize(
    ("level", "values"),
    [("video", {"train": 4800}), ("frame", {"train": 300, "min_frames": 60, "max_frames": 60})],
)
def test_before_its_first_step_a_training_fetches_the_index_alone(
    level: str, values: dict[str, int], server: ObjectServer, tmp_path: Path
) -> None:
    total = placed(make_dataset(tmp_path / "data", level=level, **values))
    config = config_of(level=level, verify="off")

    def manifest(out: Path) -> Source:
        """As `yt8m train` writes it."""
        shards = resolve_sources(config).shards
        reports = count_shards(shards, config, FEATURES, index=SharedIndex())
        made = materialize_shards(reports, ingest=Ingest.REFERENCE, root=str(out))
        found = record_index(made, reports, {}, level=config.level)
        storage.write_bytes(str(out / "index"), pack_index(found))
        kept = Manifest(level=config.level, shards=tuple(made))
        return source_of(kept, "train", FEATURES, index=str(out / "index"))

    manifest(tmp_path / "first")
    server.served = 0
    source = manifest(tmp_path / "second")
    lengths = index_of(source).lengths
    assert 0 < server.served <= 0.001 * total
    bytes_to_train_on = sum(shard.bytes for shard in source.shards)
    assert sum(lengths) + FRAMING_BYTES * len(lengths) == bytes_to_train_on
    taken = BatchSlice(global_batch_size=8, num_workers=4, worker_index=3)
    reader = create_step_reader(source, taken, sampling=None, config=InputConfig(shuffle_mb=1))
    reader.arrays(0)
    assert reader._ahead is not None
    reader._ahead.shutdown()  # it must not ask for the next group when the server is gone
    assert server.served < 0.75 * total


def test_workers_that_begin_together_share_the_walking(
    server: ObjectServer, tmp_path: Path
) -> None:
    total = placed(make_dataset(tmp_path / "data", train=400, eval=400, shards=80))
    config = config_of(verify="off", workers=2)
    shards = resolve_sources(config).shards
    together = Barrier(4)

    def count(worker: int) -> list[ShardReport]:
        together.wait()
        return count_shards(shards, config, FEATURES, index=SharedIndex(), begin=worker / 4)

    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(count, range(4))
    assert [report.source for report in first] == list(shards)
    for other in others:
        assert [(r.source, r.records, r.digest) for r in other] == [
            (r.source, r.records, r.digest) for r in first
        ]
    walked = sum(
        len(data) for (_, key), (data, _) in server.store.objects.items() if key.endswith(".npz")
    )
    assert server.served <= 2 * total + 4 * walked  # of 4 that each walk all


def test_a_whole_sample_says_first_what_it_copies(
    server: ObjectServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = make_dataset(tmp_path / "data", test=4)
    config, whole = config_of(), config_of(sample_mb=0)
    placed(data)
    sampled = sum(p.stat().st_size for p in data.glob("*.tfrecord") if "test" not in p.name)

    class ReadingBeginsError(Exception):
        pass

    def verify(_: object) -> list[object]:
        raise ReadingBeginsError

    for one, said in ((config, False), (whole, True)):
        with pytest.raises(ReadingBeginsError):
            ingest(
                resolve_sources(one),
                one,
                examples_uri=str(tmp_path / "examples"),
                sample_uri=str(tmp_path / "sample"),
                verify=verify,  # type: ignore[arg-type]
            )
        assert (f"{sampled / 1e6:,.1f} MB of them are copied" in capsys.readouterr().err) is said


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    sizes=st.lists(st.sampled_from([0, 5, 300, 40_000]), max_size=8),
    keep=st.integers(0, 9),
    cut=st.floats(0, 1),
    flipped=st.floats(0, 1) | st.none(),
)
def test_an_object_is_walked_as_a_file_is_whatever_is_wrong_with_it(
    tmp_path: Path, sizes: list[int], keep: int, cut: float, flipped: float | None
) -> None:
    content = bytearray(b"".join(frame(bytes(size)) for size in sizes))
    del content[round(len(content) * cut) :]
    if flipped is not None and content:
        content[round((len(content) - 1) * flipped)] ^= 1
    path = tmp_path / "shard"
    path.write_bytes(content)
    with memory_store():
        storage.write_bytes("mem://bucket/shard", bytes(content))
        assert record_framing("mem://bucket/shard", keep=keep) == record_framing(
            str(path), keep=keep
        )


def test_who_reads_first_leaves_an_index_and_who_comes_later_reads_that_alone(
    server: ObjectServer, tmp_path: Path
) -> None:
    placed(make_dataset(tmp_path / "data", train=300))
    config = config_of(verify="off")
    shards = resolve_sources(config).shards
    first = count_shards(shards, config, FEATURES, index=SharedIndex())
    asked: list[str] = []
    server.choose = lambda method, path: asked.append(f"{method} {path}") or ""
    second = count_shards(shards, config, FEATURES, index=SharedIndex())
    read = [one for one in asked if one.startswith("GET") and ".tfrecord" in one]
    assert read == []
    for ours, others in zip(second, first, strict=True):
        assert (ours.records, ours.digest) == (others.records, others.digest)
        assert np.array_equal(ours.lengths, others.lengths)
    assert resolve_sources(config).shards == shards  # an index is no shard
    changed = shards[0].uri
    storage.write_bytes(changed, storage.read_bytes(changed) + frame(b"more"))
    third = count_shards(resolve_sources(config).shards, config, FEATURES, index=SharedIndex())
    assert third[0].records == first[0].records + 1


def test_a_source_that_may_be_read_alone_is_verified_without_an_index(
    server: ObjectServer, tmp_path: Path
) -> None:
    """Some stores answer "forbidden" to who asks for what is not there and may not list it."""
    placed(make_dataset(tmp_path / "data"))
    config = config_of(verify="off")
    shards = resolve_sources(config).shards
    server.choose = lambda method, path: "403" if FOLDER in path else ""
    assert not any(report.problems for report in verify_shards(shards, config, FEATURES))


def test_a_shared_index_that_cannot_be_read_counts_as_absent_and_a_damaged_one_is_replaced(
    server: ObjectServer,
) -> None:
    shard, index, kept = "s3://bucket/data/a", ShardIndex(np.array([3], np.uint32)), SharedIndex()
    kept.keep(shard, index, known="1")
    (place,) = storage.glob(f"s3://bucket/data/{FOLDER}/*.npz")
    whole = storage.read_bytes(place)
    damaged = bytearray(whole)
    damaged[len(whole) // 3] ^= 0xFF
    for content in (b"", bytes(damaged)):
        storage.write_bytes(place, content)
        assert kept.load(shard, known="1") is None
        kept.keep(shard, index, known="1")
        assert storage.read_bytes(place) == whole
    newer = io.BytesIO()
    with np.load(io.BytesIO(whole)) as stored:
        np.savez(newer, **{**stored, "format": 2})
    storage.write_bytes(place, newer.getvalue())
    assert kept.load(shard, known="1") is None
    assert storage.read_bytes(place) == newer.getvalue()


def test_an_index_is_kept_elsewhere_where_the_source_may_not_be_written(
    server: ObjectServer,
) -> None:
    server.choose = lambda method, path: "403" if method == "PUT" and "/data/" in path else ""
    index = ShardIndex(np.array([3, 4], np.uint32), compression="GZIP")
    kept = SharedIndex("s3://bucket/root/indices")
    kept.keep("s3://bucket/data/a", index, known="1")
    found = kept.load("s3://bucket/data/a", known="1")
    assert found is not None
    assert (found.lengths.tolist(), found.compression) == ([3, 4], "GZIP")
    assert kept.load("s3://bucket/data/a", known="2") is None
    assert SharedIndex().load("s3://bucket/data/a", known="1") is None
