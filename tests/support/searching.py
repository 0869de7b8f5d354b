"""A search over tiny trainings, as TFX's Tuner begins one. As a script: to its end."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from training import CLASSES, make_manifest, trainer_config

from yt8m.schemas.config_tree import to_dict
from yt8m.schemas.features import FeatureConfig

RATE = "trainer.optimizer.learning_rate"
SPACE = {RATE: {"log": [1e-4, 1e-1]}, "trainer.batch_size": {"choice": [8, 16]}}


def make_fn_args(root: Path, data: Path, tuner: dict[str, Any], **trainer: Any) -> Any:
    """What TFX hands to `tuner_fn` and `run_fn`."""
    make_manifest(root / "examples", data, level="video")
    return SimpleNamespace(
        train_files=[str(root / "examples/Split-train/*")],
        eval_files=[],
        transform_output=None,
        base_model=None,
        hyperparameters=None,
        serving_model_dir=str(root / "model/Format-Serving"),
        model_run_dir=str(root / "model_run"),
        custom_config={
            "config": to_dict(trainer_config(**trainer)),
            "features": to_dict(FeatureConfig(num_classes=CLASSES)),
            "level": "video",
            "checkpoint_root": str(root / "checkpoints"),
            "tuner": {"space": SPACE, **tuner},
        },
    )


def directory_of(root: Path) -> Path:
    """Of the only search below `root`."""
    (found,) = (root / "checkpoints").glob("tuner-*")
    return found / "search"


def trials_of(root: Path) -> dict[str, Any]:
    """What the search says of each of its trials, by their ids."""
    texts = [path.read_text() for path in directory_of(root).glob("trial_*/trial.json")]
    return {trial["trial_id"]: trial for trial in map(json.loads, texts)}


def main() -> None:
    from yt8m.components.tuner.run import tuner_fn

    root, data, tuner, trainer = sys.argv[1:]
    fn_args = make_fn_args(Path(root), Path(data), json.loads(tuner), **json.loads(trainer))
    tuner_fn(fn_args).tuner.search()


if __name__ == "__main__":
    main()
