"""Retraining on a schedule: each run is a process of its own, so that nothing builds up here."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

from yt8m.components.console.console import Console
from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.notify import notify
from yt8m.pipeline.retrain import cron_trigger, run_on_schedule, with_retries
from yt8m.pipeline.run.finish import summary
from yt8m.pipeline.run.record import RunRecord, Verdict, read_records
from yt8m.pipeline.run.signals import Interrupted, signals_as_errors
from yt8m.pipeline.run.workspace import Layout
from yt8m.schemas.errors import (
    EXIT_DONE,
    EXIT_HELD_BACK,
    EXIT_INTERRUPTED,
    EXIT_NOTHING_NEW,
    EXIT_TERMINATED,
    Terminated,
)

_START = "from yt8m.components.console.main import main; main()"
_SETTLED = (EXIT_DONE, EXIT_HELD_BACK, EXIT_NOTHING_NEW)
_ENDED_BY_SIGNAL = (EXIT_INTERRUPTED, EXIT_TERMINATED)


class RetrainScheduler:
    """`command` is the `yt8m retrain ...` that runs once."""

    def __init__(
        self, command: Sequence[str], config: PipelineConfig, layout: Layout, console: Console
    ) -> None:
        self._command, self._config = list(command), config
        self._layout, self._console = layout, console
        self._stop = threading.Event()

    def stay(self, expression: str) -> None:
        """Until a signal comes."""
        trigger = cron_trigger(expression, self._config.retrain.timezone)
        self._console.info(f"retraining at {expression} ({self._config.retrain.timezone})")
        with signals_as_errors() as signals:
            try:
                run_on_schedule(self.once, trigger=trigger)
            except KeyboardInterrupt:
                raise (signals.received or Interrupted("interrupted")) from None

    def once(self) -> None:
        """One retraining, with its retries; a failure that stays is reported and waited out."""
        before = self._newest_run()
        settled = with_retries(self._attempt, self._config.retrain, sleep=self._pause)
        after = self._newest_run()
        if after is not None and after != before:
            self._tell(summary(after))
        elif not settled:
            self._tell({"verdict": Verdict.FAILED.value, "reason": "the run could not start"})
        if not settled:
            self._console.warn("retraining failed; the next time it is due it is tried again")

    def _attempt(self) -> bool:
        """Run once; True where there is nothing to try again."""
        with subprocess.Popen([sys.executable, "-c", _START, *self._command]) as process:
            try:
                code = process.wait()
            except KeyboardInterrupt:
                process.terminate()  # it saves what it has; on Ctrl-C it was told already
                process.wait()
                raise
        if code in _ENDED_BY_SIGNAL:
            raise Terminated("the retraining under way was ended by a signal")
        return code in _SETTLED

    def _pause(self, seconds: float) -> None:
        self._console.warn(f"retraining failed; tried again in {seconds:g} s")
        self._stop.wait(seconds)

    def _newest_run(self) -> RunRecord | None:
        return next(read_records(self._layout), None)

    def _tell(self, outcome: dict[str, Any]) -> None:
        if problem := notify(self._config.notify, outcome):
            self._console.warn(problem)
