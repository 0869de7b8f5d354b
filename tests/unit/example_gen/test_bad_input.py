"""Every kind of bad input, each on a file that is really damaged that way."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ingesting import ingest_directory
from records import (
    compress,
    drop_feature,
    edit_record,
    flip_byte,
    flip_byte_in_record,
    make_dataset,
    read_all,
    record_offsets,
    replace_record,
    set_feature,
    set_frames,
    truncate,
    write_all,
)

from yt8m.components.example_gen import verify as verification
from yt8m.components.example_gen.sources import SourceShard
from yt8m.components.records.tfrecord import BrokenRecord
from yt8m.schemas.errors import ConfigError, DataError

SHARD = "train0000.tfrecord"  # twelve records
Damage = Callable[[Path], None]


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("generated")
    return {
        level: make_dataset(root / level, level=level, test=4)
        for level in ("video", "frame", "segment")
    }


@pytest.fixture
def copied(generated: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    def copy(level: str) -> Path:
        return Path(shutil.copytree(generated[level], tmp_path / "data"))

    return copy


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _without_frames(path: Path, record: int) -> None:
    edit_record(path, record, set_frames("audio", np.zeros((0, 128), np.uint8)))
    edit_record(path, record, set_frames("rgb", np.zeros((0, 1024), np.uint8)))


def _vector(size: int, value: float) -> np.ndarray:
    vector = np.zeros(size, np.float32)
    vector[size // 2] = value
    return vector


UNREADABLE_REST = ("cut off in a header", "length changed", "text", "empty")
FRAMING: list[tuple[str, Damage, int, str]] = [
    ("cut off in a record", lambda p: truncate(p, -3), 11, "cut off"),
    ("cut off in a header", lambda p: truncate(p, record_offsets(p)[4] + 5), 4, "cut off"),
    ("content changed", lambda p: flip_byte_in_record(p, 7), 7, "wrong checksum"),
    ("length changed", lambda p: flip_byte(p, record_offsets(p)[3]), 3, "checksum of the length"),
    ("text", lambda p: _write(p, b"id,labels\n" * 99), 0, "not a TFRecord"),
    ("empty", lambda p: truncate(p, 0), 0, "no record"),
    ("gzip cut off", lambda p: truncate(compress(p), -30), 11, "gzip stream is damaged"),
]
VIDEO: list[tuple[str, Damage, int, str]] = [
    ("no proto", lambda p: replace_record(p, 2, b"\xff\xffnot a proto"), 2, "not a tf.Example"),
    ("no rgb", lambda p: edit_record(p, 5, drop_feature("mean_rgb")), 5, "mean_rgb is missing"),
    (
        "short audio",
        lambda p: edit_record(p, 0, set_feature("mean_audio", np.zeros(64, np.float32))),
        0,
        "mean_audio has 64 values, not 128",
    ),
    ("no id", lambda p: edit_record(p, 3, drop_feature("id")), 3, "id is missing"),
    ("empty id", lambda p: edit_record(p, 3, set_feature("id", (b"",))), 3, "id must be one"),
    (
        "label too big",
        lambda p: edit_record(p, 4, set_feature("labels", [3, 1000])),
        4,
        r"label 1000 is outside 0..999",
    ),
    ("label below 0", lambda p: edit_record(p, 4, set_feature("labels", [-1])), 4, "label -1"),
    ("no labels", lambda p: edit_record(p, 6, set_feature("labels", [])), 6, "no labels"),
    ("labels gone", lambda p: edit_record(p, 6, drop_feature("labels")), 6, "no labels"),
    (
        "NaN",
        lambda p: edit_record(p, 8, set_feature("mean_rgb", _vector(1024, np.nan))),
        8,
        "mean_rgb holds NaN or infinity",
    ),
    (
        "infinity",
        lambda p: edit_record(p, 8, set_feature("mean_audio", _vector(128, -np.inf))),
        8,
        "mean_audio holds NaN or infinity",
    ),
]
SEQUENCE: list[tuple[str, Damage, int, str]] = [
    ("no audio", lambda p: edit_record(p, 5, drop_feature("audio")), 5, "audio is missing"),
    (
        "narrow frames",
        lambda p: edit_record(p, 1, set_frames("rgb", np.zeros((9, 1000), np.uint8))),
        1,
        "rgb has 1000 bytes, not 1024",
    ),
    (
        "fewer audio frames",
        lambda p: edit_record(p, 1, set_frames("audio", np.zeros((2, 128), np.uint8))),
        1,
        "differ in the number of frames",
    ),
    (
        "no frames",
        lambda p: _without_frames(p, 1),
        1,
        "no frames",
    ),
    ("label", lambda p: edit_record(p, 4, set_feature("labels", [1000])), 4, "label 1000"),
    ("no labels", lambda p: edit_record(p, 6, drop_feature("labels")), 6, "no labels"),
]
SEGMENT: list[tuple[str, Damage, int, str]] = [
    (
        "no scores",
        lambda p: edit_record(p, 2, drop_feature("segment_scores")),
        2,
        "segment_scores is missing",
    ),
    (
        "segment label",
        lambda p: edit_record(p, 2, set_feature("segment_labels", [5000])),
        2,
        "segment label 5000",
    ),
    (
        "unequal lists",
        lambda p: edit_record(p, 2, set_feature("segment_start_times", [0])),
        2,
        "differ in length",
    ),
    (
        "nothing rated",
        lambda p: edit_record(p, 2, drop_feature("segment_labels")),
        2,
        "segment_labels is missing",
    ),
]
CASES = [
    *(("video", *case) for case in (*FRAMING, *VIDEO)),
    *(("frame", *case) for case in SEQUENCE),
    *(("segment", *case) for case in SEGMENT),
]
EACH_DAMAGE = pytest.mark.parametrize(
    ("level", "name", "damage", "record", "reason"),
    CASES,
    ids=[f"{case[0]}-{case[1].replace(' ', '-')}" for case in CASES],
)


@EACH_DAMAGE
def test_damage_is_reported_with_shard_record_and_offset(
    copied: Callable[[str], Path],
    tmp_path: Path,
    level: str,
    name: str,
    damage: Damage,
    record: int,
    reason: str,
) -> None:
    data = copied(level)
    whole = record_offsets(data / SHARD)
    damage(data / SHARD)
    with pytest.raises(DataError, match=reason) as caught:
        ingest_directory(data, tmp_path, level=level)
    line = next(line for line in str(caught.value).splitlines() if SHARD in line)
    offset = _offset_now(data / SHARD, record, before=whole[record])
    assert f"{data / SHARD}: record {record} at byte {offset}: " in line
    assert not (tmp_path / "examples" / "manifest.json").exists()


def _offset_now(path: Path, record: int, *, before: int) -> int:
    """Where the record is now: an edit may have moved it; in a broken file it is where it was."""
    try:
        return (record_offsets(path) or [0])[record]
    except BrokenRecord:
        return before


@EACH_DAMAGE
def test_quarantine_keeps_the_good_records_and_lists_the_bad(
    copied: Callable[[str], Path],
    tmp_path: Path,
    level: str,
    name: str,
    damage: Damage,
    record: int,
    reason: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    data = copied(level)
    good = read_all(data / SHARD)
    damage(data / SHARD)
    done = ingest_directory(
        data, tmp_path, level=level, bad_input="quarantine", max_quarantined=0.6
    )
    accounts = done.accounts
    assert accounts.records_in == accounts.kept + accounts.quarantined
    rest = 12 - record if name in UNREADABLE_REST else 1
    assert abs(accounts.quarantined - rest) <= (1 if rest > 1 else 0)
    kept = [
        content
        for shard in done.manifest.split("train")
        if Path(shard.uri).name.removesuffix(".gz") == SHARD
        for content in read_all(Path(shard.uri))
    ]
    assert kept == [c for at, c in enumerate(good) if at != record][: len(kept)]
    for shard in done.manifest.split("train"):  # where each record has labels
        assert shard.labels == shard.records
    place = tmp_path / "examples" / "quarantine.json"
    said = capsys.readouterr().err
    assert f"{accounts.quarantined}, in 1 of {accounts.shards} shards; {place} lists them" in said
    (listed,) = json.loads(place.read_text())
    assert listed["uri"] == str(data / SHARD)
    assert [problem["record"] for problem in listed["problems"]] == [record]


def test_all_bad_shards_are_reported_and_not_the_first_alone(
    copied: Callable[[str], Path], tmp_path: Path
) -> None:
    data = copied("video")
    truncate(data / "train0000.tfrecord", -1)
    flip_byte_in_record(data / "train0001.tfrecord", 2)
    edit_record(data / "validate0001.tfrecord", 1, drop_feature("mean_rgb"))
    with pytest.raises(DataError, match="3 of 6 shards are bad") as caught:
        ingest_directory(data, tmp_path)
    for name in ("train0000", "train0001", "validate0001"):
        assert name in str(caught.value)


@pytest.mark.parametrize("verify", ["full", "checksum", "sample", "off"])
@pytest.mark.parametrize(
    ("stored", "configured"), [("frame", "video"), ("video", "frame"), ("frame", "segment")]
)
def test_a_wrong_level_is_named_under_every_policy(
    copied: Callable[[str], Path], tmp_path: Path, stored: str, configured: str, verify: str
) -> None:
    values = {"level": configured, "verify": verify}
    with pytest.raises(ConfigError, match=f"a {stored}-level record.*level={configured}"):
        ingest_directory(copied(stored), tmp_path, **values)


@pytest.mark.parametrize("whole", [False, True])
def test_a_split_of_which_nothing_is_left_is_no_split(
    copied: Callable[[str], Path], tmp_path: Path, whole: bool
) -> None:
    data = copied("video")
    for shard in sorted(data.glob("train*" if whole else "train0000*")):
        replace_record(shard, 0, b"\xff\xff\xff")  # not all for the same reason
        for record in range(1, 12):
            edit_record(shard, record, drop_feature("id"))
    lenient = {"bad_input": "quarantine", "max_quarantined": 1.0}
    if whole:
        with pytest.raises(DataError, match="no good record is left in split train"):
            ingest_directory(data, tmp_path / "out", **lenient)
    else:
        done = ingest_directory(data, tmp_path / "out", **lenient)
        assert done.accounts.quarantined == 12


def test_of_an_optional_split_without_a_good_record_the_way_out_is_named(
    copied: Callable[[str], Path], tmp_path: Path
) -> None:
    data = copied("video")
    (shard, *others) = sorted(data.glob("test*"))
    for other in others:
        other.unlink()
    replace_record(shard, 0, b"\xff\xff\xff")
    for record in range(1, len(read_all(shard))):
        edit_record(shard, record, drop_feature("id"))
    lenient: dict[str, Any] = {"bad_input": "quarantine", "max_quarantined": 1.0}
    with pytest.raises(DataError, match=r"left in split test; .*data\.splits\.test=\[\] leaves"):
        ingest_directory(data, tmp_path / "out", **lenient)
    splits = {"train": ["train*"], "eval": ["validate*"], "test": []}
    assert ingest_directory(data, tmp_path / "again", splits=splits, **lenient).accounts.kept


@pytest.mark.parametrize("verify", ["checksum", "off"])
def test_a_shard_of_another_level_is_quarantined_whole(
    copied: Callable[[str], Path], generated: dict[str, Path], tmp_path: Path, verify: str
) -> None:
    data = copied("video")
    shutil.copy(generated["frame"] / SHARD, data / SHARD)
    done = ingest_directory(
        data, tmp_path, verify=verify, bad_input="quarantine", max_quarantined=0.5
    )
    assert done.accounts.quarantined == 12
    assert done.manifest.examples("train") == 12


def test_rated_records_serve_at_frame_level(copied: Callable[[str], Path], tmp_path: Path) -> None:
    done = ingest_directory(copied("segment"), tmp_path, level="frame")
    assert done.manifest.examples("train") == 24


def test_an_id_in_train_and_eval_is_a_leak(copied: Callable[[str], Path], tmp_path: Path) -> None:
    data = copied("video")
    leaked = read_all(data / "validate0001.tfrecord")[3]
    replace_record(data / SHARD, 9, leaked)
    with pytest.raises(DataError, match=r"record 9 at byte \d+: id \S+ is in eval too: \S*0001.*3"):
        ingest_directory(data, tmp_path)
    done = ingest_directory(data, tmp_path, bad_input="quarantine", max_quarantined=0.5)
    assert (done.manifest.examples("train"), done.manifest.examples("eval")) == (23, 12)
    kept = read_all(Path(done.manifest.split("train")[0].uri))
    assert leaked not in kept


def test_the_id_of_a_bad_record_is_none_of_its_split(
    copied: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = copied("video")
    judged = data / "validate0001.tfrecord"
    replace_record(judged, 3, read_all(data / SHARD)[9])
    edit_record(judged, 3, set_feature("mean_rgb", _vector(1024, np.nan)))
    replace_record(data / SHARD, 2, read_all(data / SHARD)[4])
    edit_record(data / SHARD, 2, drop_feature("mean_rgb"))
    done = ingest_directory(data, tmp_path, bad_input="quarantine", max_quarantined=0.5)
    assert (done.manifest.examples("train"), done.manifest.examples("eval")) == (23, 11)
    assert "have the id of another" not in " ".join(capsys.readouterr().err.split())


def test_a_test_split_without_labels_is_no_problem(
    copied: Callable[[str], Path], tmp_path: Path
) -> None:
    data = copied("video")
    for shard in data.glob("test*"):
        for at in range(len(read_all(shard))):
            edit_record(shard, at, drop_feature("labels"))
    done = ingest_directory(data, tmp_path)
    assert done.manifest.examples("test") == 4
    assert done.sample_splits == ("train", "eval")
    assert not (tmp_path / "sample" / "Split-test").exists()


def test_more_than_the_allowed_share_fails_even_under_quarantine(
    copied: Callable[[str], Path], tmp_path: Path
) -> None:
    data = copied("video")
    flip_byte_in_record(data / SHARD, 2)
    with pytest.raises(DataError, match=r"2\.50% is more than data.max_quarantined=1\.00%"):
        ingest_directory(data, tmp_path, bad_input="quarantine")


def test_the_checksum_policy_finds_damaged_bytes_and_does_not_parse(
    copied: Callable[[str], Path], tmp_path: Path
) -> None:
    data = copied("video")
    edit_record(data / SHARD, 5, drop_feature("mean_rgb"))
    ingest_directory(data, tmp_path / "passes", verify="checksum")
    flip_byte_in_record(data / SHARD, 5)
    with pytest.raises(DataError, match="record 5 at byte"):
        ingest_directory(data, tmp_path / "fails", verify="checksum")


def test_the_sample_policy_parses_the_head_and_counts_the_rest(
    copied: Callable[[str], Path], tmp_path: Path
) -> None:
    data = copied("video")
    records = read_all(data / SHARD)
    write_all(data / SHARD, [*records] * 40)  # 480 of them
    edit_record(data / SHARD, 300, drop_feature("mean_rgb"))
    done = ingest_directory(data, tmp_path / "passes", verify="sample")
    assert done.manifest.split("train")[0].records == 480
    edit_record(data / SHARD, 200, drop_feature("mean_rgb"))
    with pytest.raises(DataError, match="record 200"):
        ingest_directory(data, tmp_path / "fails", verify="sample")


@pytest.mark.parametrize("gzipped", [False, True])
def test_the_policy_off_counts_and_sees_a_cut(
    copied: Callable[[str], Path], tmp_path: Path, gzipped: bool
) -> None:
    data = copied("video")
    if gzipped:
        compress(data / SHARD)
    done = ingest_directory(data, tmp_path / "passes", verify="off")
    assert done.manifest.examples("train") == 24
    truncate(data / SHARD, -3)
    with pytest.raises(DataError, match="cut off"):
        ingest_directory(data, tmp_path / "fails", verify="off")


@pytest.mark.parametrize("gzipped", [False, True])
@pytest.mark.parametrize("verify", ["full", "checksum", "sample", "off"])
def test_shards_cut_in_half_count_as_half_of_their_records(
    tmp_path: Path, verify: str, gzipped: bool
) -> None:
    data = make_dataset(tmp_path / "data", train=400, shards=10)
    cut = sorted(data.glob("train*"))[:5]
    for shard in data.glob("train*"):
        if gzipped:
            compress(shard)
    for shard in cut:
        truncate(shard, shard.stat().st_size // 2 + 7)  # not between two records
    with pytest.raises(DataError, match=r"is more than data\.max_quarantined") as caught:
        ingest_directory(data, tmp_path, verify=verify, bad_input="quarantine")
    assert "records are lost there" in str(caught.value)
    done = ingest_directory(
        data, tmp_path, verify=verify, bad_input="quarantine", max_quarantined=0.5
    )
    assert abs(done.accounts.quarantined - 100) <= 10
    assert abs(done.accounts.records_in - 412) <= 10


@pytest.mark.parametrize(("compressed", "lost"), [("", 19), ("gzip", 5)])
def test_shards_stored_alike_tell_by_their_bytes_what_a_rest_held_and_others_by_their_records(
    compressed: str, lost: int
) -> None:
    def report(size: int, records: int, **values: Any) -> verification.ShardReport:
        source = SourceShard(uri="a", split="train", size=size, mtime=0.0)
        return verification.ShardReport(source=source, records=records, digest="", **values)

    whole = [report(1000, 10, compression=compressed) for _ in range(3)]
    broken = report(3000, 11 if not compressed else 5, broken=True)  # the rest counts as one
    assert verification.estimate_lost(broken, [*whole, broken]).lost == lost


def test_where_every_shard_is_cut_off_as_many_are_lost_as_were_found(tmp_path: Path) -> None:
    data = make_dataset(tmp_path / "data", train=400, shards=10)
    for shard in data.glob("train*"):
        truncate(shard, shard.stat().st_size // 2 + 7)  # not between two records
    with pytest.raises(DataError, match="about 200 of 412 records"):
        ingest_directory(data, tmp_path, bad_input="quarantine")


@pytest.mark.parametrize("bad_input", ["fail", "quarantine"])
def test_where_every_record_fails_alike_the_configuration_is_named(
    copied: Callable[[str], Path], tmp_path: Path, bad_input: str
) -> None:
    data = copied("frame")
    with pytest.raises(ConfigError) as caught:
        ingest_directory(data, tmp_path, bad_input=bad_input)
    said = str(caught.value)
    assert "all 12 records of split eval fail for the same reason" in said
    assert "frame-level record" in said
    assert "data.level=video" in said
    assert "mend or remove" not in said.lower()


def _give_nothing(record: bytes) -> bytes:
    raise ValueError("no header")


def _give_it_unread(record: bytes) -> bytes:
    return record


@pytest.mark.parametrize(
    ("function", "advice"),
    [
        (_give_nothing, "Call the function data.rewrite.parse="),
        (_give_it_unread, "Compare data.level=video.* with what data.rewrite.parse="),
    ],
)
def test_where_every_record_fails_alike_for_a_custom_reader_the_advice_is_about_that(
    copied: Callable[[str], Path], tmp_path: Path, function: Any, advice: str
) -> None:
    values = {"parse": f"{__name__}.{function.__name__}"}
    with pytest.raises(ConfigError, match=advice) as caught:
        ingest_directory(copied("frame"), tmp_path, ingest="rewrite", rewrite=values)
    assert "data inspect" not in str(caught.value)


def test_an_id_that_two_records_of_a_split_have_is_reported_with_both_places(
    copied: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = copied("video")
    first, second = read_all(data / SHARD), read_all(data / "train0001.tfrecord")
    write_all(data / SHARD, [*first, first[3]])
    write_all(data / "train0001.tfrecord", [*second, first[3]])
    done = ingest_directory(data, tmp_path)
    assert done.manifest.examples("train") == 26
    said = " ".join(capsys.readouterr().err.split())
    assert "2 records of split train have the id of another, for one" in said
    assert f"{data}/{SHARD} record 3 and {data}/{SHARD} record 12" in said
    assert "ids are not compared" not in said


@pytest.mark.parametrize("verify", ["checksum", "sample", "off"])
def test_what_is_not_looked_for_without_full_verification_is_said(
    copied: Callable[[str], Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    verify: str,
) -> None:
    data = copied("video")
    write_all(data / SHARD, read_all(data / "validate0000.tfrecord"))
    for at in range(len(read_all(data / SHARD))):  # the same videos, in other bytes
        edit_record(data / SHARD, at, set_feature("mean_audio", np.zeros(128, np.float32)))
    with pytest.raises(DataError, match="is in eval too"):
        ingest_directory(data, tmp_path)
    ingest_directory(data, tmp_path / "quick", verify=verify)
    said = " ".join(capsys.readouterr().err.split())
    assert "ids are not compared" in said
    assert "data.verify=full" in said


@pytest.mark.parametrize("check", ["full", "checksum"])
def test_a_shard_of_countless_bad_records_is_given_up(
    copied: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, check: str
) -> None:
    data = copied("video")
    monkeypatch.setattr(verification, "MAX_PROBLEMS", 3)
    records = read_all(data / SHARD)
    write_all(data / SHARD, [records[0], *[b"bad"] * 100, *records * 400])
    content = bytearray((data / SHARD).read_bytes())
    for offset in record_offsets(data / SHARD)[1:101]:
        content[offset + 12] ^= 1
    (data / SHARD).write_bytes(content)
    done = ingest_directory(
        data, tmp_path, verify=check, bad_input="quarantine", max_quarantined=0.99
    )
    (shard,) = (s for s in done.manifest.split("train") if s.uri.endswith(SHARD))
    kept = len(read_all(Path(shard.uri)))
    assert kept == shard.records
    assert kept < 4000
    told = json.loads((tmp_path / "examples" / "quarantine.json").read_text())
    assert "the rest of the file was not read" in told[0]["problems"][-1]["reason"]


def test_a_feature_that_nobody_reads_is_told_once_with_its_records_and_shards(
    copied: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = copied("video")
    for shard in ("train0000.tfrecord", "train0001.tfrecord"):
        edit_record(data / shard, 0, set_feature("title", [1]))
    ingest_directory(data, tmp_path / "out")
    (told,) = (line for line in capsys.readouterr().err.splitlines() if "title" in line)
    assert "feature title is not in features.names" in told
    assert f"(24 records in 2 shards, the first of which is {data / SHARD})" in told
