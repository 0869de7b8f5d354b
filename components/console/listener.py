"""Standard output and error that may lose their reader: `| head`, a terminal that was closed.

What is under way comes to its own end and exit code all the same; the rest of its words go nowhere.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

_GONE = (errno.EPIPE, errno.EIO)  # of a pipe, of a terminal


class Listener(io.TextIOWrapper):
    """A text stream that falls silent when nobody reads it any more."""

    is_gone = False

    def write(self, text: str, /) -> int:
        return self._unless_gone(lambda: super(Listener, self).write(text)) or 0

    def flush(self) -> None:
        self._unless_gone(super().flush)

    def _unless_gone(self, act: Callable[[], int | None]) -> int | None:
        try:
            return act()
        except OSError as error:
            if error.errno not in _GONE:
                raise  # a full disk is a failure
        self.is_gone = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())  # with what is in the buffer
        os.close(nowhere)
        return None


def open_closed_streams() -> None:
    """Standard streams that the caller has closed (`>&-`) lead nowhere.

    Else the next file that is opened takes their number, and libraries write into it.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # the lowest free number is this stream's own
            stream = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)


def listen_to(stream: TextIO) -> TextIO:
    """This process's own stream as a `Listener`; any other as it is."""
    if stream not in (sys.__stdout__, sys.__stderr__):
        return stream
    stream.flush()
    # A file object of its own: Python's may know another file by this number, from before a fork.
    return Listener(
        open(stream.fileno(), "wb", closefd=False),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.isatty() or stream is sys.__stderr__,
    )


def is_gone(stream: TextIO) -> bool:
    """Whether nobody reads `stream` any more."""
    return isinstance(stream, Listener) and stream.is_gone
