"""`yt8m data inspect` on sound and on really damaged files."""

import json

import pytest
from records import (
    compress,
    drop_feature,
    edit_record,
    flip_byte,
    flip_byte_in_record,
    make_dataset,
    record_offsets,
    truncate,
)

from yt8m.cli.main import run


def inspect(capsys, *arguments):
    """Exit code and the answer as JSON."""
    code = run(["data", "inspect", *map(str, arguments), "--json", "--quiet"])
    return code, json.loads(capsys.readouterr().out)


@pytest.fixture
def data(tmp_path):
    return make_dataset(tmp_path / "data", train=20, shards=2)


def test_figures_of_sound_data(data, capsys):
    code, answer = inspect(capsys, data, "--vocabulary", data / "vocabulary.csv", "--top", 2)
    assert code == 0
    assert answer["levels"] == {"video": 32}
    assert (answer["shards"], answer["records"], answer["num_problems"]) == (4, 32, 0)
    assert answer["features"]["mean_rgb"]["size"] == 1024
    top = answer["labels"]["top"]
    assert len(top) == 2
    assert top[0]["count"] >= top[1]["count"]
    assert (
        top[0]["name"]
        == (data / "vocabulary.csv").read_text().splitlines()[1 + top[0]["class"]].split(",")[3]
    )


def test_of_equally_frequent_classes_the_lower_number_comes_first(data, capsys):
    _, answer = inspect(capsys, data, "--top", 1000)
    rows = [(-row["count"], row["class"]) for row in answer["labels"]["top"]]
    assert len({count for count, _ in rows}) < len(rows) - 1
    assert rows == sorted(rows)


def test_text_names_level_features_and_classes(data, capsys):
    assert run(["data", "inspect", str(data), "--vocabulary", str(data / "vocabulary.csv")]) == 0
    out = capsys.readouterr().out
    assert "level     video" in out
    assert "feature   mean_audio, size 128, values -1.9" in out
    assert "Amber anchor" in out
    assert out.endswith("no problems\n")


def test_text_of_rated_segments_counts_the_ratings(tmp_path, capsys):
    data = make_dataset(tmp_path / "rated", level="segment", train=8, shards=1)
    _, answer = inspect(capsys, data)
    rated = answer["ratings"]
    assert run(["data", "inspect", str(data), "--quiet"]) == 0
    expected = f"{rated['sum']} of {rated['classes']} classes, {rated['positive']} of them positive"
    assert f"ratings   {expected}\n" in capsys.readouterr().out
    assert 0 < rated["positive"] < rated["sum"]


def test_gzipped_shards_are_read_as_they_are(data, capsys):
    _, plain = inspect(capsys, data)
    for path in data.glob("*.tfrecord"):
        compress(path)
    code, zipped = inspect(capsys, data)
    assert code == 0
    assert zipped == plain


@pytest.mark.parametrize(
    ("damage", "record", "reason", "left"),
    [
        (lambda path: truncate(path, -7), 9, "cut off", 9),
        (lambda path: flip_byte_in_record(path, 4), 4, "wrong checksum", 9),
        (lambda path: flip_byte(path, record_offsets(path)[6]), 6, "checksum of the length", 6),
        (lambda path: edit_record(path, 3, drop_feature("mean_rgb")), 3, "mean_rgb is missing", 10),
    ],
    ids=["cut", "flipped", "length", "feature"],
)
def test_damage_is_found_where_it_is_and_the_rest_is_counted(
    data, capsys, damage, record, reason, left
):
    shard = data / "train0001.tfrecord"
    damage(shard)
    code, answer = inspect(capsys, shard)
    assert code == 1
    (problem,) = answer["problems"]
    assert problem.startswith(f"{shard}, record {record}: ")
    assert reason in problem
    assert answer["records"] == left


def test_many_problems_are_cut_short_in_the_text(data, capsys):
    shard = data / "train0000.tfrecord"
    other = make_dataset(data.parent / "frames", level="frame", train=40, shards=1)
    assert run(["data", "inspect", str(shard), str(other / "train0000.tfrecord")]) == 1
    out = capsys.readouterr().out
    assert "40 problems:" in out
    assert "... 20 more; --json lists all" in out


def test_file_of_another_kind_is_a_problem(data, capsys):
    code, answer = inspect(capsys, data / "vocabulary.csv")
    assert code == 1
    assert "not a TFRecord file" in answer["problems"][0]


def test_nothing_found_is_the_users_mistake(tmp_path, capsys):
    assert run(["data", "inspect", str(tmp_path / "train*")]) == 2
    assert "train*: no such file, and none that matches" in capsys.readouterr().err


def test_wrong_vocabulary_is_the_users_mistake(data, capsys):
    assert run(["data", "inspect", str(data), "--vocabulary", str(data / "dataset.json")]) == 2
    assert "dataset.json, line 1: no column Index" in capsys.readouterr().err
    assert run(["data", "inspect", str(data), "--vocabulary", "/nowhere.csv"]) == 2
    assert "/nowhere.csv: no such file" in capsys.readouterr().err


def test_a_file_that_cannot_be_read_is_a_problem_and_the_others_are_inspected(data, capsys):
    (data / "lost.tfrecord").symlink_to(data / "nowhere")
    code, answer = inspect(capsys, data)
    assert code == 1
    assert answer["problems"] == [
        f"{data}/lost.tfrecord: cannot be read (No such file or directory)"
    ]
    assert (answer["shards"], answer["records"]) == (5, 32)
