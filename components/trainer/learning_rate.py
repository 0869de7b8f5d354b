"""Learning rates as functions of the number of EXAMPLES seen, as the starter code counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from yt8m.schemas.config_tree import ConfigNode
from yt8m.schemas.limits import Fraction, NonNegativeInt, PositiveFraction, PositiveInt


@dataclass(frozen=True, kw_only=True)
class ConstantSchedule(ConfigNode):
    """A constant learning rate."""

    name: Literal["constant"] = "constant"
    warmup_examples: NonNegativeInt = 0  # Number of examples over which the rate grows from 0


@dataclass(frozen=True, kw_only=True)
class StaircaseSchedule(ConfigNode):
    """The rate times `decay` after every `decay_examples`, in steps or smoothly."""

    name: Literal["staircase"] = "staircase"
    decay: PositiveFraction = 0.95  # Factor by which the rate decays
    decay_examples: PositiveInt = 4_000_000  # Number of examples per decay
    is_smooth: bool = False  # Decay a little with each example instead of in steps
    warmup_examples: NonNegativeInt = 0  # Number of examples over which the rate grows from 0


@dataclass(frozen=True, kw_only=True)
class ExponentialSchedule(ConfigNode):
    """Exponential decay over the whole run, down to `final` times the rate (Nabu's)."""

    name: Literal["exponential"] = "exponential"
    final: PositiveFraction = 0.1  # Factor of the rate at the end
    warmup_examples: NonNegativeInt = 0  # Number of examples over which the rate grows from 0


@dataclass(frozen=True, kw_only=True)
class CosineSchedule(ConfigNode):
    """Half a cosine over the whole run, down to `final` times the rate."""

    name: Literal["cosine"] = "cosine"
    final: Fraction = 0.0  # Factor of the rate at the end
    warmup_examples: NonNegativeInt = 0  # Number of examples over which the rate grows from 0


Schedule = ConstantSchedule | StaircaseSchedule | ExponentialSchedule | CosineSchedule


def multiplier(schedule: Schedule, examples: int, *, total_examples: int) -> float:
    """The factor of the base learning rate after `examples` of `total_examples`."""
    return _warmup(schedule.warmup_examples, examples) * _decay(schedule, examples, total_examples)


def _warmup(warmup_examples: int, examples: int) -> float:
    return min(1.0, examples / warmup_examples) if warmup_examples else 1.0


def _decay(schedule: Schedule, examples: int, total_examples: int) -> float:
    progress = min(1.0, examples / total_examples) if total_examples else 1.0
    if isinstance(schedule, StaircaseSchedule):
        steps = examples / schedule.decay_examples
        return float(schedule.decay ** (steps if schedule.is_smooth else math.floor(steps)))
    if isinstance(schedule, ExponentialSchedule):
        return float(schedule.final**progress)
    if isinstance(schedule, CosineSchedule):
        half = (1 + math.cos(math.pi * progress)) / 2
        return schedule.final + (1 - schedule.final) * half
    return 1.0
