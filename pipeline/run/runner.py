"""One run, from the command to its verdict."""

from __future__ import annotations

import contextlib
import datetime
import gc
import logging
import os
import signal
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yt8m.components import storage
from yt8m.components.artifacts.run_outputs import RunOutputs
from yt8m.components.artifacts.run_record import FILE_NAME, NodeRecord, RunRecord, Verdict
from yt8m.components.console.console import Console
from yt8m.components.console.notices import notices_heard_by
from yt8m.components.console.progress import progress_heard_by
from yt8m.components.example_gen.config import Ingest
from yt8m.components.report.collect import collect
from yt8m.components.report.page import write_report
from yt8m.components.storage.followed import followed
from yt8m.components.storage.lease import LeaseLostError
from yt8m.components.storage.temporary import own_temporary_directory
from yt8m.components.validation.errors import StoppedError
from yt8m.pipeline.beam import describe_workers
from yt8m.pipeline.cache_keys import (
    ExternalInputs,
    find_up_to_date_run,
    fingerprint,
    resolve_external_inputs,
)
from yt8m.pipeline.config import BeamRunner, EngineName, PipelineConfig
from yt8m.pipeline.lineage import Lineage
from yt8m.pipeline.metadata import connection_config, create_lineage, secrets
from yt8m.pipeline.run.capture import Capture
from yt8m.pipeline.run.finish import measured, read_outcome
from yt8m.pipeline.run.openlineage import events_of
from yt8m.pipeline.run.preflight import preflight
from yt8m.pipeline.run.progress import ProgressTable
from yt8m.pipeline.run.recorder import RUNNER_LOG, Recorder
from yt8m.pipeline.run.signals import GRACE_S, Interrupted, Signals, signals_as_errors
from yt8m.pipeline.run_record import (
    RunResult,
    begin_record,
    mark_killed,
    next_run_id,
    read_run_records,
    write_record,
)
from yt8m.pipeline.workspace import Check, Layout, run_lock
from yt8m.schemas.errors import Terminated, UserError
from yt8m.schemas.roles import FilePath, on_record, replaced

if TYPE_CHECKING:
    from yt8m.pipeline.run.staging import Staging

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of a run, as opposed to its configuration."""

    engine: EngineName = "beam"
    wait_s: float = 0.0
    retraining: bool = False


def run(config: PipelineConfig, options: RunOptions, console: Console) -> RunResult:
    """Run the pipeline that `config` describes, unless nothing has changed since it last ran."""
    config = with_absolute_paths(config)
    preflight(config, os.environ)
    if workers := describe_workers(config.beam):
        console.info(workers)
    layout = Layout(config.root)
    with (
        run_lock(layout.lock, wait_s=options.wait_s, on_lost=_end_this_process) as check,
        own_temporary_directory(),
    ):
        layout.database.parent.mkdir(parents=True, exist_ok=True)  # of a root in an object store
        external = resolve_external_inputs(config, layout)
        cache_key = fingerprint(config, external)
        known = find_up_to_date_run(layout, config, cache_key)
        if known is not None:
            console.info(f"nothing has changed since run {known.run_id}, which is up to date")
            return RunResult(known, is_new=False)
        dead = _mark_killed_runs(layout)
        for killed in dead:
            then = "; this one continues it" if killed.run_key == external.run_key else ""
            console.info(f"run {killed.run_id} was killed {killed.reason}{then}")
        record = _new_record(config, options, external, cache_key, layout)
        begin_record(layout, record)
        console.info(f"run {record.run_id}; the full logs are in {layout.logs(record.run_id)}")
        with signals_as_errors() as signals:
            this = _Run(config, options, external, layout, check)
            return RunResult(this.execute(record, dead, signals, quiet=console.quiet))


def with_absolute_paths(config: PipelineConfig) -> PipelineConfig:
    """The same with absolute paths, so that it means the same from every directory.

    An object store has no links: there records are named where they are.
    """
    config = replaced(config, FilePath, storage.absolute)
    if config.data.ingest is not Ingest.LINK or not Layout(config.root).is_remote:
        return config
    return replace(config, data=replace(config.data, ingest=Ingest.REFERENCE))


@dataclass(frozen=True)
class _Run:
    config: PipelineConfig
    options: RunOptions
    external: ExternalInputs
    layout: Layout
    check: Check

    def execute(
        self, record: RunRecord, dead: list[RunRecord], signals: Signals, *, quiet: bool
    ) -> RunRecord:
        with (
            followed(self.layout.logs(record.run_id)) as logs,
            Capture(
                Path(logs, f"{RUNNER_LOG}.log"), secrets=secrets(self.config.metadata)
            ) as capture,
            ProgressTable(capture.terminal, hidden=quiet) as table,
        ):
            connection = connection_config(self.config.metadata, self.layout.database)
            lineage = create_lineage(self.config.metadata, self.layout.database)
            for killed in dead:
                _sync_metadata(lineage, killed)
            events = events_of(self.config, record.run_id)
            events.run(record)
            recorder = Recorder(
                record,
                layout=self.layout,
                logs=Path(logs),
                capture=capture,
                table=table,
                lineage=lineage,
                events=events,
                signals=signals,
            )
            signals.end_process_after(GRACE_S, recorder.abandon)
            try:
                with progress_heard_by(recorder.progressed), notices_heard_by(table.note):
                    self._run_components(recorder, connection)
                recorder.update(**read_outcome(recorder.outputs))
            except (Exception, KeyboardInterrupt, SystemExit) as error:
                # Beam tells it again in its own words; the component's error says it best.
                _log.exception("the run ended early")
                recorder.ended_early(error)
                recorder.update(**(self._taken_over() or _early_end(recorder, error, signals)))
                recorder.update(**_measured_before(recorder))
                recorder.update(report=self._early_report(recorder))
            recorder.update(seconds=recorder.seconds)
            _sync_metadata(lineage, recorder.record)
            events.run(recorder.record)
            events.close()
            return recorder.record

    def _taken_over(self) -> dict[str, Verdict | str]:
        """The root's lease was lost, which a signal to this process follows."""
        try:
            self.check()
        except LeaseLostError as error:
            return {"verdict": Verdict.FAILED, "reason": str(error)}
        return {}

    def _early_report(self, recorder: Recorder) -> str:
        """A run that ended early has a report too; what prevents it must not hide why it ended."""
        folder = self.layout.run(recorder.record.run_id)
        outputs = recorder.outputs
        try:
            if isinstance(recorder.error, StoppedError):
                kept = storage.join(folder, "validation")
                recorder.error.keep(kept)
                outputs = RunOutputs({**outputs.uris, "validation": kept})
            report = collect(
                outputs,
                self.config.report,
                configuration=on_record(self.config),
                pipeline=self.config.name,
                run_file=storage.join(folder, FILE_NAME),
            )
            return write_report(report, folder)
        except Exception as error:  # a full disk, half an artifact: the run's own failure counts
            _log.warning("the report was not written: %s", error)
            return ""

    def _run_components(self, recorder: Recorder, connection: object) -> None:
        with _nothing_collected():
            from yt8m.pipeline.graph import create_pipeline
            from yt8m.pipeline.run.engine import run_pipeline

        pipeline = create_pipeline(self.config, self.external)
        pipeline.metadata_connection_config = connection
        names = [component.id for component in pipeline.components]
        recorder.update(nodes=tuple(NodeRecord(name=name) for name in names))
        with self._staging() as staging:
            run_pipeline(
                pipeline,
                run_id=recorder.record.run_id,
                engine=self.options.engine,
                observer=recorder,
                staging=staging,
            )

    @contextlib.contextmanager
    def _staging(self) -> Iterator[Staging | None]:
        if not self.layout.is_remote:
            yield None
            return
        from yt8m.pipeline.run.staging import Staging

        with tempfile.TemporaryDirectory(prefix="yt8m-staged-") as directory:
            engine = self.config.beam.runner is not BeamRunner.LOCAL
            yield Staging(self.layout.artifacts, Path(directory), self.check, engine=engine)


@contextlib.contextmanager
def _nothing_collected() -> Iterator[None]:
    """For what loads libraries: none of it is garbage, and to look for some takes a second."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _new_record(
    config: PipelineConfig,
    options: RunOptions,
    external: ExternalInputs,
    cache_key: str,
    layout: Layout,
) -> RunRecord:
    now = datetime.datetime.now(datetime.UTC)
    return RunRecord(
        run_id=next_run_id(layout, now),
        started=now.timestamp(),
        push_dir=config.pusher.push_dir,
        fingerprint=cache_key,
        source_digest=external.digest("data.root"),
        run_key=external.run_key,
        retraining=options.retraining,
        config=on_record(config),
    )


def _mark_killed_runs(layout: Layout) -> list[RunRecord]:
    """Runs that were killed: they say that they are running, and we hold the lock."""
    dead = [mark_killed(r) for r in read_run_records(layout) if r.verdict is Verdict.RUNNING]
    for record in dead:
        write_record(layout, record)
    return dead


def _end_this_process() -> None:
    """In order, as anybody else would: a training saves what it has."""
    os.kill(os.getpid(), signal.SIGTERM)


def _early_end(
    recorder: Recorder, error: BaseException, signals: Signals
) -> dict[str, Verdict | str | bool]:
    """By a signal or by a failure? Beam wraps errors, so the component's own is asked first."""
    cause = signals.received or recorder.error or error
    if isinstance(cause, KeyboardInterrupt | Interrupted):
        return {"verdict": Verdict.INTERRUPTED, "reason": str(cause) or "interrupted"}
    if isinstance(cause, Terminated):
        return {"verdict": Verdict.TERMINATED, "reason": str(cause)}
    given_wrong = isinstance(cause, UserError)
    return {
        "verdict": Verdict.FAILED,
        "reason": recorder.why(error),
        "given_wrong": given_wrong,
    }


def _measured_before(recorder: Recorder) -> dict[str, Any]:
    """Measurements of a run that ended early; an error here must not hide why it ended."""
    try:
        return measured(recorder.outputs)
    except Exception as error:  # half an artifact
        _log.warning("the run's metrics cannot be read: %s", error)
        return {}


def _sync_metadata(lineage: Lineage, record: RunRecord) -> None:
    """Leave the metadata store in order; where it cannot be written, the next run will."""
    try:
        lineage.mark_ended(record.run_id)
        lineage.note(record.run_id, _notes(record))
    except Exception as error:  # MLMD's client has no base class of its own
        _log.warning("the metadata store is not up to date: %s", error)


def _notes(record: RunRecord) -> dict[str, str | int | float | None]:
    return {
        **record.figures,
        "verdict": record.verdict.value,
        "reason": record.reason,
        "stale": int(record.stale),
        "version": record.version,
        "push_dir": record.push_dir,
        "baseline_version": record.baseline_version,
        "spans": ",".join(map(str, record.spans)),
        "source_digest": record.source_digest,
        "started": record.started,
        "seconds": record.seconds or None,  # unknown for a killed run
    }
