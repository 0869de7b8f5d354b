"""Batches that have a share of each of several splits."""

import dataclasses
from collections import Counter

import numpy as np
import pytest
from checkpoint_values import assert_bitwise_equal, largest_difference
from records import make_dataset
from training import CLASSES, make_job, train

from yt8m.components.inputs.dataset import dataset_for_scoring, dataset_for_training
from yt8m.components.trainer.backends.in_process import run_job
from yt8m.components.trainer.input import load_data
from yt8m.components.trainer.mixture import slices_of_splits
from yt8m.components.trainer.network import heads_of, network_of
from yt8m.schemas.errors import ConfigError

SHARES = {"mixture": [{"split": "eval", "share": 0.25}]}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("mixture") / "data", classes=CLASSES)


def contents(rows):
    return [row.tobytes() for row in rows.numpy()]


def everything(source):
    (batch,) = dataset_for_scoring(source, batch_size=10_000)
    return contents(batch["rgb"])


def test_each_batch_has_its_share_of_each_split_and_each_row_comes_once_an_epoch(data, tmp_path):
    job = make_job(tmp_path, data=data, **SHARES)
    found = load_data(job)
    train_rows, eval_rows = everything(found.train), everything(found.mixture["eval"])
    batches = iter(found.batches(found.reading(8, examples=0)))
    first, second = [], []
    for _ in range(max(len(train_rows) // 6, len(eval_rows) // 2)):
        batch = next(batches)
        assert batch["rgb"].shape[0] == batch["labels"].shape[0] == 8
        first += contents(batch["rgb"][:6])
        second += contents(batch["rgb"][6:])
    for seen, rows in ((first, train_rows), (second, eval_rows)):
        whole = len(seen) // len(rows) * len(rows)
        epochs = len(seen) // len(rows)
        assert epochs or set(seen) <= set(rows)
        if epochs:
            assert Counter(seen[:whole]) == Counter(rows * epochs)


def test_two_workers_share_the_rows_that_one_has(data, tmp_path):
    found = load_data(make_job(tmp_path, data=data, **SHARES))
    reading = found.reading(8, examples=16)
    alone = next(iter(found.batches(reading)))
    parts = [
        next(iter(found.batches(dataclasses.replace(reading, num_workers=2, worker_index=i))))
        for i in range(2)
    ]
    both = [row for part in parts for row in contents(part["rgb"])]
    assert Counter(both) == Counter(contents(alone["rgb"]))


def test_a_mixture_that_is_continued_ends_with_the_same_bits(data, tmp_path):
    whole = train(tmp_path / "whole", data, max_steps=8, **SHARES)
    train(tmp_path / "parts", data, max_steps=5, **SHARES)
    parts = train(tmp_path / "parts", data, max_steps=8, **SHARES)
    assert_bitwise_equal(whole.checkpoint_dir, parts.checkpoint_dir)


def test_a_head_of_all_splits_is_the_head_that_names_none(data, tmp_path):
    jobs = [
        train(tmp_path / name, data, heads=[{"name": "entities", **more}], **SHARES)
        for name, more in (("none", {}), ("all", {"splits": ["train", "eval"]}))
    ]
    assert largest_difference(*(job.checkpoint_dir for job in jobs)) < 1e-5


def test_epochs_are_of_the_training_split(data, tmp_path):
    found = load_data(make_job(tmp_path, data=data, **SHARES))
    assert found.epoch_rows(8) == round(found.train_examples * 8 / 6)


@pytest.fixture(scope="module")
def rated(tmp_path_factory):
    """Rated segments to train on, and whole videos, without ratings, in the other split."""
    root = tmp_path_factory.mktemp("rated")
    data = make_dataset(root / "data", level="segment", classes=CLASSES)
    videos = make_dataset(root / "videos", level="frame", classes=CLASSES, seed=1)
    for path in videos.glob("validate*"):
        path.replace(data / path.name)
    return data


VIDEOS = {"mixture": [{"split": "eval", "share": 0.5, "whole_videos": True}]}
BOTH = [{"name": "segments", "splits": ["train"]}, {"name": "entities", "splits": ["eval"]}]


def test_whole_videos_beside_rated_segments_are_what_each_would_be_alone(rated, tmp_path):
    job = make_job(tmp_path / "mixed", level="segment", data=rated, heads=BOTH, **VIDEOS)
    found = load_data(job)
    reading = found.reading(8, examples=0)
    batch = next(iter(found.batches(reading)))
    assert batch["rgb"].shape[0] == 8
    segments, videos = slices_of_splits(job.trainer.mixture, reading)
    alone = [
        next(iter(dataset_for_training(source, part)))
        for source, part in ((found.train, segments), (found.mixture["eval"], videos))
    ]
    assert alone[0]["num_frames"].numpy().max() <= 5 < alone[1]["num_frames"].numpy().min()
    heads = heads_of(job)
    network = network_of(job, heads, compute_dtype="float32")
    outputs = network(batch)
    for number, (head, part) in enumerate(zip(heads, alone, strict=True)):
        rows = slice(4 * number, 4 * number + 4)
        one = network(part)[head.name]
        np.testing.assert_allclose(outputs[head.name][rows], one, rtol=1e-4, atol=1e-6)
        plain = dataclasses.replace(head, splits=())
        together = network.head_loss(head, batch, outputs[head.name])
        assert float(together) == pytest.approx(
            float(network.head_loss(plain, part, one)), rel=1e-4
        )
        assert float(network.normaliser(head, batch)) == float(network.normaliser(plain, part)) == 4


@pytest.mark.parametrize("name", ["frame_logistic", "dbof"])
def test_a_training_on_both_is_resumed_with_the_same_bits(rated, tmp_path, name):
    sizes = {"clusters": 8, "hidden": 8} if name == "dbof" else {}
    settings = {"heads": BOTH, "model": {"name": name, **sizes}, **VIDEOS}
    for place, steps in (("whole", 6), ("parts", 3), ("parts", 6)):
        root = tmp_path / place
        run_job(make_job(root, level="segment", data=rated, max_steps=steps, **settings), {})
    assert_bitwise_equal(tmp_path / "whole" / "checkpoints", tmp_path / "parts" / "checkpoints")


@pytest.mark.parametrize("splits", [[], ["train", "eval"]])
def test_ratings_are_learned_from_splits_that_have_them(rated, tmp_path, splits):
    heads = [{"name": "segments", "splits": splits}, {"name": "entities"}]
    with pytest.raises(ConfigError, match=r"segments\.splits = .*: must be the splits with"):
        make_job(tmp_path, level="segment", data=rated, heads=heads, **VIDEOS)


@pytest.mark.parametrize(
    ("mixture", "message"),
    [
        ([{"split": "nowhere", "share": 0.5}], r"trainer.mixture: .* no records of 'nowhere'"),
        ([{"split": "eval", "share": 0.01}], r"is 0 of the 8 rows"),
        ([{"split": "eval", "share": 0.9}, {"split": "eval", "share": 0.2}], "below 1 together"),
    ],
)
def test_shares_that_cannot_be_are_refused(data, tmp_path, mixture, message):
    with pytest.raises(ConfigError, match=message):
        train(tmp_path, data, mixture=mixture)
