"""What is done beside training, at which points of the loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from yt8m.components.trainer.evaluation.split_scorer import SplitScores
from yt8m.components.trainer.loop.training_log import TrainingLog


@dataclass(frozen=True, kw_only=True)
class Hooks:
    """What is done beside training; processes other than the chief do but validate."""

    log: TrainingLog | None = None
    validate: Callable[[list[Any]], SplitScores] | None = None  # weights, as numpy arrays
    saved: Callable[[str, bool], object] | None = None  # path of a checkpoint; is it the last
    should_stop: Callable[[], bool] | None = None  # early stopping
