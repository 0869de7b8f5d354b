"""Programs beside a test: each writes to a log of its name, and ends with its thread."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


class Programs:
    """Those that run, by name, and how each was started."""

    def __init__(self, logs: Path, **environment: str) -> None:
        self.logs = logs
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._commands: dict[str, tuple[str | Path, ...]] = {}
        self._environment = environment

    def start(self, name: str, *command: str | Path) -> None:
        self._commands[name] = command
        self.logs.mkdir(parents=True, exist_ok=True)
        with (self.logs / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **self._environment},
            )

    def start_again(self, name: str) -> None:
        self.start(name, *self._commands[name])

    def kill(self, name: str) -> None:
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def kill_all(self) -> None:
        for name in reversed(list(self.processes)):
            self.kill(name)

    def said(self, name: str) -> str:
        return (self.logs / f"{name}.log").read_text(errors="replace")
