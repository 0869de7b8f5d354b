"""The loop over steps. Hooks decide about validations, checkpoints and everything else."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from yt8m.components.trainer.averaging import shipped_weights
from yt8m.components.trainer.cluster.stop_signal import StopSignal
from yt8m.components.trainer.evaluation.split_scorer import SplitScores
from yt8m.components.trainer.learning_rate import multiplier
from yt8m.components.trainer.loop.divergence import are_finite, diverged
from yt8m.components.trainer.loop.hook import Hook, Steps, Training
from yt8m.components.trainer.state.checkpoints import TrainingProgress
from yt8m.schemas.errors import ConfigError


class Loop:
    """Runs one training from its checkpoint on; every process of the cluster runs the same one."""

    def __init__(
        self,
        training: Training,
        hooks: Sequence[Hook],
        *,
        validate: Callable[[list[Any]], SplitScores],  # weights, as numpy arrays
        stop: StopSignal,
    ) -> None:
        self._training, self._hooks = training, hooks
        self._validate, self._stop = validate, stop
        self._is_saved = training.step > 0
        self._path = training.checkpoints.newest

    def run(self) -> None:
        """Train. Raises Terminated after a signal, all being saved."""
        training, steps = self._training, self._training.last_step
        for hook in self._hooks:
            hook.before_training(training)
        self._states()  # what no checkpoint can hold is told now, not after the first hour
        _, _, is_over = self._agree()
        while True:
            if self._is_to_validate():
                self._validated()
                is_over = self._agree()[2] or is_over
            if training.step >= steps or is_over:
                break
            self._advance()
            save, signal, is_over = self._agree()
            # A validation saves what it decided, so that no checkpoint is written twice.
            if signal or (save and not self._is_to_validate()):
                self._save()
            if signal:
                training.collectives.leave()
                self._stop.obey(
                    f"ended by a signal at step {training.step} of {steps}; the state is saved in "
                    f"{training.checkpoints.directory}, and the same command continues"
                )
        training.is_over = True
        self._save()
        for hook in self._hooks:
            hook.after_training(training, self._path)

    def _states(self) -> dict[str, Any]:
        """Every hook's state for a checkpoint, by the hook's name."""
        states = {hook.name: hook.state() for hook in self._hooks if hook.name}
        for name, state in states.items():
            try:
                json.dumps(state)
            except (TypeError, ValueError) as error:
                raise ConfigError(
                    f"trainer.hooks: the state of the hook {name!r} must be JSON, for the "
                    f"checkpoint ({error})"
                ) from error
        return states

    def _agree(self) -> list[bool]:
        """Whether to save, to end by a signal, to end early: in all processes alike."""
        training = self._training
        asked = [training.wants_save, self._stop.requested, training.wants_stop]
        training.wants_save = training.wants_stop = False
        return training.collectives.any_process(asked)

    def _is_to_validate(self) -> bool:
        return any(hook.wants_validation(self._training) for hook in self._hooks)

    def _advance(self) -> None:
        training, engine = self._training, self._training.engine
        count, rows = engine.chunk(self._left()), engine.rows
        for hook in self._hooks:
            hook.before_steps(training, count)
        training.rate_factor = math.prod(_rate_factor(hook) for hook in self._hooks)
        rates = [self._rate(training.examples + i * rows) for i in range(count)]
        result = engine.advance(rates)
        training.step, training.examples = training.step + count, training.examples + count * rows
        self._is_saved = False
        steps = Steps(rows=count * rows, learning_rate=rates[-1], result=result)
        for hook in self._hooks:
            hook.after_steps(training, steps)

    def _left(self) -> int:
        """Steps until something is to be done."""
        step, periods = self._training.step, [hook.every_steps for hook in self._hooks]
        return min([self._training.last_step - step, *(p - step % p for p in periods if p)])

    def _rate(self, examples: int) -> float:
        training, config = self._training, self._training.config
        total = training.plan.total_examples
        factor = multiplier(config.schedule, examples, total_examples=total)
        return config.optimizer.learning_rate * factor * training.rate_factor

    def _validated(self) -> None:
        training = self._training
        for hook in self._hooks:
            hook.before_validation(training)
        # Every process takes part in reading some of them.
        weights = shipped_weights(training.network, training.optimizer)
        began = time.monotonic()
        scores = self._validate(weights)
        seconds = time.monotonic() - began
        self._is_saved = False
        for hook in self._hooks:
            hook.after_validation(training, scores, seconds)
        self._save()

    def _save(self) -> None:
        """Save, unless this state is saved already."""
        training = self._training
        if self._is_saved:
            return
        for hook in self._hooks:
            hook.before_save(training)
        if not are_finite(training.network.get_weights()):
            if training.is_over or not training.can_go_back:
                training.collectives.leave()  # weights are alike in all processes
                raise diverged(training.step, training.config.network)
            return  # what cannot be trained further is not worth a checkpoint
        began = time.monotonic()
        states = self._states()
        self._path = training.checkpoints.save(
            TrainingProgress(
                step=training.step,
                examples=training.examples,
                order=training.order,
                hooks=states,
            )
        )
        self._is_saved = True
        for hook in self._hooks:
            hook.after_save(training, self._path, time.monotonic() - began)


def _rate_factor(hook: Hook) -> float:
    factor: object = hook.rate_factor
    try:
        number = float(hook.rate_factor)
        if not math.isfinite(number) or isinstance(factor, str):
            raise ValueError
    except (TypeError, ValueError) as error:
        kind = type(hook)
        raise ConfigError(
            f"trainer.hooks: {kind.__module__}.{kind.__qualname__}.rate_factor is {factor!r}, but "
            "must be a finite number, which multiplies the learning rate"
        ) from error
    return number
