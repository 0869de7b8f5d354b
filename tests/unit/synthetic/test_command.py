"""`yt8m data generate`, as it is typed."""

import json

import pytest
from records import generate_dataset, read_all

from yt8m.cli.main import run


def generate(out, *more, level="video"):
    small = ["--train", "12", "--eval", "6", "--classes", "20", "--frames", "9-12"]
    return run(["data", "generate", "--level", level, "--out", str(out), *small, *more])


@pytest.mark.parametrize("level", ["video", "frame", "segment"])
def test_writes_what_the_generator_makes_for_the_same_values(tmp_path, capsys, level):
    assert generate(tmp_path / "typed", "--seed", "3", "--shards", "2", level=level) == 0
    called = generate_dataset(tmp_path / "called", level=level, train=12, eval=6, seed=3, shards=2)
    for path in called.iterdir():
        assert (tmp_path / "typed" / path.name).read_bytes() == path.read_bytes()
    assert "18 records in 4 files" in capsys.readouterr().out


def test_json_names_every_file(tmp_path, capsys):
    assert generate(tmp_path / "data", "--spans", "2", "--test", "3", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    files = sorted(str(path) for path in (tmp_path / "data").glob("span-*/*.tfrecord"))
    assert sorted(answer["files"]) == files
    assert answer["records"] == 2 * (12 + 6 + 3)
    assert answer["bytes"] == sum(len(record) + 16 for f in files for record in read_all_of(f))


def read_all_of(name):
    from pathlib import Path

    return read_all(Path(name))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--train", "-3"], "error: --train = -3: must be 0 or more"),
        (["--classes", "1"], "error: --classes = 1: must be 2 or more"),
        (["--temporal"], "error: --temporal = True: must be false at level video"),
        (["--frames", "20-10"], "error: --frames = 20: must be from 2 to max_frames (10)"),
        (["--spans", "0"], "error: --spans = 0: must be 1 to 4095"),
    ],
)
def test_mistake_is_refused_by_the_option_before_anything_is_written(
    tmp_path, capsys, more, message
):
    assert generate(tmp_path / "data", *more) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "data").exists()


def test_frames_that_are_no_range_are_refused(tmp_path, capsys):
    with pytest.raises(SystemExit) as end:
        generate(tmp_path / "data", "--frames", "many")
    assert end.value.code == 2
    assert "argument --frames: many: write it as A-B" in capsys.readouterr().err


def test_directory_with_other_files_is_refused(tmp_path, capsys):
    (tmp_path / "thesis.txt").write_text("years")
    assert generate(tmp_path) == 2
    assert (
        "holds other files (thesis.txt); generate into a new directory" in capsys.readouterr().err
    )
