"""Outcomes of a change of the registry: a version is returned, or one of these is raised.

A version that is returned is in service (or a baseline), whatever happened afterwards. Which of the
three it was decides one action: the rename of a directory, or the conditional write of `.head`.
"""

from __future__ import annotations

from yt8m.schemas.errors import EXIT_REJECTED, EXIT_UNKNOWN, Yt8mError


class NotPushedError(Yt8mError):
    """Nothing was done: the registry serves what it served before."""


class UnknownPushError(Yt8mError):
    """Nobody can tell whether the version is in service; the message says which one to look at."""

    exit_code = EXIT_UNKNOWN

    def __init__(self, push_dir: str, number: int, reason: object) -> None:
        super().__init__(
            f"version {number} in {push_dir}: it is not known whether it is in service ({reason}). "
            f"`yt8m models list --push {push_dir}` shows it; the next push completes or removes it"
        )
        self.number = number


class StaleBaselineError(Yt8mError):
    """Nothing was done, since another version came into service after the comparison."""

    exit_code = EXIT_REJECTED
