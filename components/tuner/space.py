"""The space of a search: checked against the trainer's configuration, converted for KerasTuner."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from yt8m.components.artifacts.tuner_results import NODE
from yt8m.components.trainer.config import TrainerConfig
from yt8m.components.trainer.hyperparameters import with_values
from yt8m.components.tuner.config import RangeConfig, TunerConfig
from yt8m.schemas.config_tree import is_union, type_hints
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.roles import KeyRole, OfExport, ResultNeutral, declared_with, is_below

if TYPE_CHECKING:
    import keras_tuner

# Why a search leaves out the keys of a role, and those that decide what a score is.
_ROLES: dict[type[KeyRole], str] = {
    ResultNeutral: "the validation score ignores it",
    OfExport: "validation during training scores the network without its neighbours",
}
_SCORING = {
    f"{NODE}.evaluation": "it defines the score",
    f"{NODE}.train_split": "scores on different data are not comparable",
    f"{NODE}.validation_split": "scores of different data are not compared",
}


def check_space(config: TunerConfig, trainer: TrainerConfig) -> None:
    """ConfigError that lists every value of the search that `trainer` could not have."""
    problems = [*_found(config, trainer)]
    if problems:
        raise ConfigError(problems)


def _found(config: TunerConfig, trainer: TrainerConfig) -> Iterator[str]:
    try:
        trained = with_values(trainer, config.trial)
    except ConfigError as error:
        yield from (f"tuner.trial: {problem}" for problem in error.problems)
        return
    for path, values in config.space.items():
        if reason := _reason_to_leave_out(path):
            yield f"tuner.space: {path} cannot be tuned: {reason}"
            continue
        for base in (trainer, trained):  # the values go to the Trainer, too
            problems = _problems_of(path, values, base) or _step_problems(path, values, base)
            yield from problems
            if problems:
                break


def _reason_to_leave_out(path: str) -> str:
    """Explain why `path` cannot be tuned; "" where it can."""
    reasons = _SCORING | {
        key: reason
        for role, reason in _ROLES.items()
        for key, _ in declared_with(TrainerConfig, role, path=NODE)
    }
    return next((reason for key, reason in reasons.items() if is_below(path, key)), "")


def _problems_of(path: str, values: RangeConfig, trainer: TrainerConfig) -> list[str]:
    problems: list[str] = []
    for value in values.extremes:
        try:
            with_values(trainer, {path: value})
        except ConfigError as error:
            problems += [f"tuner.space: {problem}" for problem in error.problems]
    return list(dict.fromkeys(problems))


def _step_problems(path: str, values: RangeConfig, trainer: TrainerConfig) -> list[str]:
    step = values.step
    if step is None or step.is_integer() or not is_whole(path, trainer):
        return []
    return [f"tuner.space: {path}: step = {step}: must be a whole number, as its values are"]


def trial_config(config: TunerConfig, trainer: TrainerConfig) -> TrainerConfig:
    """The configuration that all trials share: one process, which scores the whole split at its
    end.
    """
    own: dict[str, Any] = {
        "backend": {"name": "in_process"},
        "checkpoint": {"keep": 1},
        "evaluation": {"enabled": True, "steps": None, "exporters": []},
        "log": {"tensorboard": False, "histograms_every_steps": None},
        "retrieval": None,
        "start_new_model": False,
    }
    values = {f"{NODE}.{name}": value for name, value in own.items()}
    return with_values(trainer, {**config.trial, **values})


def create_hyperparameters(
    config: TunerConfig, trainer: TrainerConfig
) -> keras_tuner.HyperParameters:
    """The space in KerasTuner's form; numbers are whole where the configuration wants them so."""
    import keras_tuner

    space = keras_tuner.HyperParameters()
    for path, values in config.space.items():
        if values.choice is not None:
            numbers = {type(value) for value in values.choice} == {int, float}
            space.Choice(path, [float(v) if numbers else v for v in values.choice])
            continue
        whole = is_whole(path, trainer)
        kind, number = (space.Int, int) if whole else (space.Float, float)
        kind(
            path,
            min_value=number(values.ends[0]),
            max_value=number(values.ends[1]),
            step=None if values.step is None else number(values.step),
            sampling="linear" if values.log is None else "log",
        )
    return space


def is_whole(path: str, trainer: TrainerConfig) -> bool:
    """Whether the value at `path` is a whole number by its type."""
    *above, name = path.split(".")[1:]
    node: Any = trainer
    for key in above:
        node = getattr(node, key)
    cls: type = type(node)
    kinds = _kinds(type_hints(cls)[name])
    return int in kinds and float not in kinds


def _kinds(hint: Any) -> set[Any]:
    """The types that a value may have, without their limits."""
    if typing.get_origin(hint) is Annotated:
        return _kinds(typing.get_args(hint)[0])
    if is_union(hint):
        return {kind for option in typing.get_args(hint) for kind in _kinds(option)}
    return {hint}
