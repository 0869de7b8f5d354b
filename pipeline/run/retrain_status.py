"""How a root is doing, its schedule and its newest run: for `yt8m status` and for Prometheus."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from yt8m.components import storage
from yt8m.components.artifacts.read import read_file
from yt8m.components.artifacts.run_record import RunRecord, Verdict
from yt8m.components.storage.lock import is_held
from yt8m.pipeline.run_record import read_run_records
from yt8m.pipeline.workspace import Layout
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.json_file import JsonFile

_METRICS = {
    "last_run": ("last_run_timestamp_seconds", "when the last retraining was started"),
    "last_end": ("last_end_timestamp_seconds", "when it ended"),
    "next_run": ("next_run_timestamp_seconds", "when the next one is due"),
    "last_exit_code": (
        "last_exit_code",
        "0 pushed or up to date, 3 held back, 4 nothing new; others failed",
    ),
    "failures": ("failures_in_a_row", "retrainings that failed since one did not"),
    "started": ("schedule_started_timestamp_seconds", "when the schedule was started"),
}


_RUN_METRICS: dict[str, tuple[str, Callable[[RunRecord], float | None]]] = {
    "start_timestamp_seconds": ("when the newest run was started", lambda run: run.started),
    "seconds": ("how long it took", lambda run: run.seconds or None),
    "exit_code": (
        "0 pushed or up to date, 3 held back; others failed",
        lambda run: None if run.verdict is Verdict.RUNNING else run.exit_code,
    ),
    "gap": ("of its model", lambda run: run.gap),
    "gap_difference": ("to the baseline's", lambda run: run.differences.get("gap")),
    "version": ("that it pushed, 0 is none", lambda run: run.version),
}


@dataclass(frozen=True, kw_only=True)
class RetrainStatus(JsonFile):
    """The schedule, its last run and its next one; times are seconds since the epoch."""

    cron: str
    started: float
    last_run: float | None = None
    last_end: float | None = None
    last_exit_code: int | None = None
    next_run: float | None = None
    failures: int = 0  # in a row

    def to_prometheus(self) -> str:
        """What is known, in Prometheus' text format; what is not known is left out."""
        return "".join(
            _gauge(f"yt8m_retrain_{name}", meaning, getattr(self, field))
            for field, (name, meaning) in _METRICS.items()
        )


def _gauge(metric: str, meaning: str, value: float | None) -> str:
    if value is None:
        return ""
    number = f"{value:.6f}".rstrip("0").rstrip(".")
    return f"# HELP {metric} {meaning}\n# TYPE {metric} gauge\n{metric} {number}\n"


def write_status(layout: Layout, status: RetrainStatus, metrics_file: str = "") -> None:
    """Replace both files; Prometheus' is `metrics_file`, or below the root."""
    storage.write_text(str(layout.schedule_status), status.to_json())
    write_metrics(layout, metrics_file)


def write_metrics(layout: Layout, metrics_file: str = "") -> None:
    """Replace Prometheus' file by what is known of the root's schedule and of its newest run."""
    status, run = read_status(layout), next(read_run_records(layout), None)
    gauges = [
        _gauge(f"yt8m_run_{name}", meaning, value(run))
        for name, (meaning, value) in _RUN_METRICS.items()
        if run is not None
    ]
    text = (status.to_prometheus() if status else "") + "".join(gauges)
    storage.write_text(metrics_file or str(layout.schedule_metrics), text)


def read_status(layout: Layout) -> RetrainStatus | None:
    """The status of the root's schedule; None where there never was one."""
    try:
        return read_file(str(layout.schedule_status), RetrainStatus.from_json)
    except (OSError, ValueError, ConfigError):
        return None


def is_scheduled(layout: Layout) -> bool:
    """Whether the process of the schedule is alive: it holds a lock."""
    return is_held(layout.schedule_lock)
