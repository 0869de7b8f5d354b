"""A command whose reader has gone ends as it would have ended."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from yt8m.components.console.listener import Listener, is_gone

TALKS = """
import sys
from yt8m.components.console.console import Console
from yt8m.components.console.listener import is_gone, listen_to
sys.stdout, sys.stderr = listen_to(sys.stdout), listen_to(sys.stderr)
console = Console()
sys.stdin.readline()  # until the reader has gone
for number in range(3):
    console.info(f"line {number}")
    console.result({}, "x" * 100_000)
with open(sys.argv[1], "w") as file:
    file.write(f"{is_gone(sys.stdout)} {is_gone(sys.stderr)}")
sys.exit(3)
"""


def test_it_is_a_stream_that_counts_what_it_was_given(tmp_path: Path) -> None:
    with Listener((tmp_path / "out").open("wb"), encoding="utf-8") as stream:
        assert stream.write("grün\n") == 5
        assert not is_gone(stream)
    assert (tmp_path / "out").read_text(encoding="utf-8") == "grün\n"


def command(tmp_path: Path, **streams: int) -> subprocess.Popen[bytes]:
    arguments = [sys.executable, "-c", TALKS, str(tmp_path / "end")]
    return subprocess.Popen(arguments, stdin=subprocess.PIPE, **streams)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_closed_pipe_ends_nothing(tmp_path: Path, stream: str) -> None:
    other = {"stdout": "stderr", "stderr": "stdout"}[stream]
    streams = {stream: subprocess.PIPE, other: subprocess.DEVNULL}
    with command(tmp_path, **streams) as process:
        getattr(process, stream).close()
        process.communicate(b"\n")
        assert process.returncode == 3
    gone = (tmp_path / "end").read_text().split()
    assert gone == [str(stream == "stdout"), str(stream == "stderr")]


def test_a_terminal_that_was_closed_ends_nothing(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    with command(tmp_path, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        os.close(ours)
        process.communicate(b"\n")
        assert process.returncode == 3
    assert (tmp_path / "end").read_text() == "True True"


def test_a_full_disk_is_a_failure(tmp_path: Path) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    with command(tmp_path, stdout=full, stderr=subprocess.PIPE) as process:
        _, said = process.communicate(b"\n")
    os.close(full)
    assert process.returncode not in (0, 3)
    assert b"No space left" in said


CLOSED = """
import os, subprocess, sys
from yt8m.components.console.console import Console
from yt8m.components.console.listener import listen_to, open_closed_streams
open_closed_streams()
sys.stdout, sys.stderr = listen_to(sys.stdout), listen_to(sys.stderr)
with open(sys.argv[1], "w") as file:
    subprocess.run(["sh", "-c", "echo lost; echo lost >&2; cat"], check=True)
    os.write(1, b"lost"), os.write(2, b"lost")
    console = Console()
    console.result({}, console.table(["a"], [["lost"]]))
    console.warn("lost")
    file.write(f"{file.fileno() > 2}")
"""


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_the_caller_has_closed_is_no_other_file(tmp_path: Path, closed: str) -> None:
    script = [sys.executable, "-c", CLOSED, str(tmp_path / "file")]
    called = ["sh", "-c", f'exec "$@" {closed}', "sh", *script]
    done = subprocess.run(called, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "file").read_text() == "True"
