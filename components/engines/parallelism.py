"""How many workers an engine was asked for."""

from __future__ import annotations

from collections.abc import Iterable

_OPTION = "--parallelism="


def parallelism_of(arguments: Iterable[object]) -> int:
    """As the arguments of a Beam pipeline say it; one where they do not."""
    found = [text.removeprefix(_OPTION) for text in map(str, arguments) if text.startswith(_OPTION)]
    return max(1, int(found[-1])) if found else 1
