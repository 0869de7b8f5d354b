"""Submissions are read as people and programs write them, and their faults are named."""

import pytest

from yt8m.components.predictions.submission import (
    SegmentSubmission,
    VideoSubmission,
    read_submission,
)
from yt8m.schemas.errors import DataError, UserError

HEADED = "VideoId,LabelConfidencePairs\nABCD,3 0.5 1 0.25\n1234,2 1\n"


@pytest.mark.parametrize(
    "text",
    [
        HEADED,
        HEADED.partition("\n")[2],
        HEADED.replace("\n", "\r\n"),
        "\ufeff" + HEADED.lower().replace("abcd", "ABCD") + "\n\n",
    ],
    ids=["as written", "no header", "from Windows", "byte order mark, blank lines"],
)
def test_a_video_submission_is_read_with_and_without_its_header(tmp_path, text):
    (tmp_path / "s.csv").write_text(text, newline="")
    found = read_submission(str(tmp_path / "s.csv"))
    assert isinstance(found, VideoSubmission)
    assert found.ids == ["ABCD", "1234"]
    assert found.counts.tolist() == [2, 1]
    assert found.classes.tolist() == [3, 1, 2]
    assert found.scores.tolist() == [0.5, 0.25, 1.0]


@pytest.mark.parametrize("header", ["Class,Segments\n", ""])
def test_a_segment_submission_is_read_with_and_without_its_header(tmp_path, header):
    (tmp_path / "s.csv").write_text(f"{header}7,ABCD:5 1234:0\n3,\n")
    found = read_submission(str(tmp_path / "s.csv"))
    assert found == SegmentSubmission(segments={7: ["ABCD:5", "1234:0"], 3: []})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        ("VideoId,LabelConfidencePairs\nABCD 3 0.5\n", "line 2: 'ABCD 3 0.5'; expected ID,CLASS"),
        ("ABCD,3 0.5 1\n", "line 1"),
        ("ABCD,3 high\n", "line 1"),
        ("ABCD,3 nan\n", "line 1"),
        ("ABCD,99999999999999999999 1\n", "line 1"),
        ("ABCD,3 0.5\nABCD,4 0.5\n", "line 2: the video ABCD occurs twice"),
        ("ABCD,3 0.5 3 0.4\n", "line 1: the video ABCD lists a class twice"),
        ("Class,Segments\nx,ABCD:0\n", "line 2: 'x,ABCD:0'; expected CLASS,ID:START"),
        ("Class,Segments\n3,A:0\n3,A:5\n", "line 3: the class 3 occurs twice"),
        ("Class,Segments\n3,A:0 A:0\n", "line 2: class 3 lists a segment twice"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path, text, why):
    (tmp_path / "s.csv").write_text(text)
    with pytest.raises(DataError, match=why):
        read_submission(str(tmp_path / "s.csv"))


def test_no_file_and_no_text_are_named(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        read_submission(str(tmp_path / "none.csv"))
    (tmp_path / "s.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="is not UTF-8 text"):
        read_submission(str(tmp_path / "s.csv"))
