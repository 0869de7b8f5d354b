"""Generating and inspecting need no more memory for more data."""

import subprocess
import sys
from pathlib import Path

PROBE = """
import resource, sys
from yt8m.cli.main import run
code = run(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, file=sys.stderr)
sys.exit(code)
"""
FEW, MANY = 4_000, 24_000  # both fill every buffer
RECORD_BYTES = 4_700
ALLOWED = 16e6  # of 94 MB that there are more


def peak_bytes(*arguments):
    """The most memory that the command had."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return int(done.stderr.splitlines()[-1])


def generate(out: Path, count: int) -> int:
    small = ("--level", "video", "--eval", 0, "--classes", 50)
    return peak_bytes("data", "generate", "--out", out, "--train", count, *small)


def test_memory_does_not_grow_with_the_data(tmp_path):
    assert (MANY - FEW) * RECORD_BYTES > 5 * ALLOWED
    few, many = generate(tmp_path / "few", FEW), generate(tmp_path / "many", MANY)
    assert many - few < ALLOWED
    few, many = (peak_bytes("data", "inspect", tmp_path / name) for name in ("few", "many"))
    assert many - few < ALLOWED
