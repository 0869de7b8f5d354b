"""The fitted weights are the most likely ones."""

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from records import edit_record, make_dataset, set_feature

from yt8m.components.export.load import Scores
from yt8m.components.extras.ensembles.weights import _marked, fit_weights, maximise
from yt8m.components.inputs.labels import LabelRequest, parse_labels
from yt8m.components.records.find import find_shards
from yt8m.schemas.errors import DataError
from yt8m.schemas.features import FeatureConfig, Level

CLASSES = 20


@pytest.mark.parametrize("seed", range(5))
def test_no_weights_on_a_fine_grid_are_more_likely(seed):
    likelihoods = np.random.default_rng(seed).beta(2, 1, (2, 400)) ** np.array([[1.0], [1.3]])
    weights = maximise(likelihoods)
    assert weights.sum() == pytest.approx(1)
    grid = np.linspace(0, 1, 2001)
    mixtures = grid[:, None] * likelihoods[0] + (1 - grid)[:, None] * likelihoods[1]
    best = grid[np.log(mixtures).sum(axis=1).argmax()]
    assert weights[0] == pytest.approx(best, abs=2e-3)


def test_a_member_that_knows_nothing_gets_nothing_and_equals_share():
    good = np.random.default_rng(0).uniform(0.6, 0.9, 500)
    assert maximise(np.stack([good, np.full(500, 0.1)]))[0] == pytest.approx(1, abs=1e-3)
    assert maximise(np.stack([good, good, good])) == pytest.approx([1 / 3] * 3)


def test_every_class_counts_and_padding_does_not():
    marks = _marked(np.array([[0, 2, -1], [1, -1, -1]]), 2, 3)
    assert marks.tolist() == [[True, False, True], [False, True, False]]


def member(name, *, level=Level.VIDEO, classes=CLASSES, value=0.5, of=b""):
    """Scores 0.5, and `value` once for the video `of`."""

    def score_records(records):
        rows = parse_labels(records, LabelRequest(level=level, features=FeatureConfig()))
        scores = np.full((len(rows), classes), 0.5, np.float32)
        scores[rows.ids == of, 3] = value
        return Scores(scores=tf.constant(scores), ids=rows.ids, starts=rows.starts)

    return SimpleNamespace(directory=name, score_records=score_records)


def fit(members, data, level=Level.VIDEO):
    return fit_weights(members, find_shards(str(data)), level=level, advance=lambda count: None)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_member_that_gives_no_number_is_named_with_the_video(tmp_path, value):
    shard = make_dataset(tmp_path / "data", train=8, shards=1) / "train0000.tfrecord"
    edit_record(shard, 5, set_feature("id", (b"odd",)))
    members = [member("good"), member("bad", value=value, of=b"odd")]
    with pytest.raises(DataError, match=f"video odd: bad predicts {value}, no number"):
        fit(members, shard)


def test_members_of_unlike_numbers_of_classes_are_named(tmp_path):
    shard = make_dataset(tmp_path / "data", train=8, shards=1) / "train0000.tfrecord"
    with pytest.raises(DataError, match="small scores 19 classes, and good 20"):
        fit([member("good"), member("small", classes=19)], shard)


def test_a_label_that_no_member_knows_is_named_with_the_video(tmp_path):
    shard = make_dataset(tmp_path / "data", train=8, shards=1) / "train0000.tfrecord"
    edit_record(shard, 5, set_feature("id", (b"odd",)))
    edit_record(shard, 5, set_feature("labels", [3, CLASSES]))
    with pytest.raises(DataError, match="video odd: label 20 is not one of the 20 classes"):
        fit([member("good"), member("other")], shard)


def test_records_without_labels_are_refused_and_ratings_are_enough(tmp_path):
    data = make_dataset(tmp_path / "video", train=8, test=8, shards=1)
    assert fit([member("a"), member("b")], data / "train*")[1] == 8
    with pytest.raises(DataError, match="holds no labelled rows"):
        fit([member("a"), member("b")], data / "test*")
    segments = make_dataset(tmp_path / "segment", level="segment", train=1, shards=1)
    shard = segments / "train0000.tfrecord"
    for name, column in (
        ("segment_start_times", [0, 5]),
        ("segment_labels", [1, 2]),
        ("segment_scores", np.zeros(2, np.float32)),
    ):
        edit_record(shard, 0, set_feature(name, column))
    rated = [member(name, level=Level.SEGMENT) for name in "ab"]
    assert fit(rated, shard, Level.SEGMENT)[1] == 2
