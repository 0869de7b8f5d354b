"""`make jupyter` writes a kernel of this checkout, and of no other."""

import json
import os
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[3] / "lock" / "jupyter_kernel.py"


def test_another_checkouts_kernel_which_uv_has_linked_to_the_same_file_stays(tmp_path):
    cached = tmp_path / "cached.json"
    cached.write_text("as published")
    kernels = [tmp_path / name / "share/jupyter/kernels/python3/kernel.json" for name in "ab"]
    for kernel in kernels:
        kernel.parent.mkdir(parents=True)
        os.link(cached, kernel)
        subprocess.run([sys.executable, PROGRAM, kernel.parents[4]], check=True)
    assert cached.read_text() == "as published"
    for kernel in kernels:
        start = " ".join(json.loads(kernel.read_text())["argv"])
        assert str(kernel.parents[4] / "lib") in start
