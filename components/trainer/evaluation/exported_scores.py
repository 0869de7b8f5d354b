"""Metrics of the weights that a training exported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from yt8m.components import storage
from yt8m.components.artifacts.training_curve import EVALUATION, TRAINING, read_curve
from yt8m.components.metrics.catalogue import MetricInfo, is_better
from yt8m.components.trainer.config import TrainerConfig
from yt8m.components.trainer.evaluation import early_stopping
from yt8m.components.trainer.metrics import metrics_of


def exported_row(config: TrainerConfig, checkpoint_dir: str) -> Mapping[str, Any] | None:
    """The row of the curve: the best validated, the best evaluated, or the last; None for none."""
    evaluated, known = read_curve(storage.join(checkpoint_dir, EVALUATION)), metrics_of(config)
    if config.validation.every_steps is not None and config.validation.keep_best:
        curve = read_curve(storage.join(checkpoint_dir, TRAINING))
        rows = [row for row in curve if row["kind"] == "validation"]
        return _best(rows, config.validation.metric, known)
    history = [(row["step"], row) for row in evaluated]
    step = early_stopping.best_step(config.early_stopping, history, known)
    chosen = [row for row in evaluated if step is None or row["step"] == step]
    return chosen[-1] if chosen else None


def _best(
    rows: list[dict[str, Any]], metric: str, known: Sequence[MetricInfo]
) -> Mapping[str, Any] | None:
    best, best_value = None, None
    for row in rows:
        value = row.get(metric)
        if value is not None and is_better(metric, value, best_value, known):
            best, best_value = row, value
    return best
