"""One trial: a training, and the score of the weights that it would export."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from yt8m.components import storage
from yt8m.components.artifacts.tuner_results import tuned_values
from yt8m.components.trainer.evaluation.exported_scores import exported_row
from yt8m.components.trainer.hyperparameters import with_values
from yt8m.components.trainer.job import TrainingJob

# Hyperband's notes in a trial's values.
_EPOCHS = "tuner/epochs"
_CONTINUED = "tuner/trial_id"
_CHECKPOINTS, _LOGS, _EXPORT = "checkpoints", "logs", "export"


def trial_job(job: TrainingJob, directory: str, values: Mapping[str, Any]) -> TrainingJob:
    """The training of a trial in `directory`; `job` is what all of a search have in common."""
    trainer = with_values(job.trainer, tuned_values(values))
    if _EPOCHS in values:
        trainer = replace(trainer, num_epochs=float(values[_EPOCHS]), max_steps=None)
    return replace(
        job,
        trainer=trainer,
        checkpoint_dir=storage.join(directory, _CHECKPOINTS),
        log_dir=storage.join(directory, _LOGS),
        export_dir=storage.join(directory, _EXPORT),
    )


def continued_trial(values: Mapping[str, Any]) -> str:
    """The trial whose weights this one goes on from; empty for one that begins anew."""
    return str(values.get(_CONTINUED, ""))


def continue_from(directory: str, earlier: str) -> None:
    """The trial in `directory` goes on from the one in `earlier`, unless it has begun."""
    target = storage.join(directory, _CHECKPOINTS)
    if storage.exists(target):
        return
    partial = f"{target}.partial"  # of a process that was killed meanwhile
    storage.remove_tree(partial)
    storage.copy_tree(storage.join(earlier, _CHECKPOINTS), partial)
    storage.rename(partial, target)


def remove_checkpoints(directory: str) -> None:
    """Remove the checkpoints of a finished search; curves and logs stay."""
    storage.remove_tree(storage.join(directory, _CHECKPOINTS))


def score_of(job: TrainingJob, objective: str) -> float:
    """The objective at the step whose weights the training exported; NaN where it has none."""
    row = exported_row(job.trainer, job.checkpoint_dir)
    value = None if row is None else row.get(objective)
    return math.nan if value is None else float(value)
