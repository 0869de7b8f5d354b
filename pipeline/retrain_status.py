"""How the schedule of a root is doing: for `yt8m status`, and as text that Prometheus reads."""

from __future__ import annotations

import json
from dataclasses import dataclass

from yt8m.components import storage
from yt8m.components.storage.lock import is_held
from yt8m.pipeline.run.workspace import Layout
from yt8m.schemas.config_tree import from_dict, to_dict
from yt8m.schemas.errors import ConfigError

_METRICS = {
    "last_run": ("last_run_timestamp_seconds", "when the last retraining was started"),
    "last_end": ("last_end_timestamp_seconds", "when it ended"),
    "next_run": ("next_run_timestamp_seconds", "when the next one is due"),
    "last_exit_code": ("last_exit_code", "0 pushed, 3 held back, 4 nothing new; others failed"),
    "failures": ("failures_in_a_row", "retrainings that failed since one did not"),
    "started": ("schedule_started_timestamp_seconds", "when the schedule was started"),
}


@dataclass(frozen=True, kw_only=True)
class RetrainStatus:
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
        lines = []
        for field, (name, meaning) in _METRICS.items():
            value = getattr(self, field)
            if value is not None:
                metric = f"yt8m_retrain_{name}"
                lines += [f"# HELP {metric} {meaning}", f"# TYPE {metric} gauge"]
                lines.append(f"{metric} {value:.0f}")
        return "\n".join(lines) + "\n"


def write_status(layout: Layout, status: RetrainStatus, metrics_file: str = "") -> None:
    """Replace both files; Prometheus' is `metrics_file`, or below the root."""
    storage.write_text(str(layout.schedule_status), json.dumps(to_dict(status), indent=1))
    storage.write_text(metrics_file or str(layout.schedule_metrics), status.to_prometheus())


def read_status(layout: Layout) -> RetrainStatus | None:
    """The status of the root's schedule; None where there never was one."""
    try:
        text = layout.schedule_status.read_text(encoding="utf-8")
        return from_dict(RetrainStatus, json.loads(text))
    except (OSError, ValueError, ConfigError):
        return None


def is_scheduled(layout: Layout) -> bool:
    """Whether the process of the schedule is alive: it holds a lock."""
    return is_held(layout.schedule_lock)
