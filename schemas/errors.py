"""The errors that reach a person, each with the exit code the command ends with."""

from __future__ import annotations

import copyreg
from collections.abc import Sequence
from typing import Any

EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_USER = 2
EXIT_REJECTED = 3
EXIT_NOTHING_NEW = 4
EXIT_UNKNOWN = 5
EXIT_ABANDONED = 6
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143


class Yt8mError(Exception):
    """A failure that is explained by its message alone; the command line shows no traceback."""

    exit_code = EXIT_FAILED

    def __reduce__(self) -> tuple[Any, ...]:
        # Python's calls __init__ with the message alone, which may want more than that.
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class UserError(Yt8mError):
    """The user's mistake: the message says what is wrong, where, and what to do."""

    exit_code = EXIT_USER


class DataError(UserError):
    """Records that cannot be used, named by shard, record index and byte offset."""


class ConfigError(UserError):
    """One or several wrong configuration values, all of them listed."""

    def __init__(self, problems: Sequence[str] | str) -> None:
        self.problems = (problems,) if isinstance(problems, str) else tuple(problems)
        super().__init__("\n".join(self.problems))


class Terminated(Yt8mError):  # noqa: N818  (the user asked for it)
    """SIGTERM was obeyed: the state is saved and the same command continues from it."""

    exit_code = EXIT_TERMINATED
