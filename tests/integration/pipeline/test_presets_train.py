"""Every preset trains and exports, its networks reduced in size and in nothing else (minutes)."""

import dataclasses
import math

import pytest
from records import make_dataset
from training import CLASSES, make_job

from yt8m.components.artifacts.training_curve import TRAINING, read_curve
from yt8m.components.export.load import load_export
from yt8m.components.trainer.backends.in_process import run_job
from yt8m.pipeline.presets import list_presets, load_config
from yt8m.schemas.config_tree import to_dict
from yt8m.schemas.features import Level

STEPS = 3
SMALL = {
    "width": 32,
    "clusters": 8,
    "hidden": 16,
    "frames": 5,
    "cells": 16,
    "groups": 2,
    "gating_reduction": 2,
}


def reduced(name):
    """The preset, loaded with small sizes where its model has them, and few steps."""
    model = to_dict(load_config(name).trainer.model)
    sizes = {key: size for key, size in SMALL.items() if key in model}
    settings = [f"trainer.model.{key}={size}" for key, size in sizes.items()]
    settings += ["trainer.batch_size=8", f"trainer.max_steps={STEPS}", "trainer.num_epochs=null"]
    settings += [f"features.num_classes={CLASSES}", "trainer.log.every_steps=1"]
    settings += ["trainer.xla=off", "trainer.precision=fp32", "trainer.steps_per_loop=1"]
    settings += ["trainer.evaluation.enabled=false", "trainer.log.tensorboard=false"]
    return load_config(name, settings)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    return {
        level: make_dataset(root / level.value, level=level.value, classes=CLASSES, train=64)
        for level in Level
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", [preset.name for preset in list_presets()])
def test_preset_trains_on_generated_data_and_exports_its_model(name, data, tmp_path):
    config = reduced(name)
    level = config.data.level
    job = make_job(tmp_path, level=level.value, data=data[level])
    run_job(dataclasses.replace(job, trainer=config.trainer), {})
    rows = [r for r in read_curve(f"{job.log_dir}/{TRAINING}") if r["kind"] == "train"]
    losses = [row["loss"] for row in rows]
    assert len(losses) == STEPS
    assert all(math.isfinite(loss) for loss in losses)
    model = load_export(job.export_dir)
    assert (model.info.level, model.info.features.num_classes) == (level, CLASSES)
