"""An action in a forked process, killed before a chosen operation of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

_ON_FILES = ("open", "os.", "shutil.", "fcntl.")
_ON_THE_NETWORK = ("http.client.send",)
_HANG_S = 300.0
_POLL_S = 0.002


def run_until(
    action: Callable[[], object], *, kill_at: int = 0, below: Path | None = None, log: Path
) -> int:
    """The exit code of `action` in a process of its own; what it says goes into `log`.

    With `kill_at` it is killed just before its operation of that number: on files `below` a
    directory, or requests to a server where there is none. Python's audit events tell of each.
    """
    pid = os.fork()
    if pid == 0:
        _be(action, kill_at, below, log)
    deadline = time.monotonic() + _HANG_S
    while time.monotonic() < deadline:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(_POLL_S)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise TimeoutError(f"it hung: {log.read_text()[-300:]}")


def _be(action: Callable[[], object], kill_at: int, below: Path | None, log: Path) -> None:
    code = 1
    try:
        with log.open("wb") as file:
            for standard in (1, 2):
                os.dup2(file.fileno(), standard)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        if kill_at:
            sys.addaudithook(_killer(kill_at, below))
        action()
        code = 0
    except BaseException as error:
        with contextlib.suppress(OSError):
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
    finally:
        with contextlib.suppress(OSError):
            sys.stderr.flush()
        os._exit(code)


def _killer(kill_at: int, below: Path | None) -> Callable[[str, tuple], None]:
    events = _ON_FILES if below else _ON_THE_NETWORK
    seen = 0

    def hook(event: str, arguments: tuple) -> None:
        nonlocal seen
        if not event.startswith(events):
            return
        if below is None or any(str(below) in str(argument) for argument in arguments):
            seen += 1
            if seen == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

    return hook
