"""What a lock weighs where it is installed, and what is said where another one is."""

import subprocess
import sys
from pathlib import Path

LOCK = Path(__file__).parents[3] / "lock"


def size(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(LOCK / "size.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_this_environments_runtime_lock_is_within_the_goal():
    done = size()
    assert done.returncode == 0, done.stderr
    _, packages, _, gigabytes, *_ = done.stdout.replace(":", "").split()
    assert int(packages) <= 150
    assert float(gigabytes) <= 2.7


def test_a_lock_that_is_not_what_is_installed_is_refused(tmp_path):
    other = tmp_path / "other.txt"
    for pin in ("numpy==0.1", "no-such-package==1.0"):
        other.write_text(f"{pin} \\\n    --hash=sha256:0\n")
        done = size(str(other))
        assert done.returncode == 1
        assert f"{pin.partition('=')[0]} is missing or another" in done.stderr
