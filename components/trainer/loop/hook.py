"""Hooks: actions between a training's steps, one kind of object for the trainer and for users.

The log, the plateau, saves, evaluations and every reason to end are hooks, and so is what
`trainer.hooks` names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from yt8m.components.inputs.config import ReadingOrder
from yt8m.components.trainer.cluster.collectives import Collectives
from yt8m.components.trainer.config import TrainerConfig
from yt8m.components.trainer.evaluation.split_scorer import SplitScores
from yt8m.components.trainer.loop.engine import StepEngine
from yt8m.components.trainer.loop.step import StepResult
from yt8m.components.trainer.plan import TrainingPlan
from yt8m.components.trainer.state.checkpoints import Checkpoints
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.own_code import load_named

_NAMES = ("plateau", "clock")  # of the trainer's own states in a checkpoint


@dataclass(kw_only=True)
class Training:
    """A training that runs, as its hooks see it."""

    config: TrainerConfig
    network: Any  # tf_keras publishes no types
    optimizer: Any
    engine: StepEngine
    collectives: Collectives
    checkpoints: Checkpoints
    plan: TrainingPlan
    is_chief: bool
    log_dir: str
    step: int = 0  # updates so far
    examples: int = 0  # rows seen, over all replicas: the position in the data
    order: ReadingOrder | None = None  # in which they come
    rate_factor: float = 1.0  # product of the hooks' factors
    can_go_back: bool = False  # a validation will find NaN, and return to the best weights
    is_over: bool = False  # no step comes any more
    wants_save: bool = False
    wants_stop: bool = False

    @property
    def last_step(self) -> int:
        return self.plan.last_step

    def save(self) -> None:
        """Ask for a checkpoint after these steps; one process that asks is enough."""
        self.wants_save = True

    def stop(self) -> None:
        """Ask for the end after these steps; one process that asks is enough."""
        self.wants_stop = True


@dataclass(frozen=True, kw_only=True)
class Steps:
    """Steps that were taken together."""

    rows: int  # of all of them, over all replicas
    learning_rate: float  # of the newest one
    result: StepResult  # of the newest one


class Hook:
    """Base of what is done beside the steps; every process that trains has its own.

    A method that you leave out does nothing. The chief's `state` is a part of each checkpoint, and
    `restore` gives it to the hook of every process that continues from there.
    """

    name: str = ""  # of its state in the checkpoint; "": it has none
    every_steps: int | None = None  # `after_steps` is called at each multiple, and between them
    rate_factor: float = 1.0  # multiplies the learning rate; the same in every process

    def is_due(self, training: Training) -> bool:
        """Whether a multiple of `every_steps` is reached."""
        return self.every_steps is not None and training.step % self.every_steps == 0

    def before_training(self, training: Training) -> None:
        """Begin; the state is restored."""

    def wants_validation(self, training: Training) -> bool:
        """Whether to validate now; the same in every process."""
        return False

    def before_steps(self, training: Training, count: int) -> None:
        """Prepare `count` steps that are taken together."""

    def after_steps(self, training: Training, steps: Steps) -> None:
        """Look at steps that were taken together."""

    def before_validation(self, training: Training) -> None:
        """Prepare a validation."""

    def after_validation(self, training: Training, scores: SplitScores, seconds: float) -> None:
        """Look at what a validation found, in `seconds`."""

    def before_save(self, training: Training) -> None:
        """Prepare a checkpoint."""

    def after_save(self, training: Training, path: str, seconds: float) -> None:
        """Look at a checkpoint, which was written in `seconds`."""

    def after_training(self, training: Training, path: str) -> None:
        """Look at the last checkpoint, after which no other comes."""

    def close(self) -> None:
        """Give back what is open; also after an error."""

    def state(self) -> Any:
        """The hook's state for a checkpoint, as JSON."""
        return None

    def restore(self, state: Any) -> None:
        """Take over what `state` gave."""


def create_hooks(paths: Sequence[str]) -> tuple[Hook, ...]:
    """Create what `trainer.hooks` names; ConfigError where one is no hook."""
    hooks = tuple(_create_hook(path) for path in paths)
    names = [*_NAMES, *(hook.name for hook in hooks if hook.name)]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"trainer.hooks: two hooks have the name {name!r}")
    return hooks


def _create_hook(path: str) -> Hook:
    where = f"trainer.hooks: {path}"
    created = load_named(path, where)
    hook = created() if callable(created) else created
    if not isinstance(hook, Hook):
        raise ConfigError(
            f"{where} gives a {type(hook).__name__}; it must name a subclass of {Hook.__module__}."
            "Hook, or a function that returns one"
        )
    if type(hook).state is not Hook.state and not hook.name:
        raise ConfigError(f"{where} has a state: give the class a `name` for it in the checkpoint")
    return hook
