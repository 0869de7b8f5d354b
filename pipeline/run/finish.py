"""What follows a run: its result in words, the user's hook, housekeeping."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from yt8m.components.console.console import Console
from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.garbage_collection import find_waste, remove
from yt8m.pipeline.lineage import Lineage
from yt8m.pipeline.lock import run_lock
from yt8m.pipeline.metadata import open_store
from yt8m.pipeline.notify import notify
from yt8m.pipeline.run.record import RunRecord, Verdict
from yt8m.pipeline.run.runner import Result
from yt8m.pipeline.run.workspace import Layout


def finish_run(
    config: PipelineConfig, result: Result, console: Console, *, hook: bool = True
) -> None:
    """Say how the run ended, and tell whoever wants to know."""
    console.result(summary(result.record), in_words(result.record))
    if hook and result.is_new and (problem := notify(config.notify, summary(result.record))):
        console.warn(problem)
    if config.retention.after_each_run and result.is_new:
        _clean(config, console)


def _clean(config: PipelineConfig, console: Console) -> None:
    layout = Layout(Path(config.root).absolute())
    with run_lock(layout.lock):
        lineage = Lineage(open_store(config.metadata, layout.database))
        waste = find_waste(layout, lineage, config.retention, now=time.time())
        gained = waste.bytes
        remove(waste, lineage)
    if waste.runs:
        console.info(f"{len(waste.runs)} old runs removed, {gained / 1e6:.1f} MB")


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
        "gap_difference": record.gap_difference,
        "spans": list(record.spans),
        "seconds": round(record.seconds, 1),
        "report": record.report,
    }


def in_words(record: RunRecord) -> str:
    """The outcome for people."""
    lines = [_FIRST_LINES.get(record.verdict, "{verdict}: {reason}").format(**summary(record))]
    if record.report:
        lines.append(f"report: {record.report}")
    return "\n".join(lines)


_FIRST_LINES = {
    Verdict.PUSHED: "pushed: version {version} in {push_dir}: {reason}",
    Verdict.HELD_BACK: "held back, nothing was pushed: {reason}",
    Verdict.FAILED: "{reason}",
    Verdict.INTERRUPTED: "{reason}",
    Verdict.TERMINATED: "{reason}",
}
