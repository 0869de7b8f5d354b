"""Tiny training jobs, ready to run in this process or in others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from records import make_dataset, shard_of

from yt8m.components.artifacts.manifest import Manifest
from yt8m.components.trainer.job import TrainingJob
from yt8m.schemas.config_layers import overlay
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.features import FeatureConfig, Level

CLASSES = 20
TRAINER: dict[str, Any] = {
    "batch_size": 8,
    "num_epochs": None,
    "max_steps": 6,
    "precision": "fp32",
    "optimizer": {"name": "adam", "learning_rate": 0.01},
    "log": {"every_steps": 2, "tensorboard": False},
    "evaluation": {"enabled": False},
    "distribution": {"peer_timeout_s": 90, "worker_stagger_s": 0},
}


def make_job(
    root: Path, *, level: str = "video", data: Path | None = None, **trainer: Any
) -> TrainingJob:
    """A job below `root` on generated data; `trainer` goes on top of TRAINER."""
    data = data or make_dataset(root / "data", level=level, classes=CLASSES)
    return TrainingJob(
        manifest=str(make_manifest(root, data, level=level)),
        checkpoint_dir=str(root / "checkpoints"),
        log_dir=str(root / "logs"),
        export_dir=str(root / "export"),
        level=Level(level),
        features=FeatureConfig(num_classes=CLASSES),
        trainer=trainer_config(**trainer),
    )


def train(root: Path, data: Path, **trainer: Any) -> TrainingJob:
    """The job of `make_job`, trained in this process."""
    from yt8m.components.trainer.backends.in_process import run_job

    job = make_job(root, data=data, **trainer)
    run_job(job, {})
    return job


def rows(job: TrainingJob, kind: str, name: str = "training.jsonl") -> list[dict[str, Any]]:
    """Rows of one kind of the training's curve, or of the curve `name`."""
    from yt8m.components.artifacts.training_curve import read_curve

    return [row for row in read_curve(f"{job.log_dir}/{name}") if row["kind"] == kind]


def trainer_config(**trainer: Any) -> Any:
    """TRAINER with `trainer` on top."""
    from yt8m.components.trainer.config import TrainerConfig

    return from_dict(TrainerConfig, overlay(TrainerConfig, TRAINER, trainer))


def make_manifest(root: Path, data: Path, *, level: str) -> Path:
    """The manifest of generated files, as ExampleGen would write it."""
    shards = [
        shard_of(path, split)
        for split, prefix in (("train", "train"), ("eval", "validate"))
        for path in sorted(data.glob(f"{prefix}*.tfrecord"))
    ]
    root.mkdir(parents=True, exist_ok=True)
    path = root / "manifest.json"
    path.write_text(Manifest(level=Level(level), shards=tuple(shards)).to_json())
    return path
