"""One trial: a training of its own, and the score of the weights that it would have shipped."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from yt8m.components import storage
from yt8m.components.artifacts.training_curve import EVALUATION, TRAINING, read_curve
from yt8m.components.artifacts.tuner_results import tuned_values
from yt8m.components.metrics.catalogue import is_better
from yt8m.components.trainer.config import TrainerConfig
from yt8m.components.trainer.evaluation import early_stopping
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
    """What goes when the search is over; curves and logs stay."""
    storage.remove_tree(storage.join(directory, _CHECKPOINTS))


def score_of(job: TrainingJob, objective: str) -> float:
    """The objective at the step whose weights the training exported; NaN where it has none."""
    row = _exported_row(job.trainer, job.checkpoint_dir)
    value = None if row is None else row.get(objective)
    return math.nan if value is None else float(value)


def _exported_row(trainer: TrainerConfig, checkpoint_dir: str) -> Mapping[str, Any] | None:
    """What was measured of these weights: the best validated, the best evaluated, or the last."""
    evaluated = read_curve(storage.join(checkpoint_dir, EVALUATION))
    if trainer.validation.every_steps is not None and trainer.validation.keep_best:
        curve = read_curve(storage.join(checkpoint_dir, TRAINING))
        return _best([r for r in curve if r["kind"] == "validation"], trainer.validation.metric)
    history = [(row["step"], row) for row in evaluated]
    step = early_stopping.best_step(trainer.early_stopping, history)
    chosen = [row for row in evaluated if step is None or row["step"] == step]
    return chosen[-1] if chosen else None


def _best(rows: list[dict[str, Any]], metric: str) -> Mapping[str, Any] | None:
    best, best_value = None, None
    for row in rows:
        value = row.get(metric)
        if value is not None and is_better(metric, value, best_value):
            best, best_value = row, value
    return best
