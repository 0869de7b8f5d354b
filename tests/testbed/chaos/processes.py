"""A `yt8m` command that is struck while it runs, and everything that it said."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import warm_processes
from yt8m_runs import START, environment

# No command takes longer, whatever was done to it, on a machine that does much else.
HANG_S = 1200.0
# A run ends within 30 s of a signal.
SIGNAL_S = 30.0
_POLL_S = 0.02


class HungError(Exception):
    """A process did not end in time, and was killed."""


class Command:
    """`yt8m WORDS` in a process of its own, both streams in one file."""

    def __init__(self, *words: str, log: Path, env: dict[str, str] | None = None) -> None:
        self._log = log
        with log.open("wb") as file:
            self.process = warm_processes.Popen(
                "-c", START, *words, stdout=file, stderr=subprocess.STDOUT, env=env or environment()
            )
        self._begun = time.monotonic()

    @property
    def said(self) -> str:
        return " ".join(self._log.read_text(errors="replace").split())

    def wait_until_it_says(self, text: str) -> bool:
        """False where it ended without."""
        while text not in self.said:
            if self.process.poll() is not None:
                return text in self.said
            if time.monotonic() - self._begun > HANG_S:
                self._give_up()
            time.sleep(_POLL_S)
        return True

    def end(self, within_s: float = HANG_S) -> int:
        """Its exit code."""
        try:
            return self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            self._give_up()
            raise AssertionError from None  # _give_up has raised

    def _give_up(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        raise HungError(f"it hung: {self.said[-300:]}")
