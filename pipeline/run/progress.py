"""Display of a run: each component's state, time, peak memory and key metric."""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from yt8m.components.artifacts.run_outputs import RunOutputs
from yt8m.components.artifacts.run_record import NodeRecord, RunRecord, State
from yt8m.pipeline.lineage import ArtifactFacts
from yt8m.schemas.plain_text import plain

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
_LINE_EVERY_S = 10.0
_BEFORE = "loading TensorFlow and TFX ..."


class ProgressTable:
    """`with ProgressTable(terminal) as table: table.show(record)`, after every event."""

    def __init__(
        self, terminal: TextIO, *, hidden: bool = False, clock: Callable[[], float] = time.time
    ) -> None:
        self._terminal, self._hidden, self._clock = terminal, hidden, clock
        self._record: RunRecord | None = None
        self._said: dict[str, State] = {}
        self._last_line = 0.0
        self._live: Any = None  # rich.live.Live, imported only where a terminal shows it

    def __enter__(self) -> ProgressTable:
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
                changed = self._said.get(node.name, State.WAITING) is not node.state
                if changed or (node.figure and self._is_due(node)):
                    self._said[node.name] = node.state
                    self._line(node)

    def note(self, text: str) -> None:
        """Show a notice above the table, or between its lines."""
        if self._live is not None:
            self._live.console.print(f"warning: {plain(text)}", markup=False, highlight=False)
        else:
            print(f"warning: {plain(text)}", file=self._terminal, flush=True)

    def _is_due(self, node: NodeRecord) -> bool:
        """Whether a log should hear how far a component is."""
        return node.state is State.RUNNING and self._clock() - self._last_line >= _LINE_EVERY_S

    def _line(self, node: NodeRecord) -> None:
        self._last_line = self._clock()
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
        for column in ("component", "state", "time", "peak", "key metric"):
            table.add_column(
                column,
                justify="right" if column in ("time", "peak") else "left",
                no_wrap=column != "key metric",  # on a narrow terminal
            )
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


# Property name to the text that shows it; the first one that an artifact has is taken.
_FORMATS = (
    ("pushed_version", "version {}"),
    ("pushed", "not pushed"),
    ("gap", "GAP {:.4f}"),
    ("loss", "loss {:.4f}"),
    ("latency_ms", "p99 {:.1f} ms"),
    ("anomalies", "{} anomalies"),
    ("records", "{:,} records"),
    ("version", "version {}"),
    ("features", "{} features"),
    ("verdict", "{}"),
)
_NO_VERSION = ("", "0")


def key_metric(outputs: Iterable[ArtifactFacts]) -> str:
    """The figure of a component; empty where its artifacts have none."""
    outputs = tuple(outputs)
    properties = {name: value for o in outputs for name, value in o.properties.items()}
    for name, form in _FORMATS:
        if name in properties:
            return _shown(form, properties, name)
    # TFX's own Trainer gives its artifacts no properties; its log has the last loss.
    return _last_loss(RunOutputs({o.key: o.uri for o in outputs}).curve)


def _shown(form: str, properties: dict[str, Any], name: str) -> str:
    value = properties[name]
    if "version" in name and str(value) in _NO_VERSION:
        return "none"
    baseline = properties.get("gap_baseline")
    if name == "gap" and isinstance(baseline, float):
        return f"GAP {value:.4f}, baseline {baseline:.4f}"
    if name == "records" and (bad := properties.get("quarantined")):
        return f"{form.format(value)}, {bad:,} left out"
    return form.format(value)


def _last_loss(curve: Iterable[Mapping[str, Any]]) -> str:
    losses = [row["loss"] for row in curve if row.get("kind") == "train"]
    return f"loss {losses[-1]:.4f} (last batch)" if losses else ""


_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"
_MIB = 1 << 20


def reset_peak() -> None:
    """Reset the peak, where the kernel offers it (Linux); elsewhere the peak only grows."""
    try:
        _CLEAR.write_text(_RESET_PEAK, encoding="ascii")
    except OSError:
        return


def peak_mib() -> float:
    """Peak resident memory since `reset_peak`."""
    try:
        for line in _STATUS.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / _MIB


def cpu_seconds() -> float:
    """Processor time so far, of this process and of those that it started and that have ended."""
    return sum(os.times()[:4])


TIMINGS = ("where the time went", "seconds", "CPU-seconds", "peak")


def timings(record: RunRecord) -> list[tuple[str, str, str, str]]:
    """The rows of `TIMINGS`: each component, and what lies before and between them."""
    ran = sorted((node for node in record.nodes if node.seconds), key=lambda node: node.started)
    if not ran:
        return []
    loading = max(ran[0].started - record.started, 0.0)
    rest = max(record.seconds - loading - sum(node.seconds for node in ran), 0.0)
    rows = [
        (node.name, _amount(node.seconds), _amount(node.cpu_seconds), f"{node.peak_mib:,.0f} MiB")
        for node in ran
    ]
    return [
        ("loading TensorFlow and TFX", _amount(loading), "", ""),
        *rows,
        ("between them, and the end", _amount(rest), "", ""),
        ("all", _amount(record.seconds), "", ""),
    ]


def _amount(seconds: float) -> str:
    return f"{seconds:.1f}"
