"""Requests to stop, by a signal or a lost parent, which the loop obeys between two steps."""

from __future__ import annotations

import signal
import threading
from contextlib import ExitStack
from types import FrameType, TracebackType
from typing import Self

from yt8m.components.console.signals import handling_signals
from yt8m.components.trainer.cluster.heartbeat import Watch
from yt8m.schemas.errors import Terminated


class StopSignal:
    """`with StopSignal() as stop: ... if stop.requested: save; stop.obey(...)`."""

    def __init__(self, watch: Watch | None = None) -> None:
        self._watch = watch
        self._received: int | None = None
        self._handling = ExitStack()

    def __enter__(self) -> Self:
        # Python lets the main thread alone install handlers; elsewhere the caller has its own way.
        if threading.current_thread() is threading.main_thread():
            self._handling.enter_context(handling_signals(self._receive))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._handling.close()

    @property
    def requested(self) -> bool:
        """True after a signal, and once nobody follows the training any more."""
        return self._received is not None or self._is_abandoned

    def obey(self, message: str) -> None:
        """End in the way of the signal, after all state is saved."""
        if self._received == signal.SIGINT:
            raise KeyboardInterrupt(message)
        if self._received is None and self._watch is not None and self._is_abandoned:
            self._watch.end(message)
        raise Terminated(message)

    @property
    def _is_abandoned(self) -> bool:
        return self._watch is not None and self._watch.is_abandoned()

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self._received is not None and number == signal.SIGINT:
            raise KeyboardInterrupt  # the second Ctrl-C: immediately
        self._received = number
