"""What the files hold, byte for byte, from scores made by hand."""

import io
import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from yt8m.components.predictions import segment_submission
from yt8m.components.predictions.formats import WRITINGS
from yt8m.components.predictions.plan import Format, PredictionPlan
from yt8m.components.predictions.predictor import ScoredRows
from yt8m.components.records.decode import decode_record
from yt8m.components.records.tfrecord import read_records
from yt8m.schemas.errors import DataError
from yt8m.schemas.features import Level

VIDEOS = [
    ScoredRows(
        ids=["ABCD", "0000"],
        starts=None,
        scores=np.array(
            [[0.5, 1.0, 0.0000123456789, 0.5, 0.25], [1 / 3, 0.1, 0.9, 2e-9, 0.0]], np.float32
        ),
    ),
    ScoredRows(ids=["zzzz"], starts=None, scores=np.array([[0, 0, 0, 0, 1]], np.float32)),
]
# As google/youtube-8m's inference.py writes them: "%i %g", the best first.
VIDEO_FILE = b"""VideoId,LabelConfidencePairs
ABCD,1 1 0 0.5 3 0.5 4 0.25 2 1.23457e-05
0000,2 0.9 0 0.333333 1 0.1 3 2e-09 4 0
zzzz,4 1 0 0 1 0 2 0 3 0
"""
SEGMENTS = [
    ScoredRows(
        ids=["ABCD", "ABCD", "0000"],
        starts=np.array([0, 5, 10]),
        scores=np.array([[0.2, 0.9, 0.5], [0.7, 0.9, 0.5], [0.1, 0.95, 0.6]], np.float32),
    ),
    ScoredRows(
        ids=["zzzz"], starts=np.array([295]), scores=np.array([[0.9, 0.1, 0.4]], np.float32)
    ),
]


def plan_of(form, *, level=Level.VIDEO, top_k=20, **values):
    return PredictionPlan(model="unused", level=level, format=form, top_k=top_k, **values)


def written(plan, batches, place):
    """The whole file, of one part for each batch."""
    writing, parts = WRITINGS[plan.format], []
    for number, batch in enumerate(batches):
        part = place / f"{number}.part"
        with part.open("wb") as file:
            writing.write_part(plan, [batch], file)
        parts.append(str(part))
    out = io.BytesIO()
    writing.join(plan, parts, out)
    return out.getvalue()


def test_a_video_submission_is_the_original_programs_byte_for_byte(tmp_path):
    assert written(plan_of(Format.VIDEO), VIDEOS, tmp_path) == VIDEO_FILE


def test_fewer_classes_and_allowed_classes_alone(tmp_path):
    two = written(plan_of(Format.VIDEO, top_k=2), VIDEOS, tmp_path).splitlines()
    assert two[1:] == [b"ABCD,1 1 0 0.5", b"0000,2 0.9 0 0.333333", b"zzzz,4 1 0 0"]
    some = written(plan_of(Format.VIDEO, classes=(2, 4)), VIDEOS, tmp_path).splitlines()
    assert some[1:] == [b"ABCD,4 0.25 2 1.23457e-05", b"0000,2 0.9 4 0", b"zzzz,4 1 2 0"]


def test_a_segment_submission_has_each_classs_segments_best_first_and_ties_in_the_datas_order(
    tmp_path,
):
    plan = plan_of(Format.SEGMENT, level=Level.SEGMENT, top_k=None, classes=(1, 2))
    assert written(plan, SEGMENTS, tmp_path) == (
        b"Class,Segments\n1,0000:10 ABCD:0 ABCD:5 zzzz:295\n2,0000:10 ABCD:0 ABCD:5 zzzz:295\n"
    )


def test_a_class_has_no_more_segments_than_the_rules_allow_whatever_the_parts(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(segment_submission, "_HELD_BYTES", 16)  # one class at a time
    plan = plan_of(Format.SEGMENT, level=Level.SEGMENT, top_k=None, max_segments=2)
    whole = b"Class,Segments\n0,zzzz:295 ABCD:5\n1,0000:10 ABCD:0\n2,0000:10 ABCD:0\n"
    assert written(plan, SEGMENTS, tmp_path) == whole


def test_top_k_limits_the_classes_of_a_segment(tmp_path):
    plan = plan_of(Format.SEGMENT, level=Level.SEGMENT, top_k=1)
    assert written(plan, SEGMENTS, tmp_path) == (
        b"Class,Segments\n0,zzzz:295\n1,0000:10 ABCD:0 ABCD:5\n"
    )


@pytest.mark.parametrize("count", [1, 7, 500])
def test_the_best_segments_are_those_of_a_stable_sort(count):
    rng = np.random.default_rng(count)
    scores = rng.integers(0, 20, count).astype(np.float32)
    scores[rng.random(count) < 0.1] = -np.inf
    slow = sorted((-s, n) for n, s in enumerate(scores.tolist()) if s > -np.inf)[:100]
    assert segment_submission.best_segments(scores, 100).tolist() == [n for _, n in slow]


def test_json_lines_have_the_numbers_of_the_model(tmp_path):
    lines = written(plan_of(Format.JSONL, top_k=2), VIDEOS, tmp_path).splitlines()
    assert [json.loads(line) for line in lines][1] == {
        "video_id": "0000",
        "class_ids": [2, 0],
        "scores": [0.9, pytest.approx(1 / 3)],
    }
    first = json.loads(lines[1])["scores"]
    assert np.float32(first[1]) == VIDEOS[0].scores[1, 0]


def test_tfrecords_are_examples_of_rows(tmp_path):
    plan = plan_of(Format.TFRECORD, level=Level.SEGMENT, top_k=2)
    file = io.BytesIO(written(plan, SEGMENTS, tmp_path))
    rows = [decode_record(record).features for _, record in read_records(file)]
    assert [row["video_id"][0] for row in rows] == [b"ABCD", b"ABCD", b"0000", b"zzzz"]
    assert [int(row["segment_start"][0]) for row in rows] == [0, 5, 10, 295]
    assert rows[1]["class_ids"].tolist() == [1, 0]
    assert rows[1]["scores"].tolist() == pytest.approx([0.9, 0.7])


def test_parquet_has_one_table_and_the_same_bytes_each_time(tmp_path):
    plan = plan_of(Format.PARQUET, level=Level.SEGMENT, top_k=2)
    data = written(plan, SEGMENTS, tmp_path)
    table = pq.read_table(io.BytesIO(data))
    assert table.schema.names == ["video_id", "segment_start", "class_ids", "scores"]
    assert table.column("segment_start").to_pylist() == [0, 5, 10, 295]
    assert table.column("class_ids").to_pylist() == [[1, 2], [1, 0], [1, 2], [0, 2]]
    assert written(plan, SEGMENTS, tmp_path) == data
    videos = pq.read_table(io.BytesIO(written(plan_of(Format.PARQUET), VIDEOS, tmp_path)))
    assert videos.schema.names == ["video_id", "class_ids", "scores"]


@pytest.mark.parametrize("name", ["a,b", "a b", 'a"b', "a\nb"])
@pytest.mark.parametrize("form", [Format.VIDEO, Format.SEGMENT])
def test_an_id_that_would_break_a_line_is_refused(tmp_path, name, form):
    batch = ScoredRows(ids=[name], starts=np.array([0]), scores=np.ones((1, 3), np.float32))
    with pytest.raises(DataError, match="a file of a competition cannot hold"):
        written(plan_of(form), [batch], tmp_path)


def test_a_competitions_file_names_no_video_and_no_segment_twice(tmp_path):
    again = [VIDEOS[0], VIDEOS[1], VIDEOS[1]]
    with pytest.raises(DataError, match=r"zzzz twice.* data inspect"):
        written(plan_of(Format.VIDEO), again, tmp_path)
    segments = [SEGMENTS[0], SEGMENTS[1], SEGMENTS[1]]
    with pytest.raises(DataError, match="zzzz:295 twice"):
        written(plan_of(Format.SEGMENT, level=Level.SEGMENT, top_k=None), segments, tmp_path)
    assert len(written(plan_of(Format.JSONL), again, tmp_path).splitlines()) == 4
