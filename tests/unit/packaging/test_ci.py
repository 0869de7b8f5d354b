"""`.ci/run` calls targets of make that exist; the README's own test command is among them."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
RUN = (ROOT / ".ci" / "run").read_text()


def targets() -> list[str]:
    """Those of the three lists, and those that are named where they run."""
    listed = re.findall(r"^[a-z]+=\(([^)]+)\)$", RUN, re.MULTILINE)
    named = re.findall(r"^run ([a-z][a-z -]+)$", RUN, re.MULTILINE)
    return " ".join(listed + named).split()


def test_every_target_is_one_of_make() -> None:
    known = re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(targets()) <= set(known)
    assert {"check", "demo", "test-control-plane", "test-slow-half", "test"} <= set(targets())


def test_it_is_a_script_that_a_shell_reads() -> None:
    subprocess.run(["bash", "-n", str(ROOT / ".ci" / "run")], check=True)
