"""A MariaDB without passwords, for a network namespace of a test's own."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from programs import Programs
from requirements import program

_START_S = 60.0
_PORT = 3306


@contextmanager
def mariadb(directory: Path, host: str) -> Iterator[int]:
    """The port at which it listens on `host`; anybody is its administrator."""
    data, server = directory / "data", program("mariadbd")
    install = program("mariadb-install-db")
    assert server is not None
    assert install is not None
    directory.mkdir(parents=True)
    who = [f"--user={Path.home().owner()}"] if os.geteuid() == 0 else []
    subprocess.run(
        [install, "--no-defaults", f"--datadir={data}", "--skip-test-db", *who],
        check=True,
        capture_output=True,
    )
    programs = Programs(directory)
    arguments = [f"--datadir={data}", f"--socket={directory / 's'}", "--skip-grant-tables"]
    programs.start(
        "mariadbd", server, "--no-defaults", *arguments, f"--bind-address={host}",
        f"--port={_PORT}", *who,
    )  # fmt: skip
    try:
        _wait(host, programs)
        yield _PORT
    finally:
        programs.kill_all()


def _wait(host: str, programs: Programs) -> None:
    deadline = time.monotonic() + _START_S
    while True:
        try:
            socket.create_connection((host, _PORT), timeout=5).close()
            return
        except OSError:
            assert time.monotonic() < deadline, programs.said("mariadbd")
            time.sleep(0.2)
