"""Training on a cluster's own pods, started from one of them.

The pods share nothing with this process but a directory (`work_dir`): what the job reads is put
there first, and what it wrote is fetched from there, checked, at the end.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import replace

from yt8m.components import storage
from yt8m.components.artifacts.saved_model import MODEL_FILE
from yt8m.components.registry.find_model import find_model
from yt8m.components.trainer.backends.kubernetes_api import Clock, KubernetesApi, connect
from yt8m.components.trainer.backends.kubernetes_job import Attempt, run_to_completion
from yt8m.components.trainer.backends.kubernetes_manifest import (
    JobRequest,
    create_manifest,
    kind_of,
)
from yt8m.components.trainer.cluster.heartbeat import FILE_NAME as HEARTBEAT
from yt8m.components.trainer.job import FILE_NAME as JOB_FILE
from yt8m.components.trainer.job import TrainingJob, parse_job, training_code
from yt8m.components.trainer.kubernetes_config import JobSetBackend, TFJobBackend
from yt8m.components.trainer.state.warm_start import find_checkpoint
from yt8m.schemas.errors import ConfigError, UserError, Yt8mError
from yt8m.schemas.kubernetes import IMAGE_VARIABLE
from yt8m.schemas.roles import Content, SourcePath, fields_with, replaced

_COMMAND = ("python", "-m", "yt8m.components.trainer.backends", "--config")
_log = logging.getLogger(__name__)


class Kubernetes:
    """Runs a job as a TFJob or a JobSet, and brings the result home."""

    def __init__(
        self,
        config: TFJobBackend | JobSetBackend,
        *,
        api: Callable[[], KubernetesApi] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._config, self._clock = config, clock
        self._api = api or self._connect

    def _connect(self) -> KubernetesApi:
        config = self._config
        return connect(kind_of(config), config.namespace, patience_s=config.api_timeout_s)

    def run(self, job: TrainingJob, environ: Mapping[str, str]) -> None:
        directory = self._directory(job, environ)
        own_image = environ.get(IMAGE_VARIABLE, "")
        image = self._config.image or own_image
        if not image:
            raise UserError("trainer.backend.image: name the pods' image, or set YT8M_IMAGE")
        sign = storage.join(directory, HEARTBEAT)
        watched = replace(
            patient_job(job, self._config.start_timeout_s),
            heartbeat=sign,
            abandoned_after_s=self._config.abandoned_after_s,
            code_version=training_code(job.trainer, job.transform) if image == own_image else "",
        )
        shared = shared_job(watched, directory)
        request = JobRequest(
            key=_key(job),
            image=image,
            command=(*_COMMAND, storage.join(directory, JOB_FILE)),
            environment={IMAGE_VARIABLE: image},
        )
        manifest = create_manifest(self._config, request)

        def wipe() -> None:
            if job.trainer.start_new_model:
                storage.remove_tree(shared.checkpoint_dir)
                storage.remove_tree(shared.exporters_dir)

        run_to_completion(
            self._api(),
            self._config,
            manifest,
            say=_log.info,
            attempt=Attempt(
                pod=os.environ.get("HOSTNAME", ""),
                heartbeat=sign,
                heartbeat_every_s=_heartbeat_every_s(self._config.abandoned_after_s),
                prepare=lambda: share(watched, directory),
                before_create=wipe,
            ),
            clock=self._clock,
        )
        check_export(shared.export_dir)
        _bring_home(shared.export_dir, job.export_dir, last=MODEL_FILE)
        _bring_home(shared.log_dir, job.log_dir)

    def _directory(self, job: TrainingJob, environ: Mapping[str, str]) -> str:
        work_dir = self._config.work_dir or environ.get("YT8M_WORK_DIR", "")
        if not work_dir:
            raise UserError(
                "trainer.backend.work_dir: name a directory that every pod sees, on a shared "
                "volume or gs://, or set YT8M_WORK_DIR"
            )
        return storage.join(work_dir, "jobs", _key(job))


def shared_job(job: TrainingJob, directory: str) -> TrainingJob:
    """The same job with everything it reads and writes below the shared `directory`."""
    places = _places(job, directory)
    shared = replace(
        replaced(job, SourcePath, lambda path: places.get(path, "")),
        checkpoint_dir=_seen_by_all(job.checkpoint_dir, directory, "checkpoints"),
        log_dir=storage.join(directory, "logs"),
        evaluation_dir=storage.join(directory, "evaluation"),
        export_dir=storage.join(directory, "export"),
    )
    # Wiping is for the job as a whole: a pod that begins again continues.
    return replace(shared, trainer=replace(shared.trainer, start_new_model=False))


def _places(job: TrainingJob, directory: str) -> dict[str, str]:
    """Where pods see what the job reads, by where it lies here."""
    sources = [source for source in fields_with(job, SourcePath) if source.value]
    return {s.value: _seen_by_all(s.value, directory, f"inputs/{s.path}") for s in sources}


def share(job: TrainingJob, directory: str) -> None:
    """Put the shared job, and what it reads, into `directory`.

    The job's file is written last. Where it is there already its inputs are too, and pods of an
    earlier attempt may be reading them: they are left alone.
    """
    shared, places = shared_job(job, directory), _places(job, directory)
    file = storage.join(directory, JOB_FILE)
    is_complete = storage.exists(file) and _reads_the_same(storage.read_text(file), shared)
    for source in fields_with(job, SourcePath):
        if source.value:
            _COPIES[source.role.content](source.value, places[source.value], is_complete)
    if not is_complete or storage.read_text(file) != shared.to_json():
        storage.write_text(file, shared.to_json())


def _reads_the_same(text: str, job: TrainingJob) -> bool:
    """Whether the job in `text` is this training, though logged or saved in another way."""
    try:
        return parse_job(text).settings == job.settings
    except ConfigError:
        return False


def patient_job(job: TrainingJob, start_timeout_s: float) -> TrainingJob:
    """Pods that run wait for those that no node fits yet.

    A process that gave up would have all pods restarted, and their places in the queue lost.
    """
    distribution = job.trainer.distribution
    patience_s = max(distribution.peer_timeout_s, start_timeout_s)
    distribution = replace(distribution, peer_timeout_s=patience_s)
    return replace(job, trainer=replace(job.trainer, distribution=distribution))


def _copy_file(source: str, target: str, is_complete: bool) -> None:
    """The same content elsewhere has the same key, and its manifest names other files."""
    if source == target:
        return
    content = storage.read_bytes(source)
    if not storage.exists(target) or storage.read_bytes(target) != content:
        storage.write_bytes(target, content)


def _copy_directory(source: str, target: str, is_complete: bool) -> None:
    if source != target and not is_complete:
        storage.remove_tree(target)
        storage.copy_tree(source, target)


def _copy_weights(source: str, target: str, is_complete: bool) -> None:
    """Of a directory of checkpoints one alone, under the name that an export's has."""
    if source == target or is_complete:
        return
    storage.remove_tree(target)
    checkpoint = find_checkpoint(source)
    for file in storage.find(f"{storage.escape(checkpoint)}.*"):
        ending = file.rpartition("/")[2].removeprefix(checkpoint.rpartition("/")[2])
        storage.copy(file, storage.join(target, "variables", f"variables{ending}"))


def _copy_model(source: str, target: str, is_complete: bool) -> None:
    """Of a push directory the version in service."""
    _copy_directory(find_model(source) if source != target else source, target, is_complete)


_COPIES = {
    Content.FILE: _copy_file,
    Content.DIRECTORY: _copy_directory,
    Content.WEIGHTS: _copy_weights,
    Content.MODEL: _copy_model,
}


def check_export(directory: str) -> None:
    """A job that ended well without a model that loads has not ended well."""
    if not storage.exists(storage.join(directory, MODEL_FILE)):
        raise Yt8mError(f"the training job succeeded, but wrote no {MODEL_FILE} in {directory}")
    from yt8m.components.export.load import load_export

    load_export(directory)


def _heartbeat_every_s(abandoned_after_s: float) -> float:
    """Often enough that a few lost ones do not end a job."""
    return min(abandoned_after_s / 20 or 60.0, 60.0)


def _seen_by_all(path: str, directory: str, name: str) -> str:
    """`path` itself if it lies in the shared directory's parent, so that checkpoints stay put."""
    shared = directory.rsplit("/jobs/", 1)[0]
    return path if path.startswith(f"{shared}/") else storage.join(directory, name)


def _bring_home(source: str, target: str, *, last: str | None = None) -> None:
    if storage.is_dir(source):
        storage.copy_tree(source, target, last=last)


def _key(job: TrainingJob) -> str:
    """The run key, which names the checkpoint directory: the same training has the same name."""
    return job.checkpoint_dir.rstrip("/").rpartition("/")[2]
