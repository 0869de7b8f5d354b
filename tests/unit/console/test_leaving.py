"""How a process ends: everything registered is done, and what is loaded is not taken apart."""

import subprocess
import sys

PROGRAM = """
import atexit, sys
from yt8m.components.console.leaving import Exit
leave = Exit()
atexit.register(lambda: sys.stdout.closed or print("registered"))
class Loaded:
    def __del__(self):
        print("taken apart", flush=True)
loaded = Loaded()
print("a result")
{end}
"""


def end_of(end: str, **streams) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM.format(end=end)]
    return subprocess.run(command, text=True, check=False, timeout=60, **streams)


def test_it_ends_with_its_code_when_all_is_written_and_takes_nothing_apart():
    done = end_of("leave(3)", capture_output=True)
    assert done.returncode == 3
    assert done.stdout == "a result\nregistered\n"
    assert done.stderr == ""


def test_an_error_that_nobody_catches_ends_it_as_ever():
    done = end_of("raise LookupError('a bug')", capture_output=True)
    assert done.returncode == 1
    assert "LookupError: a bug" in done.stderr
    assert "taken apart" in done.stdout


def test_a_result_that_cannot_be_written_is_a_failure():
    with open("/dev/full", "w") as full:  # noqa: PTH123  (a device)
        done = end_of("leave(0)", stdout=full, stderr=subprocess.PIPE)
    assert done.returncode != 0
    assert "No space left" in done.stderr


def test_a_stream_that_is_closed_already_is_none():
    done = end_of("sys.stdout.close(); leave(4)", capture_output=True)
    assert done.returncode == 4
    assert done.stderr == ""
