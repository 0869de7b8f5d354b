"""Settings of the Tuner: the space, the search and the trials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from yt8m.components.trainer.config import SteeringMetric, TrainerConfig
from yt8m.schemas.config_tree import ConfigNode, require
from yt8m.schemas.limits import PositiveInt, at_least, not_empty
from yt8m.schemas.metric_names import GAP
from yt8m.schemas.roles import OwnCode, declared_with

_PAIR = 2
# Keys whose values name code of the user's own.
_CODE = tuple(f"trainer.{path}" for path, _ in declared_with(TrainerConfig, OwnCode))


@dataclass(frozen=True, kw_only=True)
class RangeConfig(ConfigNode):
    """Candidate values of one key: exactly one of linear, log and choice."""

    linear: tuple[float, ...] | None = None  # Range [least, greatest], sampled uniformly
    # Range [least, greatest], sampled uniformly in the logarithm.
    log: tuple[float, ...] | None = None
    choice: tuple[bool | int | float | str, ...] | None = None  # List of values to choose from
    # Step between neighbouring values of `linear`, or their quotient for `log`; null: continuous.
    step: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        given = [name for name in ("linear", "log", "choice") if getattr(self, name) is not None]
        require(len(given) == 1, "the range", given or None, "one of linear, log, choice")
        if self.choice is not None:
            kinds = {type(value) for value in self.choice}
            alike = len(kinds) == 1 or kinds == {int, float}
            require(alike, "choice", self.choice, "a list of one or more values of one type")
            require(self.step is None, "step", self.step, "omitted with choice")
            return
        ends = self.ends
        rises = len(ends) == _PAIR and ends[0] < ends[1]
        require(rises, given[0], ends, "the lowest and the highest value, e.g. [0.1, 0.5]")
        require(self.log is None or ends[0] > 0, "log", ends, "above 0")
        least = 1.0 if self.log is not None else 0.0
        wide = self.step is None or self.step > least
        require(wide, "step", self.step, f"above {least:g} with {given[0]}")

    @property
    def ends(self) -> tuple[float, ...]:
        """The least and the greatest value of a range of numbers; nothing of a choice."""
        return self.linear or self.log or ()

    @property
    def extremes(self) -> tuple[bool | int | float | str, ...]:
        """Where all of these are allowed, everything in the range is."""
        return self.ends or self.choice or ()


@dataclass(frozen=True, kw_only=True)
class RandomSearchConfig(ConfigNode):
    """Random values for each trial (KerasTuner's RandomSearch)."""

    name: Literal["random_search"] = "random_search"
    max_trials: PositiveInt = 10  # Number of trials; fewer if the space has fewer values


@dataclass(frozen=True, kw_only=True)
class HyperbandConfig(ConfigNode):
    """Many short trials, of which the best continue (KerasTuner's Hyperband)."""

    name: Literal["hyperband"] = "hyperband"
    # Epochs of the longest trials; replaces trainer.num_epochs and max_steps.
    max_epochs: Annotated[int, at_least(2)] = 9
    # Factor between rounds: one trial in `factor` continues, for `factor` times as long.
    factor: Annotated[int, at_least(2)] = 3
    iterations: PositiveInt = 1  # Number of repetitions of the whole algorithm


@dataclass(frozen=True, kw_only=True)
class BayesianConfig(ConfigNode):
    """Values that promise most by the trials so far (a Gaussian process)."""

    name: Literal["bayesian"] = "bayesian"
    max_trials: PositiveInt = 20  # Number of trials; fewer if the space has fewer values
    num_initial_trials: PositiveInt = 6  # Number of trials with random values, before the others


SearchConfig = RandomSearchConfig | HyperbandConfig | BayesianConfig


def _searched_code(space: Mapping[str, RangeConfig]) -> tuple[str, ...]:
    """The networks that trials may take, one of which the Trainer then takes."""
    values = [value for path in _CODE if path in space for value in space[path].extremes]
    return tuple(str(value) for value in values if value)


def _trial_code(trial: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(trial[path]) for path in _CODE if trial.get(path))


@dataclass(frozen=True, kw_only=True)
class TunerConfig(ConfigNode):
    """A search for better values of the trainer's configuration, before the Trainer."""

    # Ranges by dotted path, e.g. {trainer.optimizer.learning_rate: {log: [1e-4, 1e-2]}}.
    space: Annotated[
        dict[str, RangeConfig],
        OwnCode(_searched_code),
        not_empty("a range for one value at least"),
    ]
    search: SearchConfig = field(default_factory=RandomSearchConfig)  # Search algorithm
    objective: SteeringMetric = GAP  # Metric to optimise, on trainer.validation_split
    # Values that only the trials use, by dotted path, e.g. {trainer.num_epochs: 2}.
    trial: Annotated[dict[str, Any], OwnCode(_trial_code)] = field(default_factory=dict)
    num_parallel_trials: PositiveInt = 1  # Number of trials that train in parallel on this machine
    seed: PositiveInt = 1  # Seed for drawing the values; trainer.seed is the seed for the weights
