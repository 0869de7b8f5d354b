"""What is fetched from an object store to learn where records begin, counted by the server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memory_store import memory_store
from object_server import ObjectServer, object_server
from records import make_dataset

from yt8m.components import storage
from yt8m.components.artifacts.record_index import ShardIndex
from yt8m.components.example_gen.config import DataConfig
from yt8m.components.example_gen.ingest import ingest
from yt8m.components.example_gen.sources import resolve_sources
from yt8m.components.example_gen.verify import count_shards, verify_shards
from yt8m.components.records.shard_reader import record_framing
from yt8m.components.records.shared_index import SharedIndex
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
    storage.write_bytes("s3://bucket/shard", content)
    return "s3://bucket/shard", len(content)


def test_large_records_are_passed_over_with_a_request_each(server: ObjectServer) -> None:
    sizes = [LARGE + number for number in range(40)]
    uri, total = shard_of(sizes)
    assert record_framing(uri).lengths == sizes
    assert server.served < 0.05 * total
    assert server.done["passed"] <= len(sizes) + 2  # the packing, the first header


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
    data = make_dataset(tmp_path / "data", level=level, train=300)
    total = 0
    for path in data.glob("*.tfrecord"):
        storage.copy(str(path), f"s3://bucket/data/{path.name}")
        total += path.stat().st_size
    served, lengths = {}, {}
    for policy in ("full", "checksum", "sample", "off"):
        values = {"root": "s3://bucket/data", "ingest": "reference", "level": level}
        config = from_dict(DataConfig, {**values, "verify": policy})
        server.served = 0
        reports = verify_shards(resolve_sources(config).shards, config, FEATURES)
        served[policy] = server.served
        lengths[policy] = [report.lengths for report in reports]
        assert not any(report.problems for report in reports)
        assert all(map(np.array_equal, lengths[policy], lengths["full"]))
    assert served["full"] == total
    assert max(served.values()) <= total + 2 * len(lengths["full"])  # two bytes tell gzip


def test_a_whole_sample_says_first_what_it_copies(
    server: ObjectServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = make_dataset(tmp_path / "data", test=4)
    values = {"root": "s3://bucket/data", "ingest": "reference"}
    config, whole = (from_dict(DataConfig, values | more) for more in ({}, {"sample_mb": 0}))
    for path in data.glob("*.tfrecord"):
        storage.copy(str(path), f"s3://bucket/data/{path.name}")
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
    data = make_dataset(tmp_path / "data", train=300)
    for path in data.glob("*.tfrecord"):
        storage.copy(str(path), f"s3://bucket/data/{path.name}")
    config = from_dict(
        DataConfig, {"root": "s3://bucket/data", "ingest": "reference", "verify": "off"}
    )
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
