"""Labels in a file: read once, the same score; of other records or damaged, they are read again."""

import json
from pathlib import Path

import numpy as np
import pytest
from records import make_dataset

from yt8m.cli.main import run as yt8m
from yt8m.components.extras.scores.submission_score import score_segments, score_videos
from yt8m.components.predictions.submission import read_submission
from yt8m.components.records.find import find_shards
from yt8m.schemas.features import Level


@pytest.fixture
def rated(tmp_path):
    return make_dataset(tmp_path / "rated", level="segment", classes=12)


def score(data: Path, cache: Path, advance) -> object:
    submission = data.parent / "s.csv"
    submission.write_text("Class,Segments\n3,nobody:0\n")
    found = read_submission(str(submission))
    shards = find_shards(str(data / "train*"), str(data / "validate*"))
    return score_segments(found, shards, top_n=10, advance=advance, cache=str(cache))


def test_records_are_read_once(rated, tmp_path):
    cache, read = tmp_path / "labels.npz", []
    first = score(rated, cache, read.append)
    assert len(read) == 4  # shards
    assert score(rated, cache, read.append) == first
    assert len(read) == 4
    assert first.segments > 0


def test_other_records_or_a_damaged_file_are_noticed(rated, tmp_path, caplog):
    cache, read = tmp_path / "labels.npz", []
    first = score(rated, cache, read.append)
    other = make_dataset(tmp_path / "other", level="segment", classes=12, seed=1, train=30)
    assert score(other, cache, read.append).segments != first.segments
    assert "belongs to other records" in caplog.text
    whole = cache.read_bytes()
    cache.write_bytes(whole[: len(whole) // 2])
    assert score(other, cache, read.append).segments != first.segments
    assert "is damaged" in caplog.text
    assert len(read) == 12
    assert cache.read_bytes() == whole  # whole again


@pytest.mark.parametrize("place", [0x06, 0x08, -1])  # of an entry: its flags, its method, its bytes
def test_a_damaged_byte_costs_a_reading_and_no_more(rated, tmp_path, caplog, place):
    cache, read = tmp_path / "labels.npz", []
    first = score(rated, cache, read.append)
    whole = cache.read_bytes()
    data = bytearray(whole)
    for entry in (at for at in range(len(data)) if data.startswith(b"PK\x01\x02", at)):
        if place >= 0:
            data[entry + place + 2] ^= 0xFF  # the directory's copy is what is read
    if place < 0:
        data[data.index(b"names.npy") + 60] ^= 0xFF
    cache.write_bytes(data)
    assert score(rated, cache, read.append) == first
    assert "is damaged" in caplog.text
    assert cache.read_bytes() == whole


def test_another_file_is_not_overwritten(rated, tmp_path, capsys):
    submission, shard = tmp_path / "s.csv", rated / "train0000.tfrecord"
    submission.write_text("Class,Segments\n3,nobody:0\n")
    np.savez(tmp_path / "predictions.npz", predictions=np.zeros(3))
    words = ["score", "--submission", str(submission), "--data", str(rated / "train*")]
    for file in (submission, shard, tmp_path / "predictions.npz"):
        before = file.read_bytes()
        assert yt8m([*words, "--label-cache", str(file)]) == 2
        assert f"{file}: is another file, not a cache of labels" in capsys.readouterr().err
        assert file.read_bytes() == before


def test_labels_of_whole_videos_are_others_than_those_of_segments(rated, tmp_path):
    cache, read = tmp_path / "labels.npz", []
    score(rated, cache, read.append)
    submission = tmp_path / "v.csv"
    submission.write_text("VideoId,LabelConfidencePairs\n0000,3 0.5\n")
    shards = find_shards(str(rated / "train*"))
    values = {"level": Level.SEGMENT, "advance": read.append, "cache": str(cache)}
    first = score_videos(read_submission(str(submission)), shards, **values)
    assert score_videos(read_submission(str(submission)), shards, **values) == first
    assert len(read) == 6


def test_the_command_takes_a_cache_and_several_patterns(rated, tmp_path, capsys):
    submission = tmp_path / "s.csv"
    submission.write_text("Class,Segments\n3,nobody:0\n")
    words = ["--submission", str(submission), "--json", "--quiet"]
    words += ["--data", str(rated / "train*"), "--data", str(rated / "validate*")]
    found = []
    for more in ([], ["--label-cache", str(tmp_path / "labels.npz")]):
        assert yt8m(["score", *words, *more]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0] == found[1]
    assert (tmp_path / "labels.npz").exists()
