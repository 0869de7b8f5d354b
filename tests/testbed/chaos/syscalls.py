"""A process with `syscall_shim.c` before libc, whose calls it can make fail."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from chaos.trials import Trial

_SHIM = Path(__file__).with_name("syscall_shim.c")


def in_process_with_shim(work: Path, module: str, *arguments: str) -> Iterator[Trial]:
    """The trials that `module`, run as a program, prints as lines of JSON."""
    library = work / "syscall_shim.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, _SHIM, "-ldl"], check=True)
    environment = {**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": ":".join(sys.path)}
    command = [sys.executable, "-W", "ignore", "-m", module, *arguments]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield Trial(**json.loads(line))
    if process.returncode:
        yield Trial(kind=module, part="all", blow="errno", lost=[f"{process.returncode}"])
