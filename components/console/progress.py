"""Progress of long work: rich's bar on a terminal, plain timestamped lines otherwise."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from yt8m.components.console.native_log import filtered_native_log

_LINE_EVERY_S = 10.0
_HEARD_EVERY_S = 1.0
_listeners: list[Callable[[str], None]] = []


@contextlib.contextmanager
def progress_heard_by(listener: Callable[[str], None]) -> Iterator[None]:
    """In the block, `listener` is told of all progress in this process, about once a second."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


@contextlib.contextmanager
def without_progress() -> Iterator[None]:
    """In the block, no progress in this process is shown."""
    before, Progress.is_shown = Progress.is_shown, False
    try:
        yield
    finally:
        Progress.is_shown = before


class Progress:
    """`with Progress("verify", total=n, unit="records") as p: p.advance(k, note="loss 3.2")`."""

    is_shown = True  # in this process

    def __init__(
        self,
        task: str,
        *,
        total: int | None = None,
        unit: str = "",
        done: int = 0,  # before: work that is taken up again is not this one's pace
        hidden: bool = False,
    ) -> None:
        self._task, self._total, self._unit = task, total, unit
        self._hidden = hidden or not self.is_shown
        self._before = self._done = done
        self._note = ""
        self._start = self._last_line = self._last_heard = time.monotonic()
        # The first units carry what is done once (loading, compiling): they are no one's pace.
        self._paced_from: tuple[float, int] | None = None
        self._bar: Any = None  # rich.progress.Progress, imported only where a terminal shows it
        self._bar_task: Any = None
        self._native_log = contextlib.ExitStack()

    def __enter__(self) -> Progress:
        if not self._hidden and sys.stderr.isatty():
            self._open_bar()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        did_nothing = kind is None and self._done == self._before  # it was all there already
        if self._bar is not None:
            self._bar.live.transient = did_nothing
            self._bar.stop()
            self._native_log.close()
        elif not self._hidden and kind is None and not did_nothing:
            self._line()

    def advance(self, count: int = 1, *, note: str = "") -> None:
        """`count` more units are done; `note` is the figure worth showing beside the bar."""
        self._done += count
        self._note = note or self._note
        now = time.monotonic()
        if count and self._paced_from is None:
            self._paced_from = now, self._done
        if _listeners and now - self._last_heard >= _HEARD_EVERY_S:
            self._last_heard = now
            for listener in _listeners:
                listener(self._said())
        if self._bar is not None:
            self._bar.update(self._bar_task, completed=self._done, note=self._note)
        elif not self._hidden and now - self._last_line >= _LINE_EVERY_S:
            self._line()

    def _open_bar(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
        from rich.progress import Progress as Bar

        self._native_log.enter_context(filtered_native_log())
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn(f"{self._unit} {{task.fields[note]}}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=Console(file=sys.stderr),
        )
        self._bar_task = self._bar.add_task(
            self._task, total=self._total, completed=self._done, note=""
        )
        self._bar.start()

    def _line(self) -> None:
        self._last_line = time.monotonic()
        stamp = time.strftime("%Y-%m-%d %H:%M:%S")
        print(f"{stamp} {self._task}: {self._said()}", file=sys.stderr, flush=True)

    def _said(self) -> str:
        """`120/200 steps in 8.0 s, 35/s, 2 s left, loss 3.2`."""
        elapsed = max(time.monotonic() - self._start, 1e-9)
        of_total = f"/{self._total}" if self._total is not None else ""
        pace = self._pace(elapsed)
        left = (self._total or 0) - self._done
        paced = self._paced_from is not None and self._done > self._paced_from[1]
        time_left = f", {left / pace:,.0f} s left" if left > 0 and paced else ""
        note = f", {self._note}" if self._note else ""
        done = f"{self._done}{of_total} {self._unit} in {elapsed:.1f} s"
        return f"{done}, {pace:,.{0 if pace >= 10 else 1}f}/s{time_left}{note}"

    def _pace(self, elapsed: float) -> float:
        """Units a second, of what came after the first of them where there is more."""
        since, done = self._paced_from or (self._start, self._before)
        if self._done > done:
            return (self._done - done) / max(time.monotonic() - since, 1e-9)
        return (self._done - self._before) / elapsed
