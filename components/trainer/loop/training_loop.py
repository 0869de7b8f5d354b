"""The loop: step, log, validate, save, until the last step or a reason to end before it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from yt8m.components.trainer.averaging import shipped_weights
from yt8m.components.trainer.cluster.stop_signal import StopSignal
from yt8m.components.trainer.learning_rate import multiplier
from yt8m.components.trainer.loop.parts import Parts
from yt8m.components.trainer.loop.step import StepResult
from yt8m.components.trainer.state import plateau
from yt8m.components.trainer.state.checkpoints import TrainingProgress
from yt8m.schemas.errors import Yt8mError


class Diverged(Yt8mError):  # noqa: N818  (names what was found)
    """Weights that predict NaN, and nothing that would return to better ones."""


def diverged(progress: TrainingProgress) -> Diverged:
    """What to say of it."""
    return Diverged(
        f"training has diverged: at step {progress.step} the model's predictions are not finite. "
        "Lower trainer.optimizer.learning_rate and run the command again, which continues from "
        "the newest checkpoint, saved before; trainer.start_new_model: true begins with new "
        "weights, and trainer.validation (every_steps, go_back: true) returns to the best weights "
        "by itself"
    )


def are_finite(weights: Iterable[Any]) -> bool:
    """Whether every weight is a number."""
    return all(np.isfinite(np.asarray(weight)).all() for weight in weights)


class Loop:
    """Runs one training from `progress` on; every process of the cluster runs the same one."""

    def __init__(self, parts: Parts, stop: StopSignal) -> None:
        self._config, self._engine = parts.job.trainer, parts.engine
        self._collectives = parts.collectives
        self._network, self._optimizer = parts.network, parts.optimizer
        self._checkpoints, self._hooks, self._stop = parts.checkpoints, parts.hooks, stop
        self._plan, self._last_step = parts.plan, parts.plan.last_step
        self._saved: TrainingProgress | None = None
        self._saved_at = time.monotonic()
        self._path = parts.checkpoints.newest

    def run(self, progress: TrainingProgress) -> TrainingProgress:
        """Train; returns how far it came. Raises Terminated after a signal, all being saved."""
        self._saved = progress if progress.step else None
        is_early = False
        while True:
            if self._is_to_validate(progress):
                progress = self._validated(progress)
            if progress.step >= self._last_step or progress.plateau.has_stopped or is_early:
                break
            progress = self._advanced(progress)
            save, stop, is_early = self._decide_together(progress)
            # A validation saves what it decided, so that no checkpoint is written twice.
            if stop or (save and not self._is_to_validate(progress)):
                self._save(progress)
            if stop:
                self._stop.obey(
                    f"ended by a signal at step {progress.step} of {self._last_step}; the state is "
                    f"saved in {self._checkpoints.directory}, and the same command continues"
                )
        self._save(progress, is_final=True)
        return progress

    def _advanced(self, progress: TrainingProgress) -> TrainingProgress:
        count = self._engine.chunk(self._left(progress.step))
        rows = self._engine.rows
        rates = [self._rate(progress, progress.examples + i * rows) for i in range(count)]
        result = self._engine.advance(rates)
        progress = replace(
            progress, step=progress.step + count, examples=progress.examples + count * rows
        )
        self._log_step(progress, result, rate=rates[-1], rows=count * rows)
        return progress

    def _rate(self, progress: TrainingProgress, examples: int) -> float:
        config = self._config
        factor = multiplier(config.schedule, examples, total_examples=self._plan.total_examples)
        return config.optimizer.learning_rate * factor * progress.plateau.factor

    def _left(self, step: int) -> int:
        """Steps until something is to be done."""
        periods = [
            self._engine.log_every,
            self._config.log.histograms_every_steps,
            self._config.checkpoint.every_steps,
            self._config.validation.every_steps,
        ]
        return min([self._last_step - step, *(p - step % p for p in periods if p)])

    def _log_step(
        self, progress: TrainingProgress, result: StepResult, *, rate: float, rows: int
    ) -> None:
        log, step = self._hooks.log, progress.step
        if log is None:
            return
        log.advanced(step, rows)
        if step % self._engine.log_every == 0 or step == self._last_step:
            broken = log.train(step, result, rate=rate, examples=progress.examples)
            seen = broken - set(self._config.validation.excluded_heads)
            if broken and not (seen and self._comes_back(progress)):
                raise diverged(progress)
        every = self._config.log.histograms_every_steps
        if every is not None and step % every == 0:
            log.histograms(step, self._network.trainable_variables)

    def _comes_back(self, progress: TrainingProgress) -> bool:
        """Whether a validation will find this out and return to the best checkpoint."""
        config = self._config.validation
        steers = config.every_steps is not None and config.go_back
        return steers and progress.plateau.best_step is not None

    def _decide_together(self, progress: TrainingProgress) -> list[bool]:
        """Whether to save, to stop, to end early, in all processes alike."""
        every_steps, step = self._config.checkpoint.every_steps, progress.step
        is_due = time.monotonic() - self._saved_at >= self._config.checkpoint.every_s
        is_due = is_due or (every_steps is not None and step % every_steps == 0)
        should_stop = self._hooks.should_stop
        is_logged = step % self._engine.log_every == 0
        is_early = should_stop is not None and is_logged and should_stop()
        return self._collectives.any_process([is_due, self._stop.requested, is_early])

    def _is_to_validate(self, progress: TrainingProgress) -> bool:
        """Each nth step, from step 0 on, and the last one."""
        config, state = self._config.validation, progress.plateau
        is_last = progress.step >= self._last_step and config.every_steps is not None
        return plateau.is_due(config, state, progress.step) or (
            is_last and state.last_step != progress.step
        )

    def _validated(self, progress: TrainingProgress) -> TrainingProgress:
        config, state = self._config.validation, progress.plateau
        value = self._collectives.broadcast_from_chief(self._value(progress))
        if value != value and not self._comes_back(progress):
            raise diverged(progress)
        decision = plateau.decide(config, state, value=value, step=progress.step)
        if decision.is_better:
            self._checkpoints.save_best(progress.step)
        if decision.go_back and decision.state.best_step is not None:
            self._checkpoints.restore_best(decision.state.best_step)
        progress = replace(progress, plateau=decision.state)
        self._save(progress)
        return progress

    def _value(self, progress: TrainingProgress) -> float:
        """The validation's metric, which all processes find together."""
        # Every process takes part in reading some of them.
        weights = shipped_weights(self._network, self._optimizer)
        if self._hooks.validate is None:
            return 0.0
        began = time.monotonic()
        scores = self._hooks.validate(weights)
        if self._hooks.log is not None:
            row = {**scores.to_dict(), "duration_s": time.monotonic() - began}
            row["factor"] = progress.plateau.factor
            self._hooks.log.event("validation", progress.step, row)
            self._hooks.log.reset_timer()
        metric = scores.metrics[self._config.validation.metric]
        return metric if scores.is_finite else math.nan

    def _save(self, progress: TrainingProgress, *, is_final: bool = False) -> None:
        """Save, unless this state is saved already; the hook sees the last one in any case."""
        is_new = progress != self._saved
        if is_new and not are_finite(self._network.get_weights()):
            if is_final or not self._comes_back(progress):
                raise diverged(progress)
            # What cannot be trained further is not worth a checkpoint; the one before it is.
            is_new, self._saved_at = False, time.monotonic()
        if is_new:
            self._write(progress)
        if self._hooks.saved is not None and (is_new or is_final):
            self._hooks.saved(self._path, is_final)
        if self._hooks.log is not None:
            self._hooks.log.reset_timer()

    def _write(self, progress: TrainingProgress) -> None:
        began = time.monotonic()
        self._path = self._checkpoints.save(progress)
        self._saved, self._saved_at = progress, time.monotonic()
        if self._hooks.log is not None:
            row = {"duration_s": self._saved_at - began}
            self._hooks.log.event("checkpoint", progress.step, row)
            self._hooks.log.flush()
