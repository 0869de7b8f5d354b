"""The points of a sweep: every combination of the given values."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from yt8m.schemas.errors import UserError

_OPEN, _CLOSE = "[{", "]}"

Point = Mapping[str, str]  # one combination: the values as text, by dotted path


def points_of(settings: Sequence[str]) -> tuple[list[str], list[Point]]:
    """The settings of one value, and every combination of the others'."""
    fixed, swept = [], {}
    for setting in settings:
        path, _, text = setting.partition("=")
        values = _values(text)
        if len(values) > 1:
            swept[path] = values
        else:
            fixed.append(setting)
    if not swept:
        raise UserError(
            "nothing to sweep over: give several values to a setting, such as "
            "--set trainer.optimizer.learning_rate=0.001,0.003"
        )
    combinations = itertools.product(*swept.values())
    return fixed, [dict(zip(swept, values, strict=True)) for values in combinations]


def _values(text: str) -> list[str]:
    """Split at the commas that are in no list or mapping."""
    values, depth = [""], 0
    for letter in text:
        depth += (letter in _OPEN) - (letter in _CLOSE)
        if letter == "," and not depth:
            values.append("")
        else:
            values[-1] += letter
    return [value.strip() for value in values]
