"""Learning rates as functions of the number of EXAMPLES seen, as the starter code counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from yt8m.schemas.config_tree import require


@dataclass(frozen=True, kw_only=True)
class ConstantSchedule:
    """The same rate from the first example to the last."""

    name: Literal["constant"] = "constant"
    warmup_examples: int = 0

    def __post_init__(self) -> None:
        _require_warmup(self.warmup_examples)


@dataclass(frozen=True, kw_only=True)
class StaircaseSchedule:
    """The rate times `decay` after every `decay_examples`; `is_smooth` spreads the steps."""

    name: Literal["staircase"] = "staircase"
    decay: float = 0.95
    decay_examples: int = 4_000_000
    is_smooth: bool = False
    warmup_examples: int = 0

    def __post_init__(self) -> None:
        _require_warmup(self.warmup_examples)
        require(0 < self.decay <= 1, "decay", self.decay, "above 0 and at most 1")
        require(self.decay_examples > 0, "decay_examples", self.decay_examples, "1 or more")


@dataclass(frozen=True, kw_only=True)
class ExponentialSchedule:
    """Smooth decay over the whole run, down to `final` times the rate (Nabu's)."""

    name: Literal["exponential"] = "exponential"
    final: float = 0.1
    warmup_examples: int = 0

    def __post_init__(self) -> None:
        _require_warmup(self.warmup_examples)
        require(0 < self.final <= 1, "final", self.final, "above 0 and at most 1")


@dataclass(frozen=True, kw_only=True)
class CosineSchedule:
    """Half a cosine over the whole run, down to `final` times the rate."""

    name: Literal["cosine"] = "cosine"
    final: float = 0.0
    warmup_examples: int = 0

    def __post_init__(self) -> None:
        _require_warmup(self.warmup_examples)
        require(0 <= self.final <= 1, "final", self.final, "from 0 to 1")


Schedule = ConstantSchedule | StaircaseSchedule | ExponentialSchedule | CosineSchedule


def multiplier(schedule: Schedule, examples: int, *, total_examples: int) -> float:
    """What the base learning rate is multiplied with after `examples` of `total_examples`."""
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


def _require_warmup(warmup_examples: int) -> None:
    require(warmup_examples >= 0, "warmup_examples", warmup_examples, "0 or more")
