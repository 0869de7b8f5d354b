"""The live table of a run: a row for each component, or a line for each event in a log."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, TextIO

from yt8m.pipeline.run.record import NodeRecord, RunRecord, State

_COLOURS = {
    State.WAITING: "dim",
    State.RUNNING: "bold cyan",
    State.DONE: "green",
    State.CACHED: "green",
    State.FAILED: "bold red",
    State.STOPPED: "yellow",
    State.KILLED: "bold red",
}
_REFRESH_PER_S = 4
_BEFORE = "loading TensorFlow and TFX ..."


class Table:
    """`with Table(terminal) as table: table.show(record)`, after every event."""

    def __init__(
        self, terminal: TextIO, *, hidden: bool = False, clock: Callable[[], float] = time.time
    ) -> None:
        self._terminal, self._hidden, self._clock = terminal, hidden, clock
        self._record: RunRecord | None = None
        self._said: dict[str, State] = {}
        self._live: Any = None  # rich.live.Live, imported only where a terminal shows it

    def __enter__(self) -> Table:
        if not self._hidden and self._terminal.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(
                console=Console(file=self._terminal),
                get_renderable=self._render,
                refresh_per_second=_REFRESH_PER_S,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, record: RunRecord) -> None:
        """The run is now as `record` says."""
        self._record = record
        if self._live is None and not self._hidden:
            for node in record.nodes:
                if self._said.get(node.name, State.WAITING) is not node.state:
                    self._said[node.name] = node.state
                    self._line(node)

    def _line(self, node: NodeRecord) -> None:
        stamp = time.strftime("%Y-%m-%d %H:%M:%S")
        took = "" if node.state is State.RUNNING else f" {node.seconds:6.1f} s"
        print(
            f"{stamp} {node.name:<16} {node.state.value:<8}{took}  {node.figure}".rstrip(),
            file=self._terminal,
            flush=True,
        )

    def _render(self) -> Any:
        from rich.table import Table as RichTable

        if self._record is None or not self._record.nodes:
            return _BEFORE
        table = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for column in ("component", "state", "time", "peak", "figure"):
            table.add_column(column, justify="right" if column in ("time", "peak") else "left")
        for node in self._record.nodes:
            colour = _COLOURS[node.state]
            table.add_row(
                node.name,
                f"[{colour}]{node.state.value}[/]",
                self._time(node),
                f"{node.peak_mib / 1024:.1f} GB" if node.peak_mib else "",
                node.figure,
            )
        return table

    def _time(self, node: NodeRecord) -> str:
        if node.state is State.WAITING:
            return ""
        running = node.state is State.RUNNING
        return f"{self._clock() - node.started if running else node.seconds:.1f} s"
