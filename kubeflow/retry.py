"""What is tried again, and what is looked up first.

A request that may have been carried out (a time-out, a dropped connection, a 5xx) is repeated
blindly only when repeating it changes nothing. A create is looked for before it is sent again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from yt8m.components.storage.retry import Backoff
from yt8m.schemas.errors import UserError, Yt8mError

T = TypeVar("T")


class ServerError(Yt8mError):
    """The server could not be asked, or answered with an error; `unsure` if it may have acted."""

    def __init__(
        self, message: str, *, status: int = 0, unsure: bool, wait_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.unsure, self.wait_s = status, unsure, wait_s

    @property
    def again(self) -> bool:
        """True where the same request may succeed later."""
        return self.status in (0, 429) or self.status >= 500


class RefusedError(UserError):
    """The server understood and declined: a wrong id, no permission, already there."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class RetryPolicy(Backoff):
    """Repeats requests, and looks before it repeats a create."""

    attempts: int = 5

    def repeat(self, action: Callable[[], T]) -> T:
        """`action` until it succeeds; for requests that may be carried out twice."""
        return self._run(action, look_up=None)

    def create(self, action: Callable[[], T], look_up: Callable[[], T | None]) -> T:
        """`action` at most once in effect: what an unsure attempt left is found by `look_up`."""
        return self._run(action, look_up=look_up)

    def _run(self, action: Callable[[], T], look_up: Callable[[], T | None] | None) -> T:
        unsure = False
        for attempt in range(self.attempts):
            try:
                return action()
            except RefusedError as error:
                found = look_up() if look_up and error.status == 409 and unsure else None
                if found is None:
                    raise
                return found
            except ServerError as error:
                if not error.again:
                    raise
                # Waiting before looking: the server may still be writing.
                if attempt + 1 < self.attempts or (look_up and error.unsure):
                    self.sleep(self.wait_s(attempt, error.wait_s))
                if look_up and error.unsure:
                    unsure = True
                    found = look_up()
                    if found is not None:
                        return found
                if attempt + 1 == self.attempts:
                    raise
        raise AssertionError("attempts must be 1 or more")
