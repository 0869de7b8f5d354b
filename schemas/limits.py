"""What a value may be, as part of its field's type: `batch_size: Annotated[int, AtLeast(1)]`.

A limit holds for a value or not, and as a text says what is allowed. Several limits of one field
must all hold. `config_tree` checks them and names the field's dotted path.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Protocol


class Limit(Protocol):
    """Anything in an `Annotated` type that can tell whether a value is allowed."""

    def holds(self, value: Any) -> bool: ...


@dataclass(frozen=True)
class AtLeast:
    """A lowest number, itself allowed."""

    minimum: float

    def holds(self, value: float) -> bool:
        return value >= self.minimum

    def __str__(self) -> str:
        return f"{self.minimum} or more"


@dataclass(frozen=True)
class Above:
    """A number that is not reached from above."""

    bound: float

    def holds(self, value: float) -> bool:
        return value > self.bound

    def __str__(self) -> str:
        return f"above {self.bound}"


@dataclass(frozen=True)
class Below:
    """A number that is not reached from below."""

    bound: float

    def holds(self, value: float) -> bool:
        return value < self.bound

    def __str__(self) -> str:
        return f"below {self.bound}"


@dataclass(frozen=True)
class AtMost:
    """A highest number, itself allowed."""

    maximum: float

    def holds(self, value: float) -> bool:
        return value <= self.maximum

    def __str__(self) -> str:
        return f"at most {self.maximum}"


@dataclass(frozen=True)
class Between:
    """A lowest and a highest number, both allowed."""

    minimum: float
    maximum: float

    def holds(self, value: float) -> bool:
        return self.minimum <= value <= self.maximum

    def __str__(self) -> str:
        return f"between {self.minimum} and {self.maximum}"


@dataclass(frozen=True)
class NotEmpty:
    """A text or list with something in it: `what` says what."""

    what: str

    def holds(self, value: Any) -> bool:
        return bool(value)

    def __str__(self) -> str:
        return self.what


@dataclass(frozen=True)
class Matches:
    """A text of a certain form; `form` says it, best with an example."""

    pattern: str | re.Pattern[str]
    form: str

    def holds(self, value: str) -> bool:
        return re.fullmatch(self.pattern, value) is not None

    def __str__(self) -> str:
        return self.form


@dataclass(frozen=True)
class Satisfies:
    """A condition with a name, where none of the others says it; `allowed` is what it asks for."""

    condition: Callable[[Any], bool]
    allowed: str

    def holds(self, value: Any) -> bool:
        return self.condition(value)

    def __str__(self) -> str:
        return self.allowed


PositiveInt = Annotated[int, AtLeast(1)]
NonNegativeInt = Annotated[int, AtLeast(0)]
PositiveFloat = Annotated[float, Above(0)]
NonNegativeFloat = Annotated[float, AtLeast(0)]
Fraction = Annotated[float, Between(0, 1)]
PositiveFraction = Annotated[float, Above(0), AtMost(1)]
FractionBelowOne = Annotated[float, AtLeast(0), Below(1)]
AbsolutePath = Annotated[str, Matches(r"/.*", "an absolute path, beginning with /")]
# Empty where none is named.
OptionalDottedPath = Annotated[
    str, Matches(r"|.*\..*", "a dotted path such as package.module.name")
]
