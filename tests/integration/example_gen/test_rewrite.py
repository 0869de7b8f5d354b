"""Rewriting through Beam, in a real TFX run."""

from __future__ import annotations

import gzip
import itertools
import json
import re
import resource
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import apache_beam as beam
import numpy as np
import pytest
import tensorflow as tf
from records import flip_byte_in_record, make_dataset, read_all
from tfx_runs import output, run

from yt8m.components.artifacts.manifest import Manifest
from yt8m.components.example_gen.component import ExampleGen
from yt8m.components.example_gen.config import DataConfig
from yt8m.components.example_gen.rewrite import records_of_split, rewrite_records
from yt8m.components.example_gen.sources import UNDIVIDED, SourceShard, resolve_sources
from yt8m.components.example_gen.verify import verify_shards
from yt8m.components.records.decode import decode_record
from yt8m.components.records.tfrecord import read_records, write_records
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.errors import ConfigError, Yt8mError
from yt8m.schemas.features import FeatureConfig

FEATURES = FeatureConfig(num_classes=1000)


def keep_even_ids(record: bytes) -> bool:
    """A filter as a user would write one."""
    return sum(decode_record(record).features["id"][0]) % 2 == 0


def from_json(record: bytes) -> bytes:
    """A reader as a user would write one."""
    values = json.loads(record)
    feature = {
        "id": tf.train.Feature(bytes_list=tf.train.BytesList(value=[values["video"].encode()])),
        "labels": tf.train.Feature(int64_list=tf.train.Int64List(value=values["tags"])),
    }
    for name in ("rgb", "audio"):
        numbers = tf.train.FloatList(value=values[name])
        feature[f"mean_{name}"] = tf.train.Feature(float_list=numbers)
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def _as_json(record: bytes) -> bytes:
    features = decode_record(record).features
    values = {name: np.asarray(features[f"mean_{name}"]).tolist() for name in ("rgb", "audio")}
    tags = np.asarray(features["labels"]).tolist()
    return json.dumps({"video": features["id"][0].decode(), "tags": tags, **values}).encode()


def _rewrite(data: Path, root: Path, **values: Any) -> tuple[Manifest, dict[str, Any]]:
    config = from_dict(DataConfig, {"root": str(data), "ingest": "rewrite", **values})
    run([ExampleGen(config=config, features=FEATURES)], root)
    artifact = output(root, "ExampleGen", "examples")
    return Manifest.from_json((Path(artifact["uri"]) / "manifest.json").read_text()), artifact


def _records(manifest: Manifest, split: str) -> list[bytes]:
    found = []
    for shard in manifest.split(split):
        opened = gzip.open if shard.compression else open
        with opened(shard.uri, "rb") as file:
            found += [record for _, record in read_records(file)]
    return found


def _originals(data: Path, pattern: str) -> list[bytes]:
    return [record for path in sorted(data.glob(pattern)) for record in read_all(path)]


def test_records_are_reshuffled_compressed_and_complete(tmp_path: Path) -> None:
    data = make_dataset(tmp_path / "data", train=500, eval=40)
    values: dict[str, Any] = {"rewrite": {"shard_mb": 1, "compression": "gzip"}}
    manifest, artifact = _rewrite(data, tmp_path, **values)
    before, after = _originals(data, "train*"), _records(manifest, "train")
    assert Counter(after) == Counter(before)
    assert after != before
    assert len(manifest.split("train")) == 3
    assert sum(shard.labels for shard in manifest.split("train")) == 500
    assert artifact["records"] == 540
    elsewhere = shutil.copytree(data, tmp_path / "elsewhere")
    again, _ = _rewrite(elsewhere, tmp_path / "again", **values)
    assert again.digest == manifest.digest
    seeded, _ = _rewrite(
        data, tmp_path / "seeded", rewrite={**values["rewrite"], "shuffle_seed": 1}
    )
    assert seeded.digest != manifest.digest


def test_one_pattern_is_divided_by_video_id_and_bad_records_stay_out(tmp_path: Path) -> None:
    data = make_dataset(tmp_path / "data", train=120, eval=10)
    for at in range(2):
        (data / f"train000{at}.tfrecord").rename(data / f"part-{at}")
    flip_byte_in_record(data / "part-1", 4)
    manifest, artifact = _rewrite(
        data,
        tmp_path,
        divide={"patterns": ["part-*"], "buckets": {"train": 3, "eval": 1}},
        bad_input="quarantine",
    )
    train, evaluation = _records(manifest, "train"), _records(manifest, "eval")
    assert len(train) + len(evaluation) == 119
    assert artifact["quarantined"] == 1
    assert 15 <= len(evaluation) <= 45
    ids = [{decode_record(r).features["id"][0] for r in split} for split in (train, evaluation)]
    assert not ids[0] & ids[1]


def test_spans_stay_apart_so_that_the_newest_can_be_told(tmp_path: Path) -> None:
    data = make_dataset(tmp_path / "data", train=60, eval=20, spans=2)
    splits = {"train": ["span-{SPAN}/train*"], "eval": ["span-{SPAN}/validate*"]}
    manifest, artifact = _rewrite(data, tmp_path, splits=splits, span="last:2")
    assert artifact["spans"] == "1,2"
    for span in (1, 2):
        of_span = [shard for shard in manifest.split("eval") if shard.span == span]
        found = Counter(record for shard in of_span for record in read_all(Path(shard.uri)))
        assert found == Counter(_originals(data, f"span-{span}/validate*"))


def test_a_filter_leaves_records_out_and_they_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = make_dataset(tmp_path / "data")
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    manifest, artifact = _rewrite(data, tmp_path, rewrite={"keep": "test_rewrite.keep_even_ids"})
    kept = [r for r in _originals(data, "train*") if keep_even_ids(r)]
    assert Counter(_records(manifest, "train")) == Counter(kept)
    assert artifact["records"] + artifact["filtered"] == 36
    assert artifact["filtered"] > 0


def test_records_of_a_format_of_the_users_own_become_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = make_dataset(tmp_path / "data")
    own = tmp_path / "own"
    own.mkdir()
    for path in data.glob("*.tfrecord"):
        with (own / path.name).open("wb") as file:
            unreadable = [b"{}"] if path.name == "train0001.tfrecord" else []
            write_records(file, [*map(_as_json, read_all(path)), *unreadable])
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    parse = {"parse": "test_rewrite.from_json", "keep": "test_rewrite.keep_even_ids"}
    with pytest.raises(Exception, match=r"from_json: KeyError: 'video'"):
        _rewrite(own, tmp_path, rewrite=parse)
    manifest, artifact = _rewrite(
        own, tmp_path, rewrite=parse, bad_input="quarantine", max_quarantined=0.1
    )
    assert artifact["quarantined"] == 1
    kept = [r for r in _originals(data, "train*") if keep_even_ids(r)]
    assert 0 < len(kept) < len(_originals(data, "train*"))
    assert sorted(map(_as_json, _records(manifest, "train"))) == sorted(map(_as_json, kept))


def test_an_own_format_is_read_where_each_record_is_read_and_written_again() -> None:
    for values in ({"ingest": "link"}, {"ingest": "rewrite", "verify": "checksum"}):
        with pytest.raises(ConfigError, match=r"rewrite\.parse = 'a\.b': must be empty unless"):
            from_dict(DataConfig, {**values, "rewrite": {"parse": "a.b"}})


def test_a_filter_is_refused_where_no_record_is_written_again() -> None:
    """It would leave out nothing, without a word."""
    for ingest in ("link", "copy", "reference"):
        with pytest.raises(ConfigError, match=r"rewrite\.keep = 'a\.b': must be empty unless"):
            from_dict(DataConfig, {"ingest": ingest, "rewrite": {"keep": "a.b"}})
    for verify in ("full", "checksum"):
        from_dict(DataConfig, {"ingest": "rewrite", "verify": verify, "rewrite": {"keep": "a.b"}})


def test_records_that_an_engine_loses_are_noticed(tmp_path: Path) -> None:
    data = make_dataset(tmp_path / "data", train=60, eval=20)
    config = from_dict(DataConfig, {"root": str(data), "ingest": "rewrite"})
    reports = verify_shards(resolve_sources(config).shards, config, FEATURES, cache=None)

    class LosesEveryTenth(beam.Pipeline):
        """As one whose messages are cut in the middle of a record."""

        def apply(self, transform: Any, pvalueish: Any = None, label: Any = None) -> Any:
            done = super().apply(transform, pvalueish, label)
            if label != "Read":
                return done
            return super().apply(beam.Filter(lambda pair: pair[1][0][0] % 10), done, "Lose")

    with pytest.raises(Yt8mError, match=r"read 80 records and wrote [67]\d: "):
        rewrite_records(
            reports,
            config,
            root=str(tmp_path / "out"),
            scratch=str(tmp_path / "scratch"),
            make_pipeline=LosesEveryTenth,
        )


@pytest.mark.parametrize("held_bytes", [1, 5000, 64 << 20])
@pytest.mark.parametrize("level", ["video", "segment"])
def test_this_process_writes_what_beam_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held_bytes: int, level: str
) -> None:
    monkeypatch.setattr("yt8m.components.example_gen.rewrite._HELD_BYTES", held_bytes)
    data = make_dataset(tmp_path / "data", level=level, train=60, eval=20)
    config = from_dict(DataConfig, {"root": str(data), "ingest": "rewrite", "level": level})
    reports = verify_shards(resolve_sources(config).shards, config, FEATURES)
    results = {}
    for name, make_pipeline in (("here", None), ("beam", beam.Pipeline)):
        results[name] = rewrite_records(
            reports,
            config,
            root=str(tmp_path / name),
            scratch=str(tmp_path / f"scratch-{name}"),
            make_pipeline=make_pipeline,
        )
    here, there = results.values()
    assert [(s.split, s.records, s.digest, s.bytes) for s in here.shards] == [
        (s.split, s.records, s.digest, s.bytes) for s in there.shards
    ]
    assert here.filtered == there.filtered == 0
    for ours, theirs in zip(here.shards, there.shards, strict=True):
        assert Path(ours.uri).read_bytes() == Path(theirs.uri).read_bytes()
        index = here.index[ours.uri]
        records = read_all(Path(ours.uri))
        assert index.lengths.tolist() == list(map(len, records))
        assert index.segments is not None
        assert index.segments.tolist() == [decode_record(r).num_segments for r in records]
    assert list((tmp_path / "scratch-here").glob("waiting-*")) == []


def test_a_filter_that_cannot_be_imported_is_named(tmp_path: Path) -> None:
    data = make_dataset(tmp_path / "data")
    with pytest.raises(Exception, match=r"data\.rewrite\.keep = nowhere\.f: cannot be imported"):
        _rewrite(data, tmp_path, rewrite={"keep": "nowhere.f"})


def keep_fails(record: bytes) -> bool:
    raise KeyError("language")


def keep_nothing(record: bytes) -> bool:
    return False


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("keep_fails", f"data.rewrite.keep = {__name__}.keep_fails: KeyError: 'language'"),
        ("keep_nothing", "to the split train; data.rewrite.keep left out 40"),
    ],
)
def test_a_filter_that_fails_or_leaves_nothing_is_named(
    tmp_path: Path, name: str, why: str
) -> None:
    data = make_dataset(tmp_path / "data", test=4)
    with pytest.raises(Yt8mError, match=re.escape(why)):
        _rewrite(data, tmp_path, rewrite={"keep": f"{__name__}.{name}"})


def test_of_one_split_the_records_that_verification_would_leave_out_are_left_out(
    tmp_path: Path,
) -> None:
    data = make_dataset(tmp_path / "data")
    good = _originals(data, "train*")
    file = tmp_path / "records.tfrecord"
    with file.open("wb") as out:
        write_records(out, [b"junk", *good, b""])
    source = SourceShard(uri=str(file), split=UNDIVIDED, size=file.stat().st_size, mtime=0)
    config = from_dict(DataConfig, {"divide": {"patterns": ["*"]}})
    parts = [list(records_of_split([source], name, config)) for name in config.divide.buckets]
    assert sorted(itertools.chain.from_iterable(parts)) == sorted(good)


def test_a_disk_that_gets_full_while_records_wait_is_named(tmp_path: Path) -> None:
    data = make_dataset(tmp_path / "data", classes=1000)
    config = from_dict(DataConfig, {"root": str(data), "ingest": "rewrite"})
    reports = verify_shards(resolve_sources(config).shards, config, FEATURES)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(OSError, match=r"too large: '.*/waiting-"):
            rewrite_records(
                reports, config, root=str(tmp_path / "out"), scratch=str(tmp_path / "scratch")
            )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
