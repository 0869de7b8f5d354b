"""A copy of the checkout, in which tests run on the copy's code."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
_TIMEOUT_S = 300.0  # of a test run that a defect has made hang


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a run of tests ended."""

    passed: bool
    seconds: float
    said: str


@contextlib.contextmanager
def code_copy() -> Iterator[Path]:
    """The files of the checkout, as they are now, in a directory that goes with the block."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    with tempfile.TemporaryDirectory(prefix="yt8m-defects-") as folder:
        for name in filter(None, names.split("\0")):
            if os.path.lexists(ROOT / name):
                (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, Path(folder) / name, follow_symlinks=False)
        yield Path(folder)


def run_tests(
    copy: Path, tests: Sequence[str], *, workers: int = 0, timeout_s: float = _TIMEOUT_S
) -> Ended:
    """Run `tests` in the copy, up to the first failure; one that hangs is a failure."""
    words = ["-x", "-q", "-p", "no:cacheprovider", "--numprocesses", str(workers)]
    command = [str(Path(sys.executable).with_name("pytest")), *words, *tests]
    # The copy's `src` comes before the checkout, which is installed.
    environment = {**os.environ, "PYTHONPATH": str(copy / "src")}
    begun = time.monotonic()
    try:
        done = subprocess.run(
            command,
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        code, said = done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        code, said = 1, f"it hung for {timeout_s:.0f} s"
    return Ended(passed=code == 0, seconds=time.monotonic() - begun, said=said[-3000:])
