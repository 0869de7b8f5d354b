"""The end of a process that has TensorFlow and TFX loaded.

Python takes apart, one by one, what a process has loaded: two seconds, for a heap that the system
takes back immediately.
"""

from __future__ import annotations

import atexit
import os
import sys
from typing import NoReturn


class Exit:
    """Created first, so that it is the last of all that is registered for the process's end."""

    def __init__(self) -> None:
        self._code: int | None = None
        atexit.register(self._leave)

    def __call__(self, code: int) -> NoReturn:
        """End the process: all that is registered is done, and nothing is taken apart."""
        self._code = code
        sys.exit(code)

    def _leave(self) -> None:
        if self._code is None:  # it ends by an error that nobody has caught: as ever
            return
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None and not stream.closed:
                    stream.flush()
        except OSError:  # Python has words for that, and an exit code
            return
        os._exit(self._code)
