"""A signal that comes while an object is finalized, as a connection's answer is.

Python drops what the signal's handler raises there, and goes on.
"""

import io
import signal


class _Signals(io.IOBase):
    def __init__(self, number: int) -> None:
        self._number = number

    def close(self) -> None:
        if not self.closed:
            super().close()
            signal.raise_signal(self._number)


def drop_signal(number: int) -> None:
    _Signals(number)  # and it is gone
