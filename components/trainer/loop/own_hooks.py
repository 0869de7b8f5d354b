"""The trainer's own hooks but the log: when to save, what validations decide, and what ends it."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from yt8m.components.metrics.catalogue import MetricInfo
from yt8m.components.trainer.config import CheckpointConfig, InTrainingValidationConfig
from yt8m.components.trainer.evaluation.continuous_eval import InProcessEvaluation
from yt8m.components.trainer.evaluation.split_scorer import SplitScores
from yt8m.components.trainer.loop.divergence import diverged
from yt8m.components.trainer.loop.hook import Hook, Steps, Training
from yt8m.components.trainer.state import plateau
from yt8m.components.trainer.state.plateau import PlateauState

_log = logging.getLogger(__name__)


class Plateau(Hook):
    """Validations that halve the rate, return to the best weights and end the training."""

    name = "plateau"

    def __init__(
        self, config: InTrainingValidationConfig, metrics: Sequence[MetricInfo] = ()
    ) -> None:
        """`metrics` are those that validations compute."""
        self._config, self._metrics, self.decided = config, metrics, PlateauState()
        self.every_steps = config.every_steps

    def before_training(self, training: Training) -> None:
        self._apply(training)

    def wants_validation(self, training: Training) -> bool:
        """Each nth step, from step 0 on, and the last one."""
        return plateau.is_due(
            self._config, self.decided, training.step, is_last=training.step >= training.last_step
        )

    def after_validation(self, training: Training, scores: SplitScores, seconds: float) -> None:
        score = scores.to_dict()[self._config.metric] if scores.is_finite else math.nan
        value = training.collectives.broadcast_from_chief(score)
        if value != value and not training.can_go_back:
            training.collectives.leave()
            raise diverged(training.step, training.config.network)
        decision = plateau.decide(
            self._config, self.decided, value=value, step=training.step, known=self._metrics
        )
        self.decided = decision.state
        if decision.is_better:
            training.checkpoints.save_best(training.step)
        if decision.go_back and self.decided.best_step is not None:
            training.checkpoints.restore_best(self.decided.best_step)
        self._apply(training)

    def _apply(self, training: Training) -> None:
        config, decided = self._config, self.decided
        self.rate_factor = decided.factor
        steers = config.every_steps is not None and config.go_back
        training.can_go_back = steers and decided.best_step is not None
        if decided.has_stopped:
            training.stop()

    def state(self) -> Any:
        return self.decided.to_json()

    def restore(self, state: Any) -> None:
        self.decided = plateau.parse_state(state)


class Saves(Hook):
    """A checkpoint every so many steps and seconds."""

    def __init__(self, config: CheckpointConfig) -> None:
        self._config, self.every_steps = config, config.every_steps
        self._at = time.monotonic()

    def after_steps(self, training: Training, steps: Steps) -> None:
        if self.is_due(training) or time.monotonic() - self._at >= self._config.every_s:
            training.save()

    def before_save(self, training: Training) -> None:
        self._at = time.monotonic()


class Pause(Hook):
    """An end of steps taken together where a hook of another process is due."""

    def __init__(self, every_steps: int | None) -> None:
        self.every_steps = every_steps


class EvaluationInProcess(Hook):
    """Continuous evaluation in the process that trains."""

    def __init__(self, evaluation: InProcessEvaluation) -> None:
        self._evaluation = evaluation

    def after_save(self, training: Training, path: str, seconds: float) -> None:
        if not training.is_over:
            self._evaluation.saved(path, False)

    def after_training(self, training: Training, path: str) -> None:
        self._evaluation.saved(path, True)


class EarlyStop(Hook):
    """An end that a policy finds in the evaluations so far."""

    def __init__(self, should_stop: Callable[[], bool], *, every_steps: int) -> None:
        self._should_stop, self.every_steps = should_stop, every_steps

    def after_steps(self, training: Training, steps: Steps) -> None:
        if self.is_due(training) and self._should_stop():
            training.stop()


class TimeLimit(Hook):
    """An end after so many seconds of training, those before a restart included."""

    name = "clock"

    def __init__(self, max_seconds: float) -> None:
        self._max_seconds, self._before, self._began = max_seconds, 0.0, time.monotonic()

    def before_training(self, training: Training) -> None:
        self._began = time.monotonic()
        self._look(training)

    def after_steps(self, training: Training, steps: Steps) -> None:
        self._look(training)

    def _look(self, training: Training) -> None:
        if self._seconds >= self._max_seconds:
            _log.info("trainer.max_seconds ends training at step %d", training.step)
            training.stop()

    @property
    def _seconds(self) -> float:
        return self._before + time.monotonic() - self._began

    def state(self) -> Any:
        return self._seconds

    def restore(self, state: Any) -> None:
        self._before = state
