"""Retraining: the choice of spans, and the schedule."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from yt8m.components import storage
from yt8m.components.artifacts.run_record import RunRecord, Verdict
from yt8m.components.artifacts.spans import spans_text
from yt8m.components.artifacts.version_record import Origin, VersionRecord
from yt8m.components.console.console import Console
from yt8m.components.console.signals import signal_received
from yt8m.components.example_gen.sources import Sources, resolve_sources
from yt8m.components.registry.versions import (
    UnusableVersionError,
    list_versions,
    load_record,
    newest,
)
from yt8m.components.storage.retry import Backoff
from yt8m.pipeline.config import PipelineConfig, RetrainConfig
from yt8m.pipeline.metadata import open_lineage
from yt8m.pipeline.retraining.judged_data import read_judged
from yt8m.pipeline.run.finish import notify, summary
from yt8m.pipeline.run.prometheus import ServedModel, find_served, write_metrics
from yt8m.pipeline.run.retrain_status import RetrainStatus, read_status, write_status
from yt8m.pipeline.run.signals import GRACE_S, Interrupted, signals_as_errors
from yt8m.pipeline.run_record import list_runs, newest_retraining, read_run_records
from yt8m.pipeline.workspace import Layout, is_held, run_lock
from yt8m.schemas.cron import Cron
from yt8m.schemas.errors import (
    EXIT_DONE,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_NOTHING_NEW,
    EXIT_REJECTED,
    EXIT_TERMINATED,
    EXIT_USER,
    Terminated,
    Yt8mError,
)
from yt8m.schemas.json_file import NewerFormatError

_SETTLED = (EXIT_DONE, EXIT_REJECTED, EXIT_NOTHING_NEW)
_NOT_RETRIED = (*_SETTLED, EXIT_USER)  # a user error stays one a minute later
# -P: as in the console script, no module of the working directory hides one of Python's.
_PROGRAM = (sys.executable, "-P", "-m", "yt8m")
_ENDED_BY_SIGNAL = (EXIT_INTERRUPTED, EXIT_TERMINATED)
_ONE_SCHEDULE = "it retrains on a schedule: a root has one, so stop it first, or use another --root"
_CLOCK_CHECK_S = 30.0  # the machine may sleep, and its clock may be set
_HEARTBEAT_S = 120.0
_CLOCK_CHANGE_S = 7200.0  # by which daylight saving time may lengthen a period, and more
_CHILD_ENDS_WITHIN_S = GRACE_S + 3
_DAY_S = 86400.0
# Storage that fails for a while, or a run of a newer yt8m: none of them ends a schedule.
_UNREADABLE = (OSError, Yt8mError)
_NEWEST_SPAN = ("", "latest")


@dataclass(frozen=True)
class NewData:
    """Whether there are new data, in words; `is_new` False ends a retraining immediately."""

    is_new: bool
    text: str
    digest: str = ""  # of the data that are there


def windowed(config: PipelineConfig) -> PipelineConfig:
    """`config` on the newest `retrain.window` spans, unless it names its spans itself."""
    if config.data.span not in _NEWEST_SPAN:
        return config
    window = f"last:{config.retrain.window}"
    return dataclasses.replace(config, data=dataclasses.replace(config.data, span=window))


def retraining_config(config: PipelineConfig) -> PipelineConfig:
    """`config` as a retraining runs it: on the window, and from the newest blessed model."""
    warm = config.retrain.warm_start or config.trainer.start_from_base
    trainer = dataclasses.replace(config.trainer, start_from_base=warm)
    return dataclasses.replace(windowed(config), trainer=trainer)


def find_new_data(config: PipelineConfig) -> NewData:
    """Compare what is there with what complete runs, and the newest model, were made from."""
    sources = resolve_sources(config.data)
    of_root = _complete_runs(config)
    processed = of_root or _judged_elsewhere(config)
    if sources.digest in processed:
        return NewData(
            False,
            f"nothing new: {processed[sources.digest]} was made from {_named(sources)} already; "
            "after a change of the configuration, use `yt8m run`",
            sources.digest,
        )
    known = None if of_root else _newest_known_span(config)
    if sources.spans and known is not None and max(sources.spans) <= known:
        seen = spans_text([known], dated=sources.dated)
        text = f"nothing new: the registry has a model that was made from {seen}"
        return NewData(False, text, sources.digest)
    return NewData(True, f"retraining on {_named(sources)}", sources.digest)


def _complete_runs(config: PipelineConfig) -> dict[str, str]:
    """Digest of the data to the run that was made from them, and what came of it, in words.

    Metadata outlive the runs' records, and have no note of a run that could not reach them. Runs
    for another registry, such as those of a sweep on this root, leave this one without a model.
    """
    layout = Layout(config.root)
    own = storage.real_name(config.pusher.push_dir)

    def is_of_this_registry(push_dir: str) -> bool:
        return not push_dir or storage.real_name(push_dir) == own

    records = list(read_run_records(layout))
    of_records = {
        record.source_digest: f"run {record.run_id} ({record.verdict.value})"
        for record in records
        if record.is_settled and is_of_this_registry(record.push_dir)
    }
    if config.metadata.mysql is None and not layout.database.exists():
        return of_records
    elsewhere = {r.run_id for r in records if not is_of_this_registry(r.push_dir)}
    lineage = open_lineage(config.metadata, layout.database)
    of_notes = {
        str(notes.get("source_digest", "")): f"run {run_id} ({notes['verdict']})"
        for run_id, notes in lineage.notes()
        if Verdict(notes.get("verdict", Verdict.FAILED.value)).is_complete
        and not notes.get("stale")
        and run_id not in elsewhere
        and is_of_this_registry(str(notes.get("push_dir", "")))
    }
    return {**of_records, **of_notes}


def _judged_elsewhere(config: PipelineConfig) -> dict[str, str]:
    """The same of the registry's last retraining, whose root may be gone."""
    judged = read_judged(config.pusher.push_dir)
    if judged is None:
        return {}
    return {judged.source_digest: f"run {judged.run_id} ({judged.verdict.value})"}


def _newest_known_span(config: PipelineConfig) -> int | None:
    """Where this root has no history (a new machine, a CronJob's empty disk), the registry has.

    After a rollback the spans of the versions that it passed over are known, too: the next
    retraining would make the same model again, and bring it back into service.
    """
    push_dir = config.pusher.push_dir
    version = newest(push_dir) if push_dir else None
    if version is None:
        return None
    known = [*version.record.data.spans]
    passed_over: list[int] = []
    for record in _readable_records(push_dir):
        if record.model_digest == version.record.model_digest:
            known += passed_over
        passed_over += record.data.spans
    return max(known, default=None)


def _readable_records(push_dir: str) -> Iterator[VersionRecord]:
    """The newest first, without those of a newer yt8m, from which a rollback came back."""
    for number in reversed(list_versions(push_dir)):
        with contextlib.suppress(UnusableVersionError, NewerFormatError):
            yield load_record(push_dir, number)


def _named(sources: Sources) -> str:
    if not sources.spans:
        return f"{len(sources.shards)} shards (digest {sources.digest})"
    return spans_text(sources.spans, dated=sources.dated)


def stale_data(config: PipelineConfig, digest: str, *, now: float) -> str:
    """The alarm that nothing new came for more than `retrain.alarm_days`; empty while it did.

    `digest` is of the data that are there.
    """
    days = config.retrain.alarm_days
    since = None if days is None else _first_met(config, digest)
    if days is None or since is None or now - since <= days * _DAY_S:
        return ""
    return (
        f"no new data for {(now - since) / _DAY_S:.1f} days (retrain.alarm_days = {days:g}): check "
        f"that spans still arrive below {config.data.root}"
    )


def _first_met(config: PipelineConfig, digest: str) -> float | None:
    """When a run first met the data of this digest; on an empty root the registry knows.

    Later runs on the same data, such as experiments, are no sign that new ones came.
    """
    runs = read_run_records(Layout(config.root))
    met = [run.started for run in runs if run.source_digest == digest]
    judged = read_judged(config.pusher.push_dir)
    if judged is not None and judged.source_digest == digest:
        met.append(judged.started)
    if met or not config.pusher.push_dir:
        return min(met, default=None)
    pushed = [
        record
        for record in _readable_records(config.pusher.push_dir)
        if record.origin is Origin.PUSH and record.created
    ]
    latest = max(pushed, key=_age_of_data, default=None)
    moments = [
        datetime.datetime.fromisoformat(record.created).timestamp()
        for record in pushed
        if latest is not None and _are_of_same_data(record, latest)
    ]
    return min(moments, default=None)


def _age_of_data(record: VersionRecord) -> tuple[int, int]:
    return max(record.data.spans, default=-1), record.version


def _are_of_same_data(a: VersionRecord, b: VersionRecord) -> bool:
    """Whether the newest span of both is one; without spans, whether the records are equal."""
    if a.data.spans and b.data.spans:
        return max(a.data.spans) == max(b.data.spans)
    return a.data.manifest_digest == b.data.manifest_digest


def backoff(config: RetrainConfig, retry: int) -> float:
    """Seconds to wait before retry number `retry`, counted from 0."""
    waits = Backoff(
        first_wait_s=config.backoff_s, longest_wait_s=config.backoff_max_s, jitter=lambda: 1.0
    )
    return waits.wait_s(retry)


def run_with_retries(
    attempt: Callable[[], int], config: RetrainConfig, *, sleep: Callable[[float], None]
) -> int:
    """The last exit code of `attempt`, which is called until one is settled or retries run out."""
    code = attempt()
    for retry in range(config.retries):
        if code in _NOT_RETRIED:
            break
        sleep(backoff(config, retry))
        code = attempt()
    return code


def _utc_now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


class RetrainScheduler:
    """Runs `command`, a `yt8m retrain ...` without a schedule, at each time of `cron`.

    Each run is a process of its own, so that nothing builds up here. One runs at a time, in the
    thread that signals arrive in; times that pass meanwhile, or while the machine sleeps, make one
    run together.
    """

    def __init__(
        self,
        command: Sequence[str],
        config: PipelineConfig,
        cron: Cron,
        console: Console,
        *,
        now: Callable[[], datetime.datetime] = _utc_now,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._command, self._config = list(command), config
        self._cron, self._console = cron, console
        self._layout = Layout(config.root)
        self._now, self._sleep = now, sleep
        self._period = cron.longest_gap(now()).total_seconds()
        self._status = dataclasses.replace(
            read_status(self._layout) or RetrainStatus(),
            cron=cron.label(),
            started=now().timestamp(),
            period=self._period,
        )
        self._served: ServedModel | None = None  # as of the last look that succeeded
        self._newest: RunRecord | None = None  # as of the last look that succeeded

    def run_forever(self) -> None:
        """Until a signal comes, which is raised as what it is."""
        lock = run_lock(self._layout.schedule_lock, advice=_ONE_SCHEDULE)
        with lock, signals_as_errors() as signals:
            self._console.info(f"retraining at {self._cron.explain(self._now())}")
            self._count_without_end()
            try:
                self._run_when_due()
            except KeyboardInterrupt:
                raise (signals.received or Interrupted("interrupted")) from None
            finally:
                self._update(next_run=None)

    def _run_when_due(self) -> None:
        answered: datetime.datetime | None = None  # all times until then
        while True:
            due = self._next_time(answered)
            self._update(next_run=due.timestamp())
            while (left := (due - self._now()).total_seconds()) > 0:
                if left > self._period + _CLOCK_CHANGE_S:  # a run was when the clock was ahead
                    answered = None
                earlier = self._next_time(answered)
                if earlier < due:  # the clock was set right
                    due = earlier
                    self._update(next_run=due.timestamp())
                    continue
                self._sleep(min(left, _CLOCK_CHECK_S))
                self._beat()
            answered = max(self._now(), due)
            self.run_once()

    def _next_time(self, answered: datetime.datetime | None) -> datetime.datetime:
        return self._cron.next_times(answered or self._now(), 1)[0]

    def run_once(self) -> None:
        """One retraining, with its retries; a failure that remains is reported."""
        self._count_without_end()
        before, _ = self._newest_run()
        before_it = self._alarm()
        self._update(last_run=self._now().timestamp(), last_end=None, next_run=None)
        try:
            code = run_with_retries(self._attempt, self._config.retrain, sleep=self._pause)
        except (KeyboardInterrupt, Terminated):
            now = self._now().timestamp()
            self._status = self._status.ended(EXIT_TERMINATED, None, now=now)
            raise
        after, problem = self._newest_run()
        failed = code not in _SETTLED
        self._status = self._status.ended(code, after, now=self._now().timestamp())
        self._update()
        if problem:
            reason = f"a retraining ended with exit code {code}, and {problem}"
            self._notify({"verdict": "alarm", "reason": reason})
        elif after is not None and after != before:
            self._notify(summary(after))
        elif failed:
            reason = "the run could not start; its message is in the schedule's output"
            self._notify({"verdict": Verdict.FAILED.value, "reason": reason})
        if failed:
            self._console.warn("retraining failed; the next scheduled run tries again")
        # Both: data may come right after the run's look, or another run may take them before it.
        if code == EXIT_NOTHING_NEW and before_it and (alarm := self._alarm()):
            self._console.warn(alarm)
            self._notify({"verdict": "alarm", "reason": alarm})

    def _count_without_end(self) -> None:
        """Count and report the last retraining, where its schedule was killed before its end."""
        began = self._status.last_run
        if began is None or not self._status.is_without_end or is_held(self._layout.lock):
            return  # its run may go on without the schedule
        run, _ = self._newest_run()
        if run is None or run.started < began:
            self._status = self._status.ended(EXIT_FAILED, None, now=began)
        elif run.verdict is not Verdict.RUNNING:
            self._status = self._status.ended(run.exit_code, run, now=run.started + run.seconds)
            self._notify(summary(run))

    def _attempt(self) -> int:
        """The exit code of one run."""
        _obey_signal()
        with subprocess.Popen([*_PROGRAM, *self._command]) as process:
            try:
                code = self._wait_for(process)
            except KeyboardInterrupt:
                _end(process)
                raise
        if code in _ENDED_BY_SIGNAL:
            raise Terminated("the retraining under way was ended by a signal")
        return code

    def _wait_for(self, process: subprocess.Popen[bytes]) -> int:
        while True:
            try:
                return process.wait(timeout=_CLOCK_CHECK_S)
            except subprocess.TimeoutExpired:
                self._beat()

    def _beat(self) -> None:
        """Say now and then that the schedule is alive."""
        _obey_signal()
        if abs(self._now().timestamp() - (self._status.alive or 0.0)) >= _HEARTBEAT_S:
            self._publish()

    def _pause(self, seconds: float) -> None:
        self._console.warn(f"retraining failed; trying again in {seconds:g} s")
        while seconds > 0:
            self._sleep(min(seconds, _CLOCK_CHECK_S))
            seconds -= _CLOCK_CHECK_S
            self._beat()

    def _alarm(self) -> str:
        """What to say where a run finds nothing new; empty where that is no alarm."""
        if self._config.retrain.alarm_days is None:
            return ""
        try:
            digest = resolve_sources(windowed(self._config).data).digest
            return stale_data(self._config, digest, now=self._now().timestamp())
        except _UNREADABLE as error:
            return f"whether new data came is not known: {error}"

    def _newest_run(self) -> tuple[RunRecord | None, str]:
        """The newest retraining, and why it cannot be read now; then the one before it is returned.

        Runs by `yt8m run` on the same root, such as experiments, are reported by themselves.
        """
        try:
            # Of one that was killed the record still says that it runs.
            self._newest = newest_retraining(list_runs(self._layout))
        except _UNREADABLE as error:
            problem = f"the root's newest run cannot be read: {error}"
            self._console.warn(problem)
            return self._newest, problem
        return self._newest, ""

    def _notify(self, outcome: Mapping[str, Any]) -> None:
        if problem := notify(self._config.notify, outcome):
            self._console.warn(problem)

    def _update(self, **values: Any) -> None:
        self._status = dataclasses.replace(self._status, **values)
        self._publish(keep=True)

    def _publish(self, *, keep: bool = False) -> None:
        """Tell Prometheus how it is; `keep` the status too, for whoever comes after."""
        # Somebody may roll back, or import, between two runs.
        self._served = find_served(self._config.pusher.push_dir) or self._served
        self._status = dataclasses.replace(self._status, alive=self._now().timestamp())
        try:
            if keep:
                write_status(self._layout, self._status)
            write_metrics(self._config, status=self._status, served=self._served)
        except _UNREADABLE as error:  # a full disk must not end the schedule
            self._console.warn(f"the schedule's status is not up to date: {error}")


def _obey_signal() -> None:
    """KeyboardInterrupt after a signal, whose own Python may have dropped."""
    if signal_received() is not None:
        raise KeyboardInterrupt


def _end(process: subprocess.Popen[bytes]) -> None:
    """It saves what it has; on Ctrl-C the terminal has signalled it already."""
    process.terminate()
    try:
        process.wait(timeout=_CHILD_ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
