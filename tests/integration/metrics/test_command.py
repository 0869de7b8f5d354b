"""`yt8m metrics` as a process: one JSON object, and one sentence where the file is wrong."""

import json
import subprocess
import sys

import metric_oracle as oracle
import numpy as np
import pytest

CODE = "import sys; from yt8m.cli.main import main; main(sys.argv[1:])"


def metrics(*arguments):
    return subprocess.run(
        [sys.executable, "-c", CODE, "metrics", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def arrays(**changes):
    rng = np.random.default_rng(0)
    predictions = rng.random((30, 25))
    values = {"predictions": predictions, "labels": (rng.random((30, 25)) < 0.1).astype(np.uint8)}
    return {**values, **changes}


def test_one_object_with_the_five_values(tmp_path):
    values = arrays()
    np.savez(tmp_path / "a.npz", **values)
    done = metrics(tmp_path / "a.npz", "--top-k", 5, "--top-n", 3, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    lists, labels = values["predictions"].tolist(), oracle.label_sets(values["labels"])
    assert result == {
        "hit_at_1": pytest.approx(oracle.hit_at_1(lists, labels)),
        "perr": pytest.approx(oracle.perr(lists, labels)),
        "gap": pytest.approx(oracle.gap(lists, labels, 5)),
        "map": pytest.approx(oracle.mean_ap(lists, labels, 5, top_n=3)),
        "videos": 30,
    }


def test_what_is_undefined_is_null(tmp_path):
    np.savez(tmp_path / "a.npz", **arrays(labels=np.zeros((30, 25))))
    result = json.loads(metrics(tmp_path / "a.npz", "--json").stdout)
    assert (result["map"], result["gap"], result["hit_at_1"]) == (None, 0.0, 0.0)
    np.savez(tmp_path / "b.npz", predictions=np.zeros((0, 5)), labels=np.zeros((0, 5)))
    result = json.loads(metrics(tmp_path / "b.npz", "--json").stdout)
    assert result == {"hit_at_1": None, "perr": None, "gap": 0.0, "map": None, "videos": 0}


BROKEN = arrays()["predictions"]
BROKEN[7, 2] = np.nan


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"predictions": BROKEN}, "video number 7: the model predicts nan"),
        ({"predictions": BROKEN, "ids": [f"id{i}" for i in range(30)]}, "video id7: "),
        ({"ids": ["id0", "id1"]}, "ids have shape (2,): expected [30], one a video"),
        ({"labels": np.zeros((30, 24))}, "labels have shape (30, 24), predictions (30, 25)"),
        ({"predictions": np.zeros(30)}, "expected [videos, classes]"),
        ({"predictions": np.full((30, 25), "x")}, "not numbers"),
    ],
)
def test_wrong_arrays_are_explained_in_a_sentence(tmp_path, changes, words):
    np.savez(tmp_path / "a.npz", **arrays(**changes))
    done = metrics(tmp_path / "a.npz")
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_files_that_are_no_npz_are_explained_in_a_sentence(tmp_path):
    (tmp_path / "text.npz").write_text("hello")
    np.save(tmp_path / "one.npy", np.zeros(3))
    np.savez(tmp_path / "other.npz", scores=np.zeros(3))
    np.savez(tmp_path / "cut.npz", **arrays())
    (tmp_path / "cut.npz").write_bytes((tmp_path / "cut.npz").read_bytes()[:-100])
    for name, words in (
        ("text.npz", "not a readable .npz file"),
        ("one.npy", "one array"),
        ("other.npz", "no array predictions or labels; it holds scores"),
        ("cut.npz", "not a readable .npz file"),
        ("none.npz", "no such file"),
    ):
        done = metrics(tmp_path / name)
        assert done.returncode == 2, name
        assert words in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("value", ["0", "-1", "x", "1.5"])
def test_top_k_is_a_positive_whole_number(tmp_path, value):
    done = metrics(tmp_path / "a.npz", "--top-k", value)
    assert done.returncode == 2
    assert "whole number" in done.stderr or "expected one argument" in done.stderr
