"""The first SIGINT, SIGTERM or SIGHUP, whichever module has installed the handler.

A component may take the signals for itself (Trainer finishes its step), and a library may swallow
the exception that a handler raises. The signal is noted by Python's own C handler, before
any of them: so it does not depend on any of them.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # the last: the terminal was closed


@contextlib.contextmanager
def handling_signals(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """In the block, which the main thread runs, `handler` gets these signals.

    But for a SIGHUP that `nohup` has the process ignore.
    """
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    numbers = [n for n in _SIGNALS if n is not signal.SIGHUP or not ignored]
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


class SignalRecord:
    """The signal that came first, and its time."""

    def __init__(self) -> None:
        self._read, self._write = socket.socketpair()
        for end in (self._read, self._write):
            end.setblocking(False)
        self._lock = threading.Lock()
        self._number: int | None = None
        self._at = 0.0
        self.is_recording = False

    @property
    def number(self) -> int | None:
        """The signal's number; None while there was none."""
        with self._lock, contextlib.suppress(BlockingIOError, OSError):
            for number in self._read.recv(4096):
                if number in _SIGNALS and self._number is None:
                    self._number, self._at = number, time.monotonic()
        return self._number

    @property
    def seconds_ago(self) -> float:
        """How long ago it was noticed; 0 while there was none."""
        return 0.0 if self.number is None else time.monotonic() - self._at

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """In the block, which the main thread runs, signals are noted."""
        _leave_forked_children_out()
        before = signal.set_wakeup_fd(self._write.fileno(), warn_on_full_buffer=False)
        self.is_recording = True
        _records.append(self)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            _records.remove(self)
            self.number  # noqa: B018  (what came in the last moment)
            self.is_recording = False
            self._read.close()
            self._write.close()


_records: list[SignalRecord] = []


@functools.cache
def _leave_forked_children_out() -> None:
    """A worker that a pool ends with SIGTERM would write into its parent's record."""
    os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))


def signal_received() -> int | None:
    """The signal that the run under way has received; None in a process without a run."""
    return next((number for record in _records if (number := record.number) is not None), None)
