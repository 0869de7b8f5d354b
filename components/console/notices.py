"""Notices: messages of components that the person who waits for a run should read immediately."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator

_log = logging.getLogger(__name__)


def notice(text: str) -> None:
    """Log a warning, which a local run also shows on the terminal."""
    _log.warning("%s", text)


@contextlib.contextmanager
def notices_heard_by(listener: Callable[[str], None]) -> Iterator[None]:
    """In the block, `listener` gets the text of every notice of this process."""
    handler = _Listening(listener)
    _log.addHandler(handler)
    try:
        yield
    finally:
        _log.removeHandler(handler)


class _Listening(logging.Handler):
    def __init__(self, listener: Callable[[str], None]) -> None:
        super().__init__()
        self._listener = listener

    def emit(self, record: logging.LogRecord) -> None:
        self._listener(record.getMessage())
