"""Published shards, read without TensorFlow: opt-in, for they are not part of the project."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from records import make_dataset, read_all

from yt8m.cli.main import run
from yt8m.components.records.decode import decode_record

REAL = Path(os.environ.get("YT8M_REAL_DATA", Path(__file__).parents[4] / "shared" / "data"))
pytestmark = pytest.mark.real


@pytest.fixture
def shards():
    found = sorted((REAL / "yt8m-real").glob("*.tfrecord"))
    if not found:
        pytest.skip(f"no shards in {REAL / 'yt8m-real'}; set YT8M_REAL_DATA to the folder above")
    return found


def test_inspection_of_published_shards_finds_no_problem(shards, capsys):
    vocabulary = REAL / "vocabulary_short.csv"
    code = run(
        ["data", "inspect", *map(str, shards), "--vocabulary", str(vocabulary), "--json", "--quiet"]
    )
    found = json.loads(capsys.readouterr().out)
    assert (code, found["num_problems"]) == (0, 0)
    assert found["levels"] == {"video": found["records"]}
    assert 2.8 < found["labels"]["sum"] / found["records"] < 3.2


def test_published_records_are_read_as_tensorflow_reads_them(shards):
    for data in read_all(shards[0]):
        ours = decode_record(data).features
        theirs = tf.train.Example.FromString(data).features.feature
        assert ours["id"] == tuple(theirs["id"].bytes_list.value)
        assert ours["labels"].tolist() == list(theirs["labels"].int64_list.value)
        for key in ("mean_rgb", "mean_audio"):
            assert np.array_equal(ours[key], np.float32(theirs[key].float_list.value))


def test_generated_vectors_are_like_published_ones(shards, tmp_path):
    generated = make_dataset(tmp_path / "data", classes=3862, train=284, shards=1)
    for key, tolerance in (("mean_rgb", 0.1), ("mean_audio", 0.1)):
        real, made = (
            np.array([decode_record(data).features[key] for data in read_all(path)])
            for path in (shards[0], generated / "train0000.tfrecord")
        )
        assert abs(real.std() - made.std()) < tolerance
        assert abs(real.mean() - made.mean()) < 0.02
        assert real.min() - 0.01 <= made.min()
        assert made.max() <= real.max() + 0.01
