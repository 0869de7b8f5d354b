"""`tuner_fn`, which TFX's Tuner calls by its dotted path."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from tfx.components.tuner.component import TunerFnResult

from yt8m.components.artifacts.manifest import Manifest
from yt8m.components.artifacts.read import read_file
from yt8m.components.trainer.backends.run import job_of
from yt8m.components.trainer.job import TrainingJob
from yt8m.components.tuner.config import TunerConfig
from yt8m.components.tuner.search import TrialSearch
from yt8m.schemas.config_tree import from_dict, to_dict
from yt8m.schemas.errors import DataError


def tuner_fn(fn_args: Any) -> TunerFnResult:  # Any: TFX's FnArgs is an attrs class without types
    """The search that `custom_config` describes, over trainings like the Trainer's."""
    config = from_dict(TunerConfig, fn_args.custom_config["tuner"], path="tuner")
    job = job_of(fn_args)
    _check_validation(job)
    directory = _directory(config, job)
    directory.mkdir(parents=True, exist_ok=True)
    return TunerFnResult(tuner=TrialSearch(config, job, directory=str(directory)), fit_kwargs={})


def _check_validation(job: TrainingJob) -> None:
    split = job.trainer.validation_split
    manifest = read_file(job.manifest, Manifest.from_json)
    if not manifest.split(split):
        raise DataError(
            f"trainer.validation_split = {split}: the examples have no such split, and trials are "
            f"scored on it; known: {', '.join(manifest.split_names) or 'none'}"
        )


def _directory(config: TunerConfig, job: TrainingJob) -> Path:
    """Beside the checkpoints of what will be trained; another search has another one.

    TFX gives every attempt a directory of its own, in which nothing would be found again.
    """
    checkpoints = Path(job.checkpoint_dir)
    parts = json.dumps([checkpoints.name, to_dict(config)], sort_keys=True)
    key = hashlib.sha256(parts.encode()).hexdigest()[:16]
    return checkpoints.with_name(f"tuner-{key}")
