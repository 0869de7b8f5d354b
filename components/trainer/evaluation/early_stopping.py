"""Rules that end a training before its last step, by its evaluations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from yt8m.components.metrics.catalogue import MetricInfo, is_better
from yt8m.components.trainer.config import (
    EarlyStopping,
    NoEarlyStopping,
    OwnStop,
    StopWhenNotBetter,
    StopWhenReached,
)
from yt8m.schemas.errors import UserError
from yt8m.schemas.own_code import load_named

EvaluatedStep = tuple[int, Mapping[str, float | None]]  # step, metric values by name


def should_stop(
    policy: EarlyStopping, history: Sequence[EvaluatedStep], known: Sequence[MetricInfo] = ()
) -> bool:
    """True where `policy`, having seen the evaluations so far, ends training."""
    if isinstance(policy, NoEarlyStopping) or not history:
        return False
    values = [(step, _value(metrics, policy.metric)) for step, metrics in history]
    if isinstance(policy, StopWhenReached):
        newest = values[-1][1]
        return newest == policy.value or is_better(policy.metric, newest, policy.value, known)
    if isinstance(policy, OwnStop):
        said = load_named(policy.policy, "trainer.early_stopping.policy")(history)
        return bool(said)
    return _has_stalled(policy, values, known)


def best_step(
    policy: EarlyStopping, history: Sequence[EvaluatedStep], known: Sequence[MetricInfo] = ()
) -> int | None:
    """The step whose weights `policy` prefers, the first of equals; None where it looks at none."""
    if isinstance(policy, NoEarlyStopping):
        return None
    best: tuple[int, float] | None = None
    for step, metrics in history:
        value = _value(metrics, policy.metric)
        if is_better(policy.metric, value, best and best[1], known):
            best = step, value
    return best and best[0]


def _has_stalled(
    policy: StopWhenNotBetter,
    values: Sequence[tuple[int, float]],
    known: Iterable[MetricInfo],
) -> bool:
    best: float | None = None
    best_step = values[0][0]
    for step, value in values:
        change, least = 0.0, 0.0
        if best is not None:
            change = abs(value - best)
            least = max(policy.min_change, policy.min_relative_change * abs(best))
        if is_better(policy.metric, value, best, known) and change >= least:
            best, best_step = value, step
    newest = values[-1][0]
    return newest >= policy.min_steps and newest - best_step >= policy.patience_steps


def _value(metrics: Mapping[str, float | None], name: str) -> float:
    if name not in metrics:
        known = ", ".join(sorted(metrics))
        raise UserError(f"early_stopping.metric = {name!r}: evaluations give {known}")
    value = metrics[name]
    return math.nan if value is None else value  # JSON's null: the model had diverged
