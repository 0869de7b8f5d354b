"""Recorder of a run: its record on disk, its table on the terminal, a log per component."""

from __future__ import annotations

import dataclasses
import logging
import time
from pathlib import Path
from typing import Any

from yt8m.components.allocator import collect_garbage
from yt8m.components.artifacts.run_outputs import RunOutputs
from yt8m.components.artifacts.run_record import NodeRecord, RunRecord, State, Verdict
from yt8m.pipeline.lineage import Lineage
from yt8m.pipeline.run.capture import Capture
from yt8m.pipeline.run.openlineage import RunEvents
from yt8m.pipeline.run.progress import ProgressTable, cpu_seconds, key_metric, peak_mib, reset_peak
from yt8m.pipeline.run.signals import Interrupted, Signals
from yt8m.pipeline.run_record import write_record
from yt8m.pipeline.workspace import Layout
from yt8m.schemas.errors import Terminated, Yt8mError
from yt8m.schemas.plain_text import plain

RUNNER_LOG = "runner"
_TELL_EVERY_S = 2.0
_ON_SIGNALS = (KeyboardInterrupt, Interrupted, Terminated)  # Trainer obeys signals by itself

_log = logging.getLogger(__name__)


class Recorder:
    """Hears from the engine of every component (it is an `engine.Observer`)."""

    def __init__(
        self,
        record: RunRecord,
        *,
        layout: Layout,
        logs: Path,
        capture: Capture,
        table: ProgressTable,
        lineage: Lineage,
        events: RunEvents,
        signals: Signals,
    ) -> None:
        self.record = record
        self.error: BaseException | None = None  # as the component raised it
        self._uris: dict[tuple[str, str], str] = {}  # of artifacts, by component and output
        self._layout, self._capture, self._table = layout, capture, table
        self._logs = logs  # where they are written
        self._lineage, self._signals, self._events = lineage, signals, events
        self._told = 0.0
        # Of a clock that nobody sets: for how long, not when.
        self._began = self._component_began = time.monotonic()
        self._cpu_before = cpu_seconds()

    def started(self, node: str) -> None:
        self._signals.refuse_after_signal()  # it was lost on its way out of the last component
        self._capture.to(self._logs / f"{node}.log")
        collect_garbage()
        reset_peak()
        self._component_began, self._cpu_before = time.monotonic(), cpu_seconds()
        record = NodeRecord(name=node, state=State.RUNNING, started=time.time())
        self._put(record)
        self._events.step(record)

    def finished(self, node: str, *, execution_id: int, cached: bool) -> None:
        outputs = self._lineage.outputs([execution_id])
        self._uris |= {(node, output.key): output.uri for output in outputs}
        self._end(
            node,
            state=State.CACHED if cached else State.DONE,
            execution_id=execution_id,
            figure=key_metric(outputs),
        )
        inputs = self._lineage.inputs([execution_id])
        self._events.step(self.record.node(node), inputs=inputs, outputs=outputs)

    def failed(self, node: str, error: BaseException) -> None:
        self.error = error
        stopped = self._signals.received is not None or isinstance(error, _ON_SIGNALS)
        state = State.STOPPED if stopped else State.FAILED
        if not stopped and not isinstance(error, Yt8mError):
            _log.error("%s failed", node, exc_info=error)  # to the component's own log
        self._end(node, state=state, error=_explained(error))
        self._events.step(self.record.node(node))

    def ended_early(self, error: BaseException) -> None:
        """No component runs any more, though a signal came before the engine could say so."""
        for node in self.record.nodes:
            if node.state is State.RUNNING:
                self.failed(node.name, error)

    def abandon(self, error: Interrupted | Terminated) -> None:
        """The last words of a process that a signal ends in a call which hears none."""
        running = [node.name for node in self.record.nodes if node.state is State.RUNNING]
        where = f"{running[0]} could not be interrupted" if running else "it was about to end"
        if self.record.verdict is Verdict.RUNNING:
            verdict = Verdict.TERMINATED if isinstance(error, Terminated) else Verdict.INTERRUPTED
            self.update(verdict=verdict, reason=f"{error} ({where})")
        for node in self.record.nodes:
            if node.state is State.RUNNING:
                stopped = dataclasses.replace(node, state=State.STOPPED, error=str(error))
                self.update(nodes=self.record.with_node(stopped).nodes)
        print(plain(f"error: {error} ({where})"), file=self._capture.terminal, flush=True)

    @property
    def outputs(self) -> RunOutputs:
        """The components' outputs so far."""
        return RunOutputs.from_components(self._uris)

    @property
    def seconds(self) -> float:
        """How long the run takes so far."""
        return time.monotonic() - self._began

    def update(self, **values: Any) -> None:
        """Change fields of the run's record."""
        self.record = dataclasses.replace(self.record, **values)
        self._write()

    def why(self, error: BaseException) -> str:
        """Why the run failed: what the failed component said, or `error` where none did."""
        for node in self.record.nodes:
            if node.state is State.FAILED:
                log = self._layout.log(self.record.run_id, node.name)
                return f"{node.name} failed: {node.error}\nits log: {log}"
        log = self._layout.log(self.record.run_id, RUNNER_LOG)
        return f"the run failed: {_explained(error)}\nits log: {log}"

    def progressed(self, said: str) -> None:
        """The component under way says how far it is; its record tells those who watch.

        From any thread. After a signal the record's last words are others'.
        """
        if self._signals.received is not None:
            return
        for node in self.record.nodes:
            if node.state is State.RUNNING and time.monotonic() - self._told >= _TELL_EVERY_S:
                self._told = time.monotonic()
                self._put(dataclasses.replace(node, figure=said))

    def _end(self, node: str, **values: Any) -> None:
        before = dataclasses.replace(self.record.node(node), figure="")
        measured: dict[str, Any] = {
            "seconds": time.monotonic() - self._component_began,
            "cpu_seconds": cpu_seconds() - self._cpu_before,
            "peak_mib": peak_mib(),
        }
        self._put(dataclasses.replace(before, **measured, **values))
        self._capture.to(self._logs / f"{RUNNER_LOG}.log")

    def _put(self, node: NodeRecord) -> None:
        self.record = self.record.with_node(node)
        self._write()
        self._table.show(self.record)

    def _write(self) -> None:
        try:
            write_record(self._layout, self.record)
        except OSError as error:  # a full disk: the run's own failure is what must be reported
            _log.warning("the run's record is not up to date: %s", error)


def _explained(error: BaseException) -> str:
    """Describe an error: our own as they are, others with their type."""
    return str(error) if isinstance(error, Yt8mError) else f"{type(error).__name__}: {error}"
