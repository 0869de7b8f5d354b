"""Limits of values, as part of a field's type: `batch_size: Annotated[int, at_least(1)]`.

Several limits of one field must all hold. `config_tree` checks them and names the dotted path.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any


@dataclass(frozen=True)
class Limit:
    """A condition on a value, and its words after "must be"."""

    allowed: str
    holds: Callable[[Any], bool]


def at_least(minimum: float) -> Limit:
    return Limit(f"{minimum} or more", lambda value: value >= minimum)


def at_most(maximum: float) -> Limit:
    return Limit(f"at most {maximum}", lambda value: value <= maximum)


def above(bound: float) -> Limit:
    return Limit(f"above {bound}", lambda value: value > bound)


def below(bound: float) -> Limit:
    return Limit(f"below {bound}", lambda value: value < bound)


def between(minimum: float, maximum: float) -> Limit:
    """Both ends are allowed."""
    return Limit(f"between {minimum} and {maximum}", lambda value: minimum <= value <= maximum)


def not_empty(allowed: str) -> Limit:
    return Limit(allowed, bool)


def matches(pattern: str, allowed: str) -> Limit:
    """For texts: the whole of one."""
    return Limit(allowed, lambda text: re.fullmatch(pattern, text) is not None)


PositiveInt = Annotated[int, at_least(1)]
NonNegativeInt = Annotated[int, at_least(0)]
PositiveFloat = Annotated[float, above(0)]
NonNegativeFloat = Annotated[float, at_least(0)]
Fraction = Annotated[float, between(0, 1)]
PositiveFraction = Annotated[float, above(0), at_most(1)]
FractionBelowOne = Annotated[float, at_least(0), below(1)]
AbsolutePath = Annotated[str, matches(r"/.*", "an absolute path, beginning with /")]
DottedPath = Annotated[str, matches(r".*\..*", "a dotted path such as package.module.name")]
# Empty where none is named.
OptionalDottedPath = Annotated[
    str, matches(r"|.*\..*", "a dotted path such as package.module.name")
]
