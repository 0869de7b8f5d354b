"""A server in a process of its own, from when it answers until a block ends."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from botocore.exceptions import BotoCoreError, ClientError

_START_S = 180.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def server_process(
    command: Sequence[str], ask: Callable[[], object], **environment: str
) -> Iterator[None]:
    """The server is there once `ask` raises nothing any more."""
    env = {**os.environ, **environment}
    null = subprocess.DEVNULL
    server = subprocess.Popen(command, stdout=null, stderr=null, env=env)
    deadline = time.monotonic() + _START_S
    try:
        while True:
            try:
                ask()
                break
            except (BotoCoreError, ClientError, OSError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
        yield
    finally:
        server.terminate()
        server.wait(30)
