"""Number of attempts, and the waits between them."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Backoff:
    """Waits that double up to the longest, with jitter, so that clients spread their retries."""

    attempts: int = 10
    first_wait_s: float = 0.5
    longest_wait_s: float = 20.0
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random  # in [0, 1)

    def wait_s(self, attempt: int, asked: float | None = None) -> float:
        """Before the attempt after number `attempt` (from 0); at least what the server asked."""
        wait = min(self.first_wait_s * 2**attempt, self.longest_wait_s)
        return max(wait * (0.5 + self.jitter() / 2), min(asked or 0.0, self.longest_wait_s))

    def call(self, action: Callable[[], T], *, again: Callable[[Exception], bool]) -> T:
        """`action`, repeated while it raises what `again` regards as temporary; then that error."""
        for attempt in range(self.attempts - 1):
            try:
                return action()
            except Exception as error:
                if not again(error):
                    raise
                self.sleep(self.wait_s(attempt))
        return action()
