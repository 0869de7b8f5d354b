"""Training in the process that asks for it."""

from __future__ import annotations

from collections.abc import Mapping

from yt8m.components.trainer.backends.config import InProcessBackend
from yt8m.components.trainer.entry import run_job
from yt8m.components.trainer.job import TrainingJob


class InProcess:
    """Runs the part of the job that TF_CONFIG gives to this process."""

    def run(self, job: TrainingJob, environ: Mapping[str, str]) -> None:
        run_job(job, environ)


def create(config: InProcessBackend) -> InProcess:
    return InProcess()
