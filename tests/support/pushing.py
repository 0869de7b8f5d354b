"""Pushes a model, again and again or until a chosen file operation kills it. Run as a script.

    python pushing.py MODEL PUSH_DIR KEEP COUNT [KILL_AT]

With KILL_AT the process kills itself, as SIGKILL does, just before its KILL_AT-th operation that
touches the push directory: Python's audit events report each of them.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from registry_models import blessed_record

from yt8m.components.registry.push import push

_OPERATIONS = ("open", "os.", "shutil.", "fcntl.")


def killing(push_dir: str, at: int) -> Callable[[str, tuple], None]:
    """An audit hook that kills this process before the operation number `at`."""
    seen = 0

    def hook(event: str, arguments: tuple) -> None:
        nonlocal seen
        if event.startswith(_OPERATIONS) and any(push_dir in str(a) for a in arguments):
            seen += 1
            if seen == at:
                os.kill(os.getpid(), signal.SIGKILL)

    return hook


def main(model: str, push_dir: str, keep: str, count: str, kill_at: str = "0") -> None:
    if int(kill_at):
        sys.addaudithook(killing(push_dir, int(kill_at)))
    print("ready", flush=True)
    for _ in range(int(count)):
        # Each push has other content, or it would find its files there already.
        (Path(model) / "variables" / "variables.index").write_bytes(os.urandom(50))
        push(model, push_dir, blessed_record(), keep=int(keep))


if __name__ == "__main__":
    main(*sys.argv[1:])
