"""Ingest, inspection and the training reader judge a damaged record alike, in the same words."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ingesting import FEATURES, ingest_directory
from records import (
    Edit,
    drop_feature,
    edit_record,
    encode_record,
    make_dataset,
    read_all,
    replace_record,
    set_feature,
    set_frames,
    write_all,
)

from yt8m.components.example_gen.config import DataConfig, Verify
from yt8m.components.example_gen.sources import SourceShard
from yt8m.components.example_gen.verify import verify_shards
from yt8m.components.inputs.record_checker import record_checker
from yt8m.components.records.decode import Record, decode_record
from yt8m.components.records.inspection import Inspection
from yt8m.components.records.validation import check_bytes, expected_by
from yt8m.schemas.errors import DataError
from yt8m.schemas.features import Level

RECORD = 5


def _scores(value: float) -> Edit:
    return set_feature("segment_scores", np.full(5, value, np.float32))


def _at(start: int, *, length: int = 5) -> Edit:
    def edit(record: Record) -> Record:
        starts = np.full(5, start)
        changed = set_feature("segment_start_times", starts)(record)
        return set_feature("segment_end_times", starts + length)(changed)

    return edit


FAULTS: list[tuple[str, str, Edit, str]] = [
    ("video", "label-twice", set_feature("labels", [4, 4]), "label 4 is given twice"),
    ("video", "label-outside", set_feature("labels", [1000]), "label 1000 is outside 0..999"),
    ("video", "label-below-0", set_feature("labels", [-1]), "label -1 is outside 0..999"),
    ("video", "label-as-text", set_feature("labels", (b"Game",)), "labels must hold integers"),
    ("video", "no-labels", set_feature("labels", []), "no labels"),
    ("video", "labels-gone", drop_feature("labels"), "no labels"),
    ("video", "no-id", drop_feature("id"), "feature id is missing"),
    ("video", "two-ids", set_feature("id", (b"a", b"b")), "feature id must be one text"),
    ("video", "no-rgb", drop_feature("mean_rgb"), "feature mean_rgb is missing"),
    ("video", "nan", set_feature("mean_rgb", np.full(1024, np.nan, np.float32)), "holds NaN"),
    ("video", "short", set_feature("mean_audio", np.ones(9, np.float32)), "has 9 values, not 128"),
    ("frame", "label-twice", set_feature("labels", [4, 4]), "label 4 is given twice"),
    ("frame", "no-labels", drop_feature("labels"), "no labels"),
    ("frame", "narrow", set_frames("rgb", np.zeros((9, 9), np.uint8)), "rgb has 9 bytes, not 1024"),
    ("frame", "fewer", set_frames("audio", np.zeros((2, 128), np.uint8)), "differ in the number"),
    ("frame", "label-as-text", set_feature("labels", (b"Game",)), "labels must hold integers"),
    ("frame", "text-list", set_feature("labels", ()), "labels must hold integers"),
    ("frame", "no-audio", drop_feature("audio"), "feature audio is missing"),
    ("segment", "score-7", _scores(7), "segment score 7 is outside 0..1"),
    ("segment", "score-below-0", _scores(-1), "segment score -1 is outside 0..1"),
    ("segment", "score-nan", _scores(np.nan), "segment score nan is outside 0..1"),
    ("segment", "before-0", _at(-5), "a segment starts at -5, outside the"),
    ("segment", "beyond", _at(400), "a segment starts at 400, outside the"),
    ("segment", "long", _at(0, length=7), "a segment is 7 frames long, not 5"),
    ("segment", "class", set_feature("segment_labels", [5000] * 5), "segment label 5000 is"),
    ("segment", "unequal", set_feature("segment_labels", [1, 2]), "differ in length"),
    ("segment", "no-scores", drop_feature("segment_scores"), "segment_scores is missing"),
    ("segment", "label-twice", set_feature("labels", [4, 4]), "label 4 is given twice"),
]
WARNINGS: list[tuple[str, str, Edit, str]] = [
    ("segment", "reaches-beyond", _at(6), "reaches beyond the last frame"),
    ("segment", "rated-twice", _at(0), "a class is rated twice in one segment"),
]


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("generated")
    return {
        level: make_dataset(root / level, level=level, train=8, shards=1, max_frames=10)
        for level in ("video", "frame", "segment")
    }


def _ingested(shard: Path, level: str) -> tuple[list[tuple[int, str]], dict[str, int]]:
    config = DataConfig(level=Level(level), verify=Verify.FULL)
    is_now = shard.stat()
    source = SourceShard(uri=str(shard), split="train", size=is_now.st_size, mtime=is_now.st_mtime)
    (report,) = verify_shards([source], config, FEATURES)
    return [(p.record, p.reason) for p in report.problems], report.warnings


def _inspected(shard: Path) -> tuple[list[tuple[int | None, str]], dict[str, int]]:
    inspection = Inspection(num_classes=FEATURES.num_classes)
    inspection.add_shard(str(shard), enumerate(read_all(shard)))
    return [(p.record, p.reason) for p in inspection.problems], dict(inspection.warnings)


def _damaged(generated: dict[str, Path], out: Path, level: str, edit: Edit) -> Path:
    shard = out / "train0000.tfrecord"
    write_all(shard, read_all(generated[level] / "train0000.tfrecord"))
    edit_record(shard, RECORD, edit)
    return shard


def _named(cases: list[tuple[str, str, Edit, str]]) -> pytest.MarkDecorator:
    ids = [f"{level}-{name}" for level, name, *_ in cases]
    return pytest.mark.parametrize(("level", "name", "edit", "reason"), cases, ids=ids)


@_named(FAULTS)
def test_ingest_and_inspect_refuse_the_same_record_in_the_same_words(
    generated: dict[str, Path], tmp_path: Path, level: str, name: str, edit: Edit, reason: str
) -> None:
    shard = _damaged(generated, tmp_path, level, edit)
    problems, _ = _ingested(shard, level)
    assert [record for record, _ in problems] == [RECORD]
    assert re.search(re.escape(reason), problems[0][1])
    inspected, _ = _inspected(shard)
    assert "; ".join(text for _, text in inspected) == problems[0][1]
    assert {record for record, _ in inspected} == {RECORD}


@_named(WARNINGS)
def test_what_is_only_noteworthy_is_a_warning_in_both(
    generated: dict[str, Path], tmp_path: Path, level: str, name: str, edit: Edit, reason: str
) -> None:
    shard = _damaged(generated, tmp_path, level, edit)
    if name == "rated-twice":
        edit_record(shard, RECORD, set_feature("segment_labels", [3, 3, 4, 5, 6]))
    problems, warnings = _ingested(shard, level)
    inspected, warned = _inspected(shard)
    assert (problems, inspected) == ([], [])
    assert [count for text, count in warnings.items() if reason in text] == [1]
    assert warned == warnings


@pytest.mark.parametrize("level", ["video", "frame", "segment"])
def test_a_column_that_nobody_asked_for_is_a_warning_and_no_fault(
    generated: dict[str, Path], tmp_path: Path, level: str
) -> None:
    shard = _damaged(generated, tmp_path, level, lambda record: record)
    for at in range(len(read_all(shard))):
        edit_record(shard, at, set_feature("title", (b"a film",)))
    problems, warnings = _ingested(shard, level)
    assert problems == []
    assert warnings["feature title is not in features.names; only a head `own` reads it"] == 8
    assert _inspected(shard)[0] == []


def test_a_shard_without_any_labels_is_a_warning_for_inspection_and_refused_in_train(
    generated: dict[str, Path], tmp_path: Path
) -> None:
    shard = _damaged(generated, tmp_path, "video", lambda record: record)
    for at in range(len(read_all(shard))):
        edit_record(shard, at, drop_feature("labels"))
    problems, warnings = _inspected(shard)
    assert problems == []
    assert sum(count for text, count in warnings.items() if "no labels in the whole" in text) == 8
    assert len(_ingested(shard, "video")[0]) == 8


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_the_vectorised_finder_and_the_rules_agree_on_random_values(
    generated: dict[str, Path], data: st.DataObject
) -> None:
    edits: dict[str, Any] = {
        "id": tuple(data.draw(st.lists(st.sampled_from([b"", b"one"]), min_size=1, max_size=2))),
        "labels": data.draw(st.lists(st.integers(-1, 1000), max_size=4)),
        "mean_audio": np.full(
            data.draw(st.sampled_from([128, 128, 128, 127])),
            data.draw(st.sampled_from([0.0, 3e38, np.nan, np.inf])),
            np.float32,
        ),
    }
    record = read_all(generated["video"] / "train0000.tfrecord")[0]
    changed = _edited(record, edits)
    labelled = data.draw(st.booleans())
    rules = check_bytes(changed, expected_by(FEATURES, Level.VIDEO, labelled=labelled))
    checker = record_checker(Level.VIDEO, FEATURES)
    found = checker.check([record, changed], labelled=labelled)
    assert found.bad == ({1: "; ".join(rules.faults)} if rules.faults else {})
    assert found.labels[0] > 0
    assert rules.faults or found.labels[1] == len(edits["labels"])


def _edited(record: bytes, values: dict[str, Any]) -> bytes:
    decoded = decode_record(record)
    for name, value in values.items():
        decoded = set_feature(name, value)(decoded)
    return encode_record(decoded)


def test_ingest_ends_at_the_first_damaged_set_with_shard_and_record(
    generated: dict[str, Path], tmp_path: Path
) -> None:
    data = make_dataset(tmp_path / "data")
    replace_record(data / "train0000.tfrecord", 1, b"\xff\xff\xff")
    with pytest.raises(DataError, match=r"record 1 at byte .*not a tf\.Example"):
        ingest_directory(data, tmp_path / "out")
