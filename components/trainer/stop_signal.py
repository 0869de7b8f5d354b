"""SIGTERM and SIGINT as a request that the loop obeys between two steps."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

from yt8m.schemas.errors import Terminated

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class StopSignal:
    """`with StopSignal() as stop: ... if stop.requested: save; stop.obey(...)`."""

    def __init__(self) -> None:
        self._received: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> StopSignal:
        # Python lets the main thread alone install handlers; elsewhere the caller has its own way.
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                self._before[number] = signal.signal(number, self._receive)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @property
    def requested(self) -> bool:
        """True after a signal."""
        return self._received is not None

    def obey(self, message: str) -> None:
        """End in the way of the signal, after all state is saved."""
        if self._received == signal.SIGINT:
            raise KeyboardInterrupt(message)
        raise Terminated(message)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self._received is not None and number == signal.SIGINT:
            raise KeyboardInterrupt  # the second Ctrl-C: at once
        self._received = number
