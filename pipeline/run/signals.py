"""Ctrl-C and SIGTERM, so that neither is lost and both leave everything in order.

They raise a KeyboardInterrupt, which no library swallows: logging, for one, drops any ordinary
exception that is raised while it writes. Around a component it becomes an ordinary exception, so
that TFX cleans up after it as after any failure (see `engine`).
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

from yt8m.schemas.errors import EXIT_INTERRUPTED, Terminated, Yt8mError


class Interrupted(Yt8mError):  # noqa: N818  (the user asked for it)
    """Ctrl-C was obeyed."""

    exit_code = EXIT_INTERRUPTED


class Signals:
    """Which signal ended the run, whatever became of the exception on its way."""

    received: Interrupted | Terminated | None = None


@contextlib.contextmanager
def signals_as_errors() -> Iterator[Signals]:
    """In the block, SIGINT and SIGTERM raise KeyboardInterrupt, and are told apart here."""
    signals = Signals()

    def interrupt(number: int, frame: FrameType | None) -> None:
        signals.received = Interrupted("interrupted; the same command continues")
        raise KeyboardInterrupt

    def terminate(number: int, frame: FrameType | None) -> None:
        signals.received = Terminated("ended by SIGTERM; the same command continues")
        raise KeyboardInterrupt

    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, interrupt),
        signal.SIGTERM: signal.signal(signal.SIGTERM, terminate),
    }
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
