"""All that a run prints goes to files."""

import subprocess
import sys

CAPTURED = """
import os, sys, logging
from pathlib import Path
from yt8m.pipeline.run.capture import Capture
folder = Path(sys.argv[1])
print("before")
with Capture(folder / "a.log") as capture:
    print("printed")
    os.write(2, b"from C\\n")
    capture.to(folder / "b.log")
    logging.getLogger("x").info("logged")
    print("shown", file=capture.terminal)
print("after")
"""


def test_all_that_a_run_prints_goes_to_the_log_of_its_component(tmp_path):
    command = [sys.executable, "-c", CAPTURED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "before\nafter\n"
    assert done.stderr == "shown\n"
    assert sorted((tmp_path / "a.log").read_text().splitlines()) == ["from C", "printed"]
    assert "INFO x: logged" in (tmp_path / "b.log").read_text()
