"""Ctrl-C, SIGTERM and SIGHUP, so that none is lost and all leave everything in order.

They raise a KeyboardInterrupt, which libraries do not swallow: logging, for one, drops any ordinary
exception that is raised while it writes. Python itself drops every one where it finalizes an
object, so what may take long also looks at what was received. Around a component the exception
becomes an ordinary one, so that TFX cleans up after it as after any failure (see `engine`). From
the moment that a signal arrives no component is started, and what cannot be interrupted is ended
with the process.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from yt8m.components.console.signals import SignalRecord, handling_signals
from yt8m.schemas.errors import EXIT_INTERRUPTED, Terminated, Yt8mError

# A call into TensorFlow may take minutes and hears no signal; a run ends within 30 s of one.
GRACE_S = 25.0
_LOOK_S = 0.5


class Interrupted(Yt8mError):  # noqa: N818  (the user asked for it)
    """Ctrl-C was obeyed."""

    exit_code = EXIT_INTERRUPTED


class Signals:
    """The signal that ended the run, whatever became of the exception on its way."""

    def __init__(self) -> None:
        self.record = SignalRecord()

    @property
    def received(self) -> Interrupted | Terminated | None:
        """The first signal, as the error that the run ends with."""
        match self.record.number:
            case signal.SIGINT:
                return Interrupted("interrupted; the same command continues")
            case signal.SIGTERM | signal.SIGHUP as number:
                name = signal.Signals(number).name
                return Terminated(f"ended by {name}; the same command continues")
        return None

    def refuse_after_signal(self) -> None:
        """Raise what was received: nothing is begun after it."""
        if self.received is not None:
            raise self.received

    def end_process_after(
        self, grace_s: float, last_words: Callable[[Interrupted | Terminated], None]
    ) -> None:
        """From now on a process that still runs so long after a signal is ended, in this way."""

        def watch() -> None:
            pause = threading.Event()
            while (error := self.received) is None or self.record.seconds_ago < grace_s:
                if error is None and not self.record.is_recording:
                    return  # the run has ended without one
                pause.wait(_LOOK_S)
            try:
                last_words(error)
            finally:
                os._exit(error.exit_code)

        threading.Thread(target=watch, name="end-after-signal", daemon=True).start()


@contextlib.contextmanager
def signals_as_errors() -> Iterator[Signals]:
    """In the block, these signals raise KeyboardInterrupt, and are distinguished here."""
    signals = Signals()

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    with handling_signals(interrupt), signals.record.recording():
        yield signals
