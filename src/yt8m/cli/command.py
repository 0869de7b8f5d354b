"""What a command is, and what it is given of the command line that it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """One command: the words that call it, a one-line help, and the module that does it."""

    words: str
    summary: str
    module: str


@dataclass(frozen=True)
class CommandLine:
    """All commands; every command finds it in its arguments as `command_line`."""

    commands: Sequence[Command]
    groups: Mapping[str, str]  # the first words of some, with what they are about
    run: Callable[[Sequence[str]], int]
