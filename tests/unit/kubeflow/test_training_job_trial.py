"""The first pod's question to Kubernetes, which only one task asks."""

import json

import pytest

from yt8m.components.trainer.kubernetes_config import JobSetBackend
from yt8m.kubeflow.container.training_job_trial import try_training_job
from yt8m.schemas.config_tree import to_dict
from yt8m.schemas.errors import UserError


class Api:
    """Hears the manifest, and refuses it."""

    def try_out(self, manifest):
        raise UserError(f"refused {manifest['kind']} of {_image(manifest)}")


def _image(manifest):
    (job, *_) = manifest["spec"]["replicatedJobs"]
    return job["template"]["spec"]["template"]["spec"]["containers"][0]["image"]


def _try(**environ):
    try_training_job(environ, api=lambda backend: Api())


def test_a_pod_that_was_given_no_backend_asks_nothing():
    _try(YT8M_IMAGE="i:1")


@pytest.mark.parametrize(("image", "tried"), [("", "i:1"), ("other:2", "other:2")])
def test_the_first_pod_ends_where_the_job_would_be_refused(image, tried):
    backend = json.dumps(to_dict(JobSetBackend(image=image)))
    with pytest.raises(UserError, match=f"refused JobSet of {tried}"):
        _try(YT8M_TRAINER_BACKEND=backend, YT8M_IMAGE="i:1")
