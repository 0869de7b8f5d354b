"""The interface of a backend, those that need no cluster, and the choice of one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from yt8m.components.trainer.backends.config import (
    BackendConfig,
    InProcessBackend,
    LocalBackend,
)
from yt8m.components.trainer.job import TrainingJob


class Backend(Protocol):
    """Runs a job to its end: returns when the export is written, raises Yt8mError if it fails."""

    def run(self, job: TrainingJob, environ: Mapping[str, str]) -> None: ...


class InProcess:
    """Runs the part of the job that TF_CONFIG gives to this process."""

    def run(self, job: TrainingJob, environ: Mapping[str, str]) -> None:
        from yt8m.components.trainer.entry import run_job

        run_job(job, environ)


class Local:
    """A cluster of processes on this machine: started, waited for, and ended together."""

    def __init__(self, config: LocalBackend) -> None:
        self._config = config

    def run(self, job: TrainingJob, environ: Mapping[str, str]) -> None:
        from yt8m.components.trainer.local_cluster import run_cluster

        is_remote = "://" in job.log_dir
        logs = None if is_remote else Path(job.log_dir) / "processes"
        run_cluster(job, self._config.processes, environ=environ, log_dir=logs)


def create_backend(config: BackendConfig) -> Backend:
    """The backend that `config` chooses; what it needs is imported only then."""
    if isinstance(config, InProcessBackend):
        return InProcess()
    if isinstance(config, LocalBackend):
        return Local(config)
    from yt8m.components.trainer.backends.kubernetes import Kubernetes

    return Kubernetes(config)
