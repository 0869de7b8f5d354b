"""Check by the first pod that the cluster would create the training job."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from yt8m.components.trainer.backends.kubernetes_api import KubernetesApi, connect
from yt8m.components.trainer.backends.kubernetes_manifest import (
    JobRequest,
    create_manifest,
    kind_of,
)
from yt8m.components.trainer.config import TrainerConfig
from yt8m.components.trainer.kubernetes_config import KubernetesBackend
from yt8m.kubeflow.config import BACKEND_VARIABLE
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.kubernetes import IMAGE_VARIABLE

_PATIENCE_S = 60.0


def try_training_job(
    environ: Mapping[str, str],
    *,
    api: Callable[[KubernetesBackend], KubernetesApi] | None = None,
) -> None:
    """UserError with the server's words where it would refuse the job: a right, a quota, a webhook.

    Does nothing in the other pods, to which no backend is given.
    """
    given = environ.get(BACKEND_VARIABLE)
    if not given:
        return
    trainer = from_dict(TrainerConfig, {"backend": json.loads(given)}, path="trainer")
    backend = trainer.backend
    if not isinstance(backend, KubernetesBackend):
        return
    image = backend.image or environ.get(IMAGE_VARIABLE, "")
    request = JobRequest(key="trial", image=image, command=("true",))
    (api or _connect)(backend).try_out(create_manifest(backend, request))


def _connect(backend: KubernetesBackend) -> KubernetesApi:
    return connect(kind_of(backend), backend.namespace, patience_s=_PATIENCE_S)
