"""Trainings at every level: all kinds of records, of inputs and of heads end in a better model."""

import dataclasses

import numpy as np
import pytest
from records import read_all
from training import CLASSES, make_job

from yt8m.components.artifacts.training_curve import TRAINING, read_curve
from yt8m.components.export.load import load_export
from yt8m.components.trainer.backends.in_process import run_job
from yt8m.schemas.features import FeatureConfig

LSTM = {"name": "rnn", "cells": 8, "layers": 1}
CASES = {
    "video": ("video", {"num_epochs": 1.5, "max_steps": None}),
    "frame": ("frame", {"model": LSTM}),
    "frame, in buckets": (
        "frame",
        {"model": LSTM, "inputs": {"bucket_batches": 3, "bucket_multiple": 2}, "accumulate": 2},
    ),
    "frame, sampled": (
        "frame",
        {"model": {"name": "dbof", "clusters": 16, "hidden": 8, "frames": 5}},
    ),
    "segment": (
        "segment",
        {
            "model": {"name": "frame_logistic"},
            "heads": [{"name": "segments"}, {"name": "entities", "weight": 0.1}],
        },
    ),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    from records import make_dataset

    values = {"classes": CLASSES, "train": 400, "eval": 100, "min_frames": 9, "max_frames": 20}
    return {
        level: make_dataset(tmp_path_factory.mktemp(level), level=level, **values)
        for level in ("video", "frame", "segment")
    }


LONG = ("frame", "frame, in buckets", "segment")


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, marks=pytest.mark.slow if c in LONG else ()) for c in CASES],
)
def test_training_makes_a_model_better_on_unseen_records(tmp_path, data, case):
    level, trainer = CASES[case]
    settings = {"max_steps": 40, "optimizer": {"name": "adam", "learning_rate": 0.02}}
    settings["validation"] = {"every_steps": 20, "metric": "loss"}
    job = make_job(tmp_path, level=level, data=data[level], **{**settings, **trainer})
    run_job(job, {})
    rows = read_curve(f"{job.log_dir}/{TRAINING}")
    found = [row for row in rows if row["kind"] == "validation"]
    assert min(row["loss"] for row in found) < 0.95 * found[0]["loss"]
    assert max(row["gap"] for row in found) > 1.4 * found[0]["gap"]
    trained = [row for row in rows if row["kind"] == "train"]
    assert trained[-1]["loss"] < trained[0]["loss"]
    if "num_epochs" in trainer:
        assert trained[-1]["step"] == round(1.5 * 400 / job.trainer.batch_size)
    model = load_export(job.export_dir)
    records = read_all(sorted(data[level].glob("validate*"))[0])
    scores = model.score(examples=records)["scores"].numpy()
    assert scores.shape[1] == CLASSES
    assert len(scores) >= len(records)  # a segment is a row of its own


@pytest.mark.parametrize(
    "level", ["video", "segment", pytest.param("frame", marks=pytest.mark.slow)]
)
def test_a_feature_set_of_ones_own_is_trained_on_and_its_model_reads_the_same_records(
    tmp_path, data, level
):
    trainer = {**CASES[level][1], "num_epochs": None, "max_steps": 3}
    job = make_job(tmp_path, level=level, data=data[level], **trainer)
    features = FeatureConfig(names=("audio",), sizes=(128,), num_classes=CLASSES)
    run_job(dataclasses.replace(job, features=features), {})
    records = read_all(sorted(data[level].glob("validate*"))[0])
    scores = load_export(job.export_dir).score(examples=records)["scores"].numpy()
    assert scores.shape[1] == CLASSES
    assert np.isfinite(scores).all()
    assert scores.std() > 0
