"""Training by a cluster of processes on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from yt8m.components.trainer.backends.config import LocalBackend
from yt8m.components.trainer.job import TrainingJob
from yt8m.components.trainer.local_cluster import run_cluster


class Local:
    """Starts the processes, waits for them, and ends them together."""

    def __init__(self, config: LocalBackend) -> None:
        self._config = config

    def run(self, job: TrainingJob, environ: Mapping[str, str]) -> None:
        is_remote = "://" in job.log_dir
        logs = None if is_remote else Path(job.log_dir) / "processes"
        run_cluster(job, self._config.processes, environ=environ, log_dir=logs)


def create(config: LocalBackend) -> Local:
    return Local(config)
