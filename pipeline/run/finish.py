"""Actions after a run: its outcome, the user's hook, garbage collection."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping
from typing import Any

from yt8m.components import storage
from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.artifacts.run_outputs import RunOutputs
from yt8m.components.artifacts.run_record import RunRecord, Verdict
from yt8m.components.console.console import Console
from yt8m.pipeline.config import NotifyConfig, PipelineConfig, RetentionConfig
from yt8m.pipeline.metadata import open_lineage
from yt8m.pipeline.run.garbage_collection import find_waste, remove
from yt8m.pipeline.run.prometheus import write_metrics
from yt8m.pipeline.run_record import RunResult, newest_retraining, read_run_records
from yt8m.pipeline.workspace import Layout, run_lock
from yt8m.schemas.errors import Yt8mError
from yt8m.schemas.metric_names import GAP


def finish_run(
    config: PipelineConfig, result: RunResult, console: Console, *, hook: bool = True
) -> None:
    """Say how the run ended, and tell whoever wants to know."""
    try:
        if result.record.retraining or newest_retraining(read_run_records(_layout(config))) is None:
            write_metrics(config)  # else the name and the registry in it are the retrainings'
    except (OSError, Yt8mError) as error:  # a full disk, say: the run's outcome is what counts
        console.warn(f"the file for Prometheus is not up to date: {error}")
    console.result(summary(result.record), in_words(result.record))
    if hook and result.is_new and (problem := notify(config.notify, summary(result.record))):
        console.warn(problem)
    if result.is_new and _cleans_up(config.retention, result.record):
        try:
            _clean(config, console)
        except (OSError, Yt8mError) as error:  # the run's outcome is what counts
            console.warn(f"old runs were not removed, the next run tries again: {error}")


def _cleans_up(retention: RetentionConfig, record: RunRecord) -> bool:
    """A schedule would fill the disk; of a run by hand somebody may want to look at the others."""
    wanted = retention.after_each_run
    return record.retraining if wanted is None else wanted


def _clean(config: PipelineConfig, console: Console) -> None:
    layout = _layout(config)
    with run_lock(layout.lock):
        lineage = open_lineage(config.metadata, layout.database)
        waste = find_waste(layout, lineage, config.retention, now=time.time())
        gained = waste.bytes
        remove(waste, lineage)
    for note in waste.notes:
        console.warn(note)
    if waste.paths:
        what = f"{len(waste.runs)} old runs and finished checkpoints"
        console.info(f"{what} removed, {gained / 1e6:.1f} MB")


def _layout(config: PipelineConfig) -> Layout:
    return Layout(storage.absolute(config.root))


def summary(record: RunRecord) -> dict[str, Any]:
    """The outcome for machines: the command's JSON, and what the hook is given."""
    return {
        "run_id": record.run_id,
        "verdict": record.verdict.value,
        "reason": record.reason,
        "version": record.version or None,
        "push_dir": record.push_dir,
        "baseline_version": record.baseline_version or None,
        "gap": record.gap,
        "gap_difference": record.differences.get(GAP),
        "spans": list(record.spans),
        "seconds": round(record.seconds, 1),
        "report": record.report,
        "metrics": dict(record.metrics),
        "differences": dict(record.differences),
    }


def in_words(record: RunRecord) -> str:
    """The outcome for people."""
    lines = [_FIRST_LINES.get(record.verdict, "{verdict}: {reason}").format(**summary(record))]
    if record.report:
        lines.append(f"report: {record.report}")
    return "\n".join(lines)


_FIRST_LINES = {
    Verdict.PUSHED: "pushed: version {version} in {push_dir}: {reason}",
    Verdict.REJECTED: "rejected, nothing was pushed: {reason}",
    Verdict.UP_TO_DATE: "up to date, nothing was pushed: {reason}",
    Verdict.FAILED: "{reason}",
    Verdict.INTERRUPTED: "{reason}",
    Verdict.TERMINATED: "{reason}",
}


def read_outcome(outputs: RunOutputs) -> dict[str, Any]:
    """The fields of a RunRecord that a run which came to its end knows."""
    push, decision = outputs.push, outputs.decision
    if push is None:
        raise Yt8mError(
            f"{outputs.uri('pushed_model') or 'Pusher'}: the Pusher recorded no outcome"
        )
    return {
        "verdict": push.verdict,
        "reason": push.record.reason,
        "stale": push.stale,
        "version": push.record.version if push.pushed else 0,
        "baseline_version": push.record.baseline_version,
        "metrics": _defined(push.record.metrics),
        "differences": _defined(decision.differences if decision else {}),
        "spans": push.record.data.spans,
        "report": outputs.page,
        **measured(outputs),
    }


def measured(outputs: RunOutputs) -> dict[str, Any]:
    """The fields of a RunRecord that are known as soon as their step has ended."""
    manifest, decision = outputs.manifest, outputs.decision
    splits = manifest.split_names if manifest else ()
    return {
        "records": {split: manifest.examples(split) for split in splits} if manifest else {},
        "left_out": {split: manifest.left_out(split) for split in splits} if manifest else {},
        "baseline_metrics": decision.baseline_metrics if decision else {},
        "checks": decision.checks if decision else (),
    }


def _defined(estimates: Mapping[str, Estimate]) -> dict[str, float]:
    return {name: e.value for name, e in estimates.items() if e.value is not None}


def notify(config: NotifyConfig, outcome: Mapping[str, Any]) -> str:
    """Call the hook; returns what went wrong, for a broken hook must not break a run."""
    if not config.command:
        return ""
    try:
        done = subprocess.run(
            config.command,
            input=json.dumps(outcome) + "\n",  # which a shell's `read` wants
            encoding="utf-8",
            errors="replace",  # of what it says, which may be in any encoding
            timeout=config.timeout_s,
            capture_output=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"notify.command did not end within {config.timeout_s:g} s and was stopped"
    except OSError as error:
        return f"notify.command {config.command[0]}: {error.strerror}"
    if done.returncode:
        return f"notify.command ended with {done.returncode}: {done.stderr.strip()[-500:]}"
    return ""
