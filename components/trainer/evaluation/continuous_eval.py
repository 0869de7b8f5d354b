"""Continuous evaluation: which checkpoints are scored, and when (Estimator's EvalSpec).

`Throttle` is the pure rule, with the clock handed in. Locally it decides after each checkpoint;
the evaluator role polls it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

import tensorflow as tf

from yt8m.components.trainer.config import EvaluationConfig
from yt8m.components.trainer.state.checkpoints import newest_checkpoint, step_of
from yt8m.components.trainer.state.done_marker import read_done
from yt8m.schemas.errors import Yt8mError

_log = logging.getLogger(__name__)
_WARN_EVERY_S = 600.0
_POLL_S = 1.0

# Scores the checkpoint at a path; `final` where no other will come.
Evaluate = Callable[[str, bool], None]


@dataclass
class Throttle:
    """When a checkpoint may be evaluated: not before the delay, not too often, never twice."""

    config: EvaluationConfig
    started: float
    last_time: float | None = None
    last_step: int | None = None
    was_final: bool = False

    def admits(self, step: int, now: float, *, final: bool = False) -> bool:
        """True where the checkpoint of `step` is to be evaluated `now`."""
        if final:  # once more where it was not known to be the last: FinalExporter waits for it
            return step != self.last_step or not self.was_final
        if step == self.last_step:
            return False
        return not self.wait_s(now)

    def wait_s(self, now: float) -> float:
        """Seconds until a new checkpoint may be evaluated; 0 where one may be immediately."""
        begin = self.started + self.config.start_delay_s
        if self.last_time is not None:
            begin = max(begin, self.last_time + self.config.throttle_s)
        return max(0.0, begin - now)

    def evaluated(self, step: int, now: float, *, final: bool = False) -> None:
        """Note that the evaluation of `step` began `now`."""
        self.last_step, self.last_time, self.was_final = step, now, final


class InProcessEvaluation:
    """Continuous evaluation in the process that trains."""

    def __init__(self, config: EvaluationConfig, evaluate: Evaluate) -> None:
        self._throttle = Throttle(config, started=time.monotonic())
        self._evaluate = evaluate

    def saved(self, path: str, final: bool) -> bool:
        """A checkpoint was written; True if it was evaluated."""
        now, step = time.monotonic(), step_of(path)
        if not self._throttle.admits(step, now, final=final):
            if wait_s := self._throttle.wait_s(now):
                _log_throttled(step, wait_s, "is not evaluated now")
            return False
        self._throttle.evaluated(step, now, final=final)
        self._evaluate(path, final)
        return True


def _log_throttled(step: int, wait_s: float, what: str) -> None:
    _log.info(
        "the checkpoint of step %d %s: the next evaluation may begin in %.0f s "
        "(trainer.evaluation.start_delay_s, throttle_s)",
        step,
        what,
        wait_s,
    )


def watch(
    directory: str,
    config: EvaluationConfig,
    evaluate: Evaluate,
    *,
    stopping_criteria: str,
    idle_limit_s: float,
    wiped_within_s: float = 0.0,
    should_end: Callable[[], bool] = lambda: False,
) -> None:
    """The evaluator role: score new checkpoints until the last one of the training is scored.

    Within `wiped_within_s` the chief may still be about to wipe an earlier training: what there is
    at the start does not count for so long, unless it changes.
    """
    started = changed = time.monotonic()
    throttle = Throttle(config, started=started)
    warned, newest, throttled = -_WARN_EVERY_S, None, -1
    first = newest_checkpoint(directory), read_done(directory)
    while not should_end():
        # In this order: a marker seen before the path says that no newer path will come.
        done = read_done(directory)
        path = newest_checkpoint(directory)
        now = time.monotonic()
        if (path, done) == first and now - started < wiped_within_s:
            path = done = None
        if path != newest:
            newest, changed = path, now
        is_idle = now - changed > idle_limit_s
        if path is None and now - warned >= _WARN_EVERY_S:
            _log.warning("no checkpoint in %s yet", directory)
            warned = now
        if path is not None:
            step = step_of(path)
            final = (
                done is not None
                and done.stopping_criteria == stopping_criteria
                and step >= done.step
            )
            wait_s = throttle.wait_s(now)
            if wait_s and not final and step not in (throttle.last_step, throttled):
                _log_throttled(step, wait_s, "waits, and is evaluated if no newer one comes")
                throttled = step
            if throttle.admits(step, now, final=final):
                try:
                    evaluate(path, final)
                except (tf.errors.NotFoundError, FileNotFoundError):
                    if newest_checkpoint(directory) == path:
                        raise
                    continue  # newer ones have taken its place before it was read
                throttle.evaluated(step, now, final=final)
                changed = time.monotonic()  # what came meanwhile has had no chance to be seen
            if final:
                return
        if is_idle:
            raise Yt8mError(
                f"evaluator: no new checkpoint in {directory} for {idle_limit_s:g} s "
                "(trainer.evaluation.idle_limit_s). The log of the process that trains says why; "
                "start the evaluator again when training goes on"
            )
        time.sleep(_POLL_S)
