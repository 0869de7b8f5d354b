"""A cloud's answers in JSON become the file of the 2017 and 2018 competitions."""

import json
import math

import pytest

from yt8m.cli.main import run as yt8m


def write(path, *rows):
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def convert(place, *words):
    out = ["--out", str(place / "out.csv")]
    return yt8m(["convert", "--quiet", *out, *words])


def test_lines_of_both_kinds_of_export_become_pairs_in_their_order(tmp_path):
    """Values of the starter code's export may be in lists of one, as its batches are."""
    write(
        tmp_path / "prediction.results-00001",
        {"video_id": "b", "class_ids": [7, 3], "scores": [0.5, 1.23456789e-05]},
    )
    write(
        tmp_path / "prediction.results-00000",
        {"video_id": ["a"], "class_indexes": [[1, 0]], "predictions": [[0.75, 0.25]]},
        {"video_id": "c", "class_indexes": [2], "predictions": [1.0]},
    )
    assert convert(tmp_path, "--predictions", str(tmp_path / "prediction.results-*")) == 0
    assert (tmp_path / "out.csv").read_text() == (
        "VideoId,LabelConfidencePairs\na,1 0.75 0 0.25\nc,2 1\nb,7 0.5 3 1.23457e-05\n"
    )


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"video_id": "a", "class_ids": [1, 2], "scores": [0.5]}, "line 2: 2 classes and 1 scores"),
        ({"video_id": "a", "scores": [0.5]}, "line 2: 'class_ids'"),
        ({"class_ids": [1], "scores": [0.5]}, "line 2: 'video_id'"),
        ({"video_id": "a,b", "class_ids": [1], "scores": [0.5]}, "has a comma"),
        ({"video_id": "first", "class_ids": [1], "scores": [0.5]}, "occurs twice"),
        (
            {"video_id": "a", "segment_start": 5, "class_ids": [1], "scores": [0.5]},
            "line 2: the row is a segment of a video",
        ),
        ([1], "line 2: "),
        ({"video_id": [], "class_ids": [1], "scores": [0.5]}, "line 2: video_id is []"),
        ({"video_id": "", "class_ids": [1], "scores": [0.5]}, "line 2: video_id is ''"),
        ({"video_id": None, "class_ids": [1], "scores": [0.5]}, "line 2: video_id is None"),
        (
            {"video_id": "a b", "class_ids": [1], "scores": [0.5]},
            "line 2: video_id 'a b' has a comma",
        ),
        ({"video_id": "a", "class_ids": [1], "scores": [math.nan]}, "line 2: the score nan is not"),
        ({"video_id": "a", "class_ids": [1], "scores": ["1e400"]}, "line 2: the score '1e400'"),
        ({"video_id": "a", "class_ids": [1], "scores": [10**400]}, "line 2: int too large"),
        ({"video_id": "a", "class_ids": "12", "scores": [0.5, 0.4]}, "line 2: '12' is no list"),
        ({"video_id": "a", "class_ids": {"3": 1}, "scores": [0.5]}, "is no list"),
        ({"video_id": "a", "class_ids": [1.7], "scores": [0.5]}, "line 2: 1.7 is no class"),
        ({"video_id": "a", "class_ids": [-1], "scores": [0.5]}, "line 2: -1 is no class"),
        ({"video_id": "a", "class_ids": [4, 4], "scores": [0.5, 0.4]}, "line 2: a class occurs"),
    ],
)
def test_what_is_wrong_is_named_with_its_line_and_nothing_is_written(tmp_path, capsys, row, why):
    write(tmp_path / "p.json", {"video_id": "first", "class_ids": [1], "scores": [0.5]}, row)
    assert convert(tmp_path, "--predictions", str(tmp_path / "p.json")) == 2
    assert why in capsys.readouterr().err
    assert not (tmp_path / "out.csv").exists()


def test_files_without_a_row_leave_what_was_there(tmp_path, capsys):
    (tmp_path / "p.json").write_text("\n \n")
    (tmp_path / "out.csv").write_text("precious")
    assert convert(tmp_path, "--predictions", str(tmp_path / "p.json")) == 2
    assert "p.json: no prediction" in capsys.readouterr().err
    assert (tmp_path / "out.csv").read_text() == "precious"


def test_a_file_that_is_read_is_not_written(tmp_path, capsys):
    write(tmp_path / "out.csv", {"video_id": "a", "class_ids": [1], "scores": [0.5]})
    before = (tmp_path / "out.csv").read_bytes()
    assert convert(tmp_path, "--predictions", str(tmp_path / "out*")) == 2
    assert "out.csv: the command reads this file" in capsys.readouterr().err
    assert (tmp_path / "out.csv").read_bytes() == before


def test_no_file_is_a_user_error(tmp_path, capsys):
    assert convert(tmp_path, "--predictions", str(tmp_path / "none*")) == 2
    assert "no such file" in capsys.readouterr().err


def test_a_file_counts_by_its_name_directories_do_not_and_each_pattern_finds_some(tmp_path, capsys):
    (tmp_path / "results-2").mkdir()
    for number, name in enumerate(("results[1]", "results-1")):
        write(tmp_path / name, {"video_id": str(number), "class_ids": [7], "scores": [0.5]})
    for pattern, ids in (("results[1]", "0"), ("results-*", "1"), ("results*", "10")):
        assert convert(tmp_path, "--predictions", str(tmp_path / pattern)) == 0
        rows = (tmp_path / "out.csv").read_text().splitlines()[1:]
        assert "".join(row.partition(",")[0] for row in rows) == ids
    for pattern, why in (("results-2", "is a directory; give a pattern"), ("r?", "no such file")):
        found = ["--predictions", str(tmp_path / "results-*")]
        assert convert(tmp_path, *found, "--predictions", str(tmp_path / pattern)) == 2
        assert f"{pattern}: {why}" in capsys.readouterr().err
