"""Runner and number of workers of a Beam pipeline, read from its arguments."""

from __future__ import annotations

from collections.abc import Iterable

# Each engine has a word of its own.
_WORKERS = ("--parallelism=", "--num_workers=", "--direct_num_workers=")
_RUNNER = "--runner="
_IN_THIS_PROCESS = ("FnApiRunner", "DirectRunner")


def parallelism_of(arguments: Iterable[object]) -> int:
    """How many workers an engine was asked for; one where nothing says so."""
    counts = [value for option in _WORKERS for value in _values(arguments, option)]
    return max(1, *map(int, counts)) if counts else 1


def is_elsewhere(arguments: Iterable[object]) -> bool:
    """Whether an engine was chosen that is not in this process."""
    return any(not value.endswith(_IN_THIS_PROCESS) for value in _values(arguments, _RUNNER))


def _values(arguments: Iterable[object], option: str) -> list[str]:
    """Of an option, the last one."""
    values = [text.removeprefix(option) for text in map(str, arguments) if text.startswith(option)]
    return values[-1:]
