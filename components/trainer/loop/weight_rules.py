"""Weights that an update leaves alone, moves less, or may not let grow: `trainer.weight_rules`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from yt8m.components.compat import assign_in_replicas
from yt8m.components.trainer.config import WeightRule
from yt8m.schemas.errors import ConfigError

_ANY = WeightRule(weights=".*")


class WeightRules:
    """The rule of each weight; ConfigError where a rule has none."""

    def __init__(self, rules: Sequence[WeightRule], variables: Sequence[Any]) -> None:
        self._by_variable = [(v, _rule_of(v.name, rules)) for v in variables]
        used = {id(rule) for _, rule in self._by_variable}
        for rule in rules:
            if id(rule) not in used:
                names = ", ".join(variable.name for variable in variables)
                raise ConfigError(
                    f"trainer.weight_rules: {rule.weights!r} is the first matching rule of no "
                    f"weight; the weights are {names}"
                )

    def updating(self, update: Callable[[], None]) -> None:
        """Call `update`, which changes the weights, within the rules."""
        ruled = [(v, rule) for v, rule in self._by_variable if rule is not _ANY]
        before = [tf.identity(variable) for variable, _ in ruled]
        update()
        if ruled:
            values = [_within(rule, b, v) for (v, rule), b in zip(ruled, before, strict=True)]
            assign_in_replicas([variable for variable, _ in ruled], values)


def _rule_of(name: str, rules: Sequence[WeightRule]) -> WeightRule:
    return next((rule for rule in rules if re.match(rule.weights, name)), _ANY)


def _within(rule: WeightRule, old: tf.Tensor, new: tf.Tensor) -> tf.Tensor:
    value = old + rule.rate * (new - old) if rule.rate != 1 else tf.convert_to_tensor(new)
    if rule.max_norm is None:
        return value
    axes = list(range(max(1, len(value.shape) - 1)))  # a kernel's last axis is its outputs
    return tf.clip_by_norm(value, rule.max_norm, axes=axes)
