"""Retraining: is there new data, with which spans, and when; retries, and the schedule."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yt8m.components.console.console import Console
from yt8m.components.example_gen.sources import Sources, resolve_sources
from yt8m.components.registry.versions import newest
from yt8m.pipeline.config import PipelineConfig, RetrainConfig
from yt8m.pipeline.lineage import Lineage
from yt8m.pipeline.metadata import open_store
from yt8m.pipeline.run.finish import notify, summary
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
    UserError,
)


def backoff(config: RetrainConfig, retry: int) -> float:
    """Seconds to wait before retry number `retry`, counted from 0."""
    return float(min(config.backoff_s * 2**retry, config.backoff_max_s))


def cron_trigger(expression: str, timezone: str) -> Any:  # apscheduler publishes no types
    """When the five-field `expression` fires; UserError when it is none."""
    from apscheduler.triggers.cron import CronTrigger

    try:
        return CronTrigger.from_crontab(expression, timezone=timezone)
    except (ValueError, LookupError) as error:
        raise UserError(
            f"--cron {expression!r} with retrain.timezone {timezone}: {error}; write five fields, "
            'minute hour day month weekday, e.g. "0 3 * * *"'
        ) from error


def run_on_schedule(job: Callable[[], None], *, trigger: Any) -> None:
    """Call `job` in this thread at each time of `trigger`, until it raises; that is raised here.

    One run at a time, in the thread that signals arrive in. Times that pass while one is under
    way, or while the machine sleeps, make one run together.
    """
    from apscheduler.executors.debug import DebugExecutor
    from apscheduler.jobstores.base import JobLookupError
    from apscheduler.schedulers.blocking import BlockingScheduler

    scheduler = BlockingScheduler(
        executors={"default": DebugExecutor()},  # runs the job right where the scheduler waits
        job_defaults={"coalesce": True, "misfire_grace_time": None},
    )
    ends: list[BaseException] = []

    def guarded() -> None:
        try:
            job()
        except BaseException as error:  # the library would log it and go on for ever
            ends.append(error)
            scheduler.shutdown(wait=False)

    scheduler.add_job(guarded, trigger)
    try:
        scheduler.start()
    except JobLookupError:
        if not ends:  # else it looks for the job that was under way when it was shut down
            raise
    finally:
        if scheduler.running:
            scheduler.shutdown(wait=False)
    if ends:
        raise ends[0]


def with_retries(
    attempt: Callable[[], bool], config: RetrainConfig, *, sleep: Callable[[float], None]
) -> bool:
    """Call `attempt` until it returns True or the retries are used up; returns its last answer."""
    for retry in range(config.retries):
        if attempt():
            return True
        sleep(backoff(config, retry))
    return attempt()


_NEWEST_SPAN = ("", "latest")


@dataclass(frozen=True)
class News:
    """Whether there are new data, in words; `is_new` False ends a retraining at once."""

    is_new: bool
    text: str


def windowed(config: PipelineConfig) -> PipelineConfig:
    """`config` on the newest `retrain.window` spans, unless it names its spans itself."""
    if config.data.span not in _NEWEST_SPAN:
        return config
    window = f"last:{config.retrain.window}"
    return dataclasses.replace(config, data=dataclasses.replace(config.data, span=window))


def prepared(config: PipelineConfig) -> PipelineConfig:
    """`config` as a retraining runs it: on the window, and from the newest blessed model."""
    warm = config.retrain.warm_start or config.trainer.start_from_base
    trainer = dataclasses.replace(config.trainer, start_from_base=warm)
    return dataclasses.replace(windowed(config), trainer=trainer)


def find_news(config: PipelineConfig) -> News:
    """Compare what is there with what complete runs, and the newest model, were made from."""
    sources = resolve_sources(config.data)
    processed = _complete_runs(config)
    if sources.digest in processed:
        return News(
            False,
            f"nothing new: {processed[sources.digest]} was made from {_named(sources)} already; "
            "after a change of the configuration, use `yt8m run`",
        )
    known = _newest_known_span(config)
    if sources.spans and known is not None and not processed and max(sources.spans) <= known:
        return News(False, f"nothing new: the registry's newest model has seen span {known}")
    return News(True, f"retraining on {_named(sources)}")


def _complete_runs(config: PipelineConfig) -> dict[str, str]:
    """Digest of the data to the run that was made from them, and what came of it, in words."""
    database = Layout(Path(config.root)).database
    if config.metadata.mysql is None and not database.exists():
        return {}
    lineage = Lineage(open_store(config.metadata, database))
    return {
        str(notes.get("source_digest", "")): f"run {run_id} ({notes['verdict']})"
        for run_id, notes in lineage.notes()
        if Verdict(notes.get("verdict", Verdict.FAILED.value)).is_complete
    }


def _newest_known_span(config: PipelineConfig) -> int | None:
    """Where this root has no history (a new machine, a CronJob's empty disk), the registry has."""
    if not config.pusher.push_dir:
        return None
    version = newest(config.pusher.push_dir)
    return max(version.record.data.spans, default=None) if version else None


def _named(sources: Sources) -> str:
    if not sources.spans:
        return f"{len(sources.shards)} shards (digest {sources.digest})"
    spans = ", ".join(map(str, sources.spans))
    return f"span {spans}" if len(sources.spans) == 1 else f"spans {spans}"


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
