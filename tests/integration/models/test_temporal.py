"""Presets that look at frames tell classes apart that the mean over the frames cannot (minutes)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import pytest
from records import make_dataset
from training import make_job

from yt8m.components.artifacts.training_curve import TRAINING, read_curve
from yt8m.components.trainer.backends.in_process import run_job
from yt8m.pipeline.presets import load_config
from yt8m.schemas.features import FeatureConfig

pytestmark = pytest.mark.slow

FEATURES = FeatureConfig(sizes=(64, 16), num_classes=40)
# Reduced in size; rates, schedules and all else are the presets' own.
SMALL = {
    "frame_logistic": {},
    "frame_dbof": {"clusters": 256, "hidden": 64},
    "frame_netvlad": {"clusters": 8, "hidden": 64},
    "frame_nextvlad": {"clusters": 16, "hidden": 64, "groups": 4},
    "frame_lstm": {"cells": 64},
    "frame_transformer": {"width": 64, "feed_forward": 128},
}
CLEARLY = 0.1


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(
        tmp_path_factory.mktemp("temporal"),
        level="frame",
        temporal=True,
        train=3000,
        eval=600,
        classes=FEATURES.num_classes,
        sizes=FEATURES.size_by_name,
        min_frames=30,
        max_frames=40,
    )


@pytest.fixture(scope="module")
def gap_of_the_mean(videos: Path, tmp_path_factory: pytest.TempPathFactory) -> float:
    return _trained_gap("frame_logistic", videos, tmp_path_factory.mktemp("mean"))


@pytest.mark.parametrize("preset", [name for name in SMALL if name != "frame_logistic"])
def test_a_preset_of_frames_clearly_beats_the_mean_of_frames(
    preset: str, videos: Path, gap_of_the_mean: float, tmp_path: Path
) -> None:
    assert _trained_gap(preset, videos, tmp_path) > gap_of_the_mean + CLEARLY


def test_a_transformer_s_token_clearly_beats_it_too(
    videos: Path, gap_of_the_mean: float, tmp_path: Path
) -> None:
    token = {**SMALL["frame_transformer"], "pooling": "cls"}
    assert _trained_gap("frame_transformer", videos, tmp_path, token) > gap_of_the_mean + CLEARLY


def test_a_recurrence_from_both_ends_clearly_beats_it_too(
    videos: Path, gap_of_the_mean: float, tmp_path: Path
) -> None:
    both = {**SMALL["frame_lstm"], "bidirectional": "true"}
    assert _trained_gap("frame_lstm", videos, tmp_path, both) > gap_of_the_mean + CLEARLY


def _trained_gap(
    preset: str, videos: Path, root: Path, model: Mapping[str, object] | None = None
) -> float:
    """GAP on the other videos after seven epochs with small batches, for there are few videos."""
    sizes = SMALL[preset] if model is None else model
    settings = [f"trainer.model.{key}={size}" for key, size in sizes.items()]
    settings += ["trainer.batch_size=32", "trainer.num_epochs=7", "trainer.log.tensorboard=false"]
    settings += ["trainer.evaluation.enabled=false", "trainer.validation.every_steps=100000"]
    trainer = load_config(preset, settings).trainer
    job = make_job(root, level="frame", data=videos)
    run_job(dataclasses.replace(job, features=FEATURES, trainer=trainer), {})
    scores = [r for r in read_curve(f"{job.log_dir}/{TRAINING}") if r["kind"] == "validation"]
    return float(scores[-1]["gap"])
