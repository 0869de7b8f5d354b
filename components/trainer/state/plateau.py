"""Effects of validation on training: halve the rate, return to the best, stop.

Pure host-side state, so it means the same under every strategy; it is saved in the checkpoint.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from dataclasses import dataclass

from yt8m.components.metrics.catalogue import MetricInfo, is_better
from yt8m.components.trainer.config import InTrainingValidationConfig


@dataclass(frozen=True, kw_only=True)
class PlateauState:
    """All that a resumed run must know about the validations before it."""

    best: float | None = None
    best_step: int | None = None
    factor: float = 1.0  # multiplies the learning rate; halvings compound
    tries: int = 0
    last_step: int | None = None  # of the newest validation: none is done twice
    has_stopped: bool = False

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))


@dataclass(frozen=True, kw_only=True)
class PlateauDecision:
    """Action to take after a validation."""

    state: PlateauState
    is_better: bool
    go_back: bool = False


def parse_state(text: str) -> PlateauState:
    """The inverse of `PlateauState.to_json`."""
    return PlateauState(**json.loads(text))


def is_due(
    config: InTrainingValidationConfig, state: PlateauState, step: int, *, is_last: bool = False
) -> bool:
    """True where `step` is to be validated: each nth, the first time at step 0, and the last."""
    every = config.every_steps
    return every is not None and (step % every == 0 or is_last) and state.last_step != step


def decide(
    config: InTrainingValidationConfig,
    state: PlateauState,
    *,
    value: float,
    step: int,
    known: Iterable[MetricInfo] = (),
) -> PlateauDecision:
    """The next state after the validation of `step` gave `value`; `known` are own metrics too."""
    if is_better(config.metric, value, state.best, known):
        tries = 0 if config.reset_tries else state.tries
        if state.best is not None and _is_small(config, value, state.best):
            tries = state.tries + 1
        better = dataclasses.replace(
            state,
            best=value,
            best_step=step,
            tries=tries,
            last_step=step,
            has_stopped=_is_last_try(config, tries),
        )
        return PlateauDecision(state=better, is_better=True)
    tries = state.tries + 1
    worse = dataclasses.replace(
        state,
        factor=state.factor / 2 if config.halve else state.factor,
        tries=tries,
        last_step=step,
        has_stopped=_is_last_try(config, tries),
    )
    can_go_back = config.go_back and state.best_step is not None
    return PlateauDecision(state=worse, is_better=False, go_back=can_go_back)


def _is_small(config: InTrainingValidationConfig, value: float, best: float) -> bool:
    """Whether an improvement to `value` is too small to count."""
    return abs(value - best) < config.min_relative_change * abs(best)


def _is_last_try(config: InTrainingValidationConfig, tries: int) -> bool:
    return config.num_tries is not None and tries >= config.num_tries
