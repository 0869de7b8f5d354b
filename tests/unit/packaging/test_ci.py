"""`.ci/run` calls targets of make that exist; the README's own test command is among them."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
RUN = (ROOT / ".ci" / "run").read_text()


def targets() -> list[str]:
    return re.search(r"targets=\(\n(.*?)\n\)", RUN, re.DOTALL)[1].split()


def test_every_target_is_one_of_make() -> None:
    known = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(targets()) <= set(known)
    assert {"check", "demo", "test"} <= set(targets())


def test_it_is_a_script_that_a_shell_reads() -> None:
    subprocess.run(["bash", "-n", str(ROOT / ".ci" / "run")], check=True)
