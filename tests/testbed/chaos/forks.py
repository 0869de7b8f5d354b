"""An action in a forked process, killed or stopped before a chosen operation of its own."""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import multiprocessing.context
import os
import signal
import sys
from collections.abc import Callable
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from pathlib import Path

_ON_FILES = ("open", "os.", "shutil.", "fcntl.")
_ON_THE_NETWORK = ("http.client.send",)
_ACTIONS = ("chaos.pauses", "chaos.rivals", "chaos.writers")
_HANG_S = 300.0


def run_until(
    action: Callable[[], object], *, kill_at: int = 0, below: Path | None = None, log: Path
) -> int:
    """The exit code of `action` in a process of its own, as `start` has it."""
    process = start(action, kill_at=kill_at, below=below, log=log)
    process.join(_HANG_S)
    if process.exitcode is None:
        process.kill()
        raise TimeoutError(f"it hung: {log.read_text()[-300:]}")
    return process.exitcode


def start(
    action: Callable[[], object],
    *,
    kill_at: int = 0,
    below: Path | None = None,
    log: Path,
    blow: int = signal.SIGKILL,
) -> BaseProcess:
    """`action` in a process of its own; what it says goes into `log`.

    With `kill_at` it sends itself `blow` just before its operation of that number: on files `below`
    a directory, or requests to a server where there is none. Python's audit events tell of each.
    """
    arguments = (action, kill_at, below, log, dict(os.environ), blow)
    process = context().Process(target=_be, args=arguments, daemon=True)
    process.start()
    return process


@functools.cache
def context() -> multiprocessing.context.ForkServerContext:
    """A process that has imported what writers need, and has no thread, forks: a fork of one that
    has threads may hang on what they held."""
    context = multiprocessing.get_context("forkserver")
    # TensorFlow, by which ingest checks records, once and not in every fork.
    context.set_forkserver_preload([*_ACTIONS, "yt8m.components.inputs.record_checker"])
    # Before Python 3.12.4 it gets no `sys.path`, and leaves out what it does not find.
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    try:
        forkserver.ensure_running()
    finally:
        del os.environ["PYTHONPATH"]
        if before is not None:
            os.environ["PYTHONPATH"] = before
    return context


def _be(
    action: Callable[[], object],
    kill_at: int,
    below: Path | None,
    log: Path,
    environment: dict[str, str],
    blow: int,
) -> None:
    code = 1
    os.environ.clear()
    os.environ.update(environment)
    try:
        with log.open("wb") as file:
            for standard in (1, 2):
                os.dup2(file.fileno(), standard)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        if kill_at:
            sys.addaudithook(_striker(kill_at, below, blow))
        action()
        code = 0
    except BaseException as error:
        with contextlib.suppress(OSError):
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _striker(kill_at: int, below: Path | None, blow: int) -> Callable[[str, tuple], None]:
    events = _ON_FILES if below else _ON_THE_NETWORK
    seen = 0

    def hook(event: str, arguments: tuple) -> None:
        nonlocal seen
        if not event.startswith(events):
            return
        if below is None or any(str(below) in str(argument) for argument in arguments):
            seen += 1
            if seen == kill_at:
                os.kill(os.getpid(), blow)

    return hook
