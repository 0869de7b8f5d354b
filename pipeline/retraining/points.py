"""The points of a sweep: every combination of the given values."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence

from yt8m.schemas.errors import UserError

_OPEN, _CLOSE = "[{", "]}"
# A whole text in quotes, where YAML lets one begin (not the apostrophe of `it's`), or one letter.
_PIECE = re.compile(
    r"""(?<![^\s,:\[{])(?:"(?:\\.|[^"\\])*"|'(?:''|[^'])*')|.""",
    re.DOTALL,
)

Point = Mapping[str, str]  # one combination: the values as text, by dotted path


def points_of(settings: Sequence[str]) -> list[tuple[Point, list[str]]]:
    """Every combination of the values where there are several, and all settings of each.

    Settings stay in their order, in which the last one counts.
    """
    given = [setting.partition("=") for setting in settings]
    paths = [path.strip() for path, _, _ in given]
    values = [_values(text) for _, _, text in given]
    swept = [path for path, several in zip(paths, values, strict=True) if len(several) > 1]
    if not swept:
        raise UserError(
            "nothing to sweep over: give several values to a setting, such as "
            "--set trainer.optimizer.learning_rate=0.001,0.003"
        )
    for path in swept:
        if (count := paths.count(path)) > 1:
            raise UserError(
                f"--set {path}: is given {count} times in a sweep: give all its values in one "
                f"option, as in --set {path}=1,2,3"
            )
    return [
        (
            {path: value for path, value in zip(paths, chosen, strict=True) if path in swept},
            [
                f"{path}={value}" if path in swept else setting
                for setting, path, value in zip(settings, paths, chosen, strict=True)
            ],
        )
        for chosen in itertools.product(*values)
    ]


def _values(text: str) -> list[str]:
    """Split at the commas that are in no quotes, list or mapping."""
    values, depth = [""], 0
    for piece in _PIECE.findall(text):
        if piece in _OPEN:
            depth += 1
        elif piece in _CLOSE:
            depth -= 1
        if piece == "," and not depth:
            values.append("")
        else:
            values[-1] += piece
    return [value.strip() for value in values]
