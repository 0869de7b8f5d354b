"""Lines that C++ libraries write below Python, to file descriptor 2, kept off a bar's line.

Run as a program this is the filter: a process of its own, so that the last words of one that
crashes are not lost with it. It holds absl, which XLA logs by, to TF_CPP_MIN_LOG_LEVEL: absl itself
writes everything until somebody initialises it, and TensorFlow does not.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import BinaryIO, TextIO

LEVEL = "TF_CPP_MIN_LOG_LEVEL"
_SEVERITIES = b"IWEF"
# I0000 00:00:1700000000.123456   1234 service.cc:145] XLA service ... initialized for platform Host
_ABSL_LINE = re.compile(rb"([IWEF])\d{4} \d\d:\d\d:[\d.]+\s+\d+ [\w./-]+:\d+\] ")
_ABSL_PREFACE = b"WARNING: All log messages before absl::InitializeLog()"
CLEAR_LINE = "\r\x1b[2K"
_ENDING_S = 5.0


@contextlib.contextmanager
def filtered_native_log() -> Iterator[None]:
    """Fd 2 goes through the filter, and `sys.stderr` is the terminal (or log) itself, for the bar.

    Does nothing where `sys.stderr` is not fd 2.
    """
    before = sys.stderr
    if not _is_descriptor_2(before):
        yield
        return
    before.flush()
    terminal = os.dup(2)
    # Not of the terminal's group: Ctrl-C is for the process that it serves.
    lines = subprocess.Popen(
        [sys.executable, "-I", "-S", __file__],
        stdin=subprocess.PIPE,
        stdout=terminal,
        start_new_session=True,
    )
    assert lines.stdin is not None
    os.dup2(lines.stdin.fileno(), 2)
    lines.stdin.close()
    sys.stderr = os.fdopen(terminal, "w", encoding="utf-8", errors="backslashreplace")
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(sys.stderr.fileno(), 2)  # the filter's input ends with it
        sys.stderr.close()
        sys.stderr = before
        # It goes on for a process that was started meanwhile and lives.
        with contextlib.suppress(subprocess.TimeoutExpired):
            lines.wait(_ENDING_S)


def _is_descriptor_2(stream: TextIO) -> bool:
    try:
        return stream.fileno() == 2
    except OSError:  # a stream in memory
        return False


def is_noise(line: bytes, level: int) -> bool:
    """Whether the line is absl's, and of a severity that `level` silences."""
    if line.startswith(_ABSL_PREFACE):
        return level > 0
    match = _ABSL_LINE.match(line)
    return match is not None and _SEVERITIES.index(match[1]) < level


def _filter(lines: BinaryIO, terminal: BinaryIO, level: int) -> None:
    for line in lines:
        if not is_noise(line, level):
            terminal.write(CLEAR_LINE.encode() + line if terminal.isatty() else line)
            terminal.flush()


if __name__ == "__main__":
    text = os.environ.get(LEVEL, "0")
    _filter(sys.stdin.buffer, sys.stdout.buffer, int(text) if text.isdigit() else 0)
