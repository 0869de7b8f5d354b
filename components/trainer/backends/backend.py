"""The interface of a backend, and the choice of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from yt8m.components.trainer.backend_config import (
    BackendConfig,
    InProcessBackend,
    LocalProcessesBackend,
)
from yt8m.components.trainer.job import TrainingJob


class TrainingBackend(Protocol):
    """Runs a job to its end: returns when the export is written, raises Yt8mError if it fails."""

    def run(self, job: TrainingJob, environ: Mapping[str, str]) -> None: ...


def create_backend(config: BackendConfig) -> TrainingBackend:
    """The backend that `config` chooses; what it needs is imported only then."""
    if isinstance(config, InProcessBackend):
        from yt8m.components.trainer.backends.in_process import InProcess

        return InProcess()
    if isinstance(config, LocalProcessesBackend):
        from yt8m.components.trainer.backends.local import LocalProcesses

        return LocalProcesses(config)
    from yt8m.components.trainer.backends.kubernetes import Kubernetes

    return Kubernetes(config)
