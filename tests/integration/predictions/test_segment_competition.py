"""From rated segments to the 2019 competition's file, and what its metric says of it."""

import json
from pathlib import Path

import numpy as np
import pytest
from records import make_dataset, read_all
from training import CLASSES, make_job

from yt8m.cli.main import run as yt8m
from yt8m.components.records.decode import decode_record
from yt8m.components.trainer.backends.in_process import run_job

TRAINED = {
    "model": {"name": "frame_logistic"},
    "heads": [{"name": "segments"}],
    "max_steps": 150,
    "batch_size": 32,
    "optimizer": {"name": "adam", "learning_rate": 0.02},
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A model of segments that was trained on rated ones, and others to predict."""
    root = tmp_path_factory.mktemp("segments")
    data = make_dataset(
        root / "data",
        level="segment",
        train=500,
        eval=150,
        classes=CLASSES,
        shards=3,
        min_frames=15,
        max_frames=30,
    )
    job = make_job(root, level="segment", data=data, **TRAINED)
    run_job(job, {})
    return data, job.export_dir


def ratings(data):
    """Rated segments, and how often each class was rated present."""
    segments, counts = [], np.zeros(CLASSES, int)
    for path in sorted(data.glob("validate*")):
        for record in map(decode_record, read_all(path)):
            name = record.features["id"][0].decode()
            segments += [f"{name}:{start}" for start in record.features["segment_start_times"]]
    for path in sorted(data.glob("train*")):
        for record in map(decode_record, read_all(path)):
            present = np.asarray(record.features["segment_scores"]) >= 0.5
            counts += np.bincount(
                np.asarray(record.features["segment_labels"])[present], minlength=CLASSES
            )
    return sorted(set(segments)), counts


def score(path, data, capsys):
    capsys.readouterr()
    words = ["--submission", str(path), "--data", str(data / "validate*"), "--json"]
    assert yt8m(["score", "--quiet", *words]) == 0
    return json.loads(capsys.readouterr().out)


def write(path: Path, rows) -> Path:
    path.write_text("Class,Segments\n" + "".join(f"{c},{' '.join(s)}\n" for c, s in rows))
    return path


def test_the_models_submission_is_far_above_a_random_and_a_most_frequent_class_one(
    world, tmp_path, capsys
):
    data, model = world
    segments, counts = ratings(data)
    classes = np.flatnonzero(counts)
    (tmp_path / "classes.csv").write_text("Index\n" + "\n".join(map(str, classes)))
    out = tmp_path / "submission.csv"
    words = ["--model", model, "--data", str(data / "validate*"), "--out", str(out)]
    allowed = ["--segment-classes", str(tmp_path / "classes.csv")]
    assert yt8m(["predict", "--quiet", *words, "--format", "segment", *allowed]) == 0
    trained = score(out, data, capsys)
    assert trained["unknown_segments"] == trained["missing_classes"] == 0

    rng = np.random.default_rng(0)
    shuffled = write(tmp_path / "random.csv", [(c, rng.permutation(segments)) for c in classes])
    most = int(counts.argmax())
    frequent = write(tmp_path / "frequent.csv", [(most, segments)])
    random_map, frequent_map = (score(p, data, capsys)["map"] for p in (shuffled, frequent))
    print(f"MAP {trained['map']:.3f}, random {random_map:.3f}, frequent {frequent_map:.3f}")
    assert trained["map"] > random_map + 0.1
    assert trained["map"] > frequent_map + 0.1


def test_windows_of_unrated_videos_make_a_whole_submission(world, tmp_path):
    model = world[1]
    unrated = make_dataset(
        tmp_path / "data",
        level="segment",
        train=0,
        eval=0,
        test=20,
        classes=CLASSES,
        min_frames=15,
        max_frames=30,
    )
    out = tmp_path / "submission.csv"
    words = ["--model", model, "--data", str(unrated / "test*"), "--out", str(out)]
    assert yt8m(["predict", "--quiet", *words, "--format", "segment"]) == 0
    header, *lines = out.read_text().splitlines()
    assert header == "Class,Segments"
    expected = {
        f"{record.features['id'][0].decode()}:{start}"
        for path in unrated.glob("test*")
        for record in map(decode_record, read_all(path))
        for start in range(0, record.num_frames, 5)
    }
    assert [line.partition(",")[0] for line in lines] == [str(c) for c in range(CLASSES)]
    assert all(set(line.partition(",")[2].split()) == expected for line in lines)
