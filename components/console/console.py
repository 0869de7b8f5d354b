"""A command's output: results on stdout, everything else on stderr, in colour on a terminal."""

from __future__ import annotations

import contextlib
import json
import math
import shutil
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from yt8m.components.console.native_log import CLEAR_LINE
from yt8m.components.console.progress import Progress
from yt8m.schemas.plain_text import plain

_NARROWEST = 16  # characters of a column that is wrapped


class Console:
    """The voice of one command; `--quiet` and `--json` are obeyed here and nowhere else."""

    def __init__(self, *, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet = quiet
        self.as_json = as_json

    def info(self, message: str) -> None:
        """Progress worth a line."""
        if not self.quiet:
            self._say(message)

    def warn(self, message: str) -> None:
        """Something the user should know, which does not stop the work."""
        self._say(f"warning: {message}")

    def error(self, message: str, code: int) -> None:
        """Why the command ends without its result, and with which exit code."""
        if self.as_json:
            print(json.dumps({"error": message, "code": code}), flush=True)
        lines = plain(message).replace(
            "\n", "\n       "
        )  # several problems are listed below one another
        print(f"error: {lines}", file=sys.stderr, flush=True)

    def result(self, value: Mapping[str, Any], text: str) -> None:
        """The command's answer: `value` for machines, `text` for people."""
        answer = json.dumps(value, indent=2, allow_nan=False) if self.as_json else plain(text)
        print(answer, flush=True)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
        """The rows as an aligned text table, to be handed to `result`."""
        return text_table(columns, rows)

    def progress(
        self, task: str, *, total: int | None = None, unit: str = "", done: int = 0
    ) -> Progress:
        """A bar on a terminal, a line now and then in a log; use it in a `with`."""
        return Progress(task, total=total, unit=unit, done=done, hidden=self.quiet)

    @contextlib.contextmanager
    def waiting(self, message: str) -> Iterator[None]:
        """Show on a terminal what takes its time, as long as it takes; a log has no line of it."""
        if self.quiet or not sys.stderr.isatty():
            yield
            return
        print(message, end="", file=sys.stderr, flush=True)
        try:
            yield
        finally:
            print(CLEAR_LINE, end="", file=sys.stderr, flush=True)

    def _say(self, message: str) -> None:
        stamp = "" if sys.stderr.isatty() else time.strftime("%Y-%m-%d %H:%M:%S ")
        print(f"{stamp}{plain(message)}", file=sys.stderr, flush=True)


def text_table(
    columns: Sequence[str], rows: Sequence[Sequence[object]], width: int | None = None
) -> str:
    """Columns as wide as their longest cell, as far as `width` goes (default: the terminal's).

    Where they are wider, the widest column is wrapped. Where that is not enough, each row becomes
    a block with a line for each cell.
    """
    texts = [[str(cell) for cell in row] for row in [columns, *rows]]
    widths = [max(len(row[i]) for row in texts) for i in range(len(columns))]
    excess = sum(widths) + 2 * len(widths) - 2 - (width or _terminal_width())
    groups = [[row] for row in texts]  # the lines of each row
    if excess > 0:
        widest = widths.index(max(widths))
        widths[widest] -= int(excess)
        if widths[widest] < _NARROWEST:
            return _blocks(texts[0], texts[1:])
        groups = [_wrapped(row, widest, widths[widest]) for row in texts]
    groups.insert(1, [["-" * width for width in widths]])
    lines = [line for group in groups for line in group]
    padded = ([cell.ljust(w) for cell, w in zip(line, widths, strict=True)] for line in lines)
    return "\n".join("  ".join(line).rstrip() for line in padded)


def _terminal_width() -> float:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else math.inf


def _wrapped(row: Sequence[str], column: int, width: int) -> list[list[str]]:
    """The lines of a row, one of whose cells is wrapped."""
    parts = textwrap.wrap(row[column], width, break_on_hyphens=False) or [""]
    lines = [[""] * len(row) for _ in parts]
    lines[0] = list(row)
    for line, part in zip(lines, parts, strict=True):
        line[column] = part
    return lines


def _blocks(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    width = max(map(len, columns))
    return "\n\n".join(
        "\n".join(f"{c:<{width}}  {cell}".rstrip() for c, cell in zip(columns, row, strict=True))
        for row in rows
    )
