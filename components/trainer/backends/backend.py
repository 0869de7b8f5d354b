"""The interface of a backend, and the choice of one."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Protocol

from yt8m.components.trainer.backends.config import BackendConfig
from yt8m.components.trainer.job import TrainingJob

# A module each, with `create(config) -> TrainingBackend`; imported only when chosen.
_MODULES = {
    "in_process": "yt8m.components.trainer.backends.in_process",
    "local": "yt8m.components.trainer.backends.local",
    "tfjob": "yt8m.components.trainer.backends.kubernetes",
    "jobset": "yt8m.components.trainer.backends.kubernetes",
}


class TrainingBackend(Protocol):
    """Runs a job to its end: returns when the export is written, raises Yt8mError if it fails."""

    def run(self, job: TrainingJob, environ: Mapping[str, str]) -> None: ...


def create_backend(config: BackendConfig) -> TrainingBackend:
    """The backend that `config` chooses."""
    backend: TrainingBackend = importlib.import_module(_MODULES[config.name]).create(config)
    return backend
