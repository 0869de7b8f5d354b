"""Whether batches of like length can be shared out as a training asks; no TensorFlow needed.

A bucket holds the more rows the shorter they are, a multiple of `inputs.bucket_multiple`. Every
replica must get equally many of them, for the loss is the mean of the replicas' means, and every
micro-batch at least one. (What the trainer's configuration alone tells, TrainerConfig refuses.)
"""

from __future__ import annotations

from yt8m.components.trainer.job import TrainingJob
from yt8m.components.trainer.tf_config import Cluster, Kind, Role
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.features import Level


def check_buckets(job: TrainingJob, cluster: Cluster, *, local_replicas: int = 1) -> None:
    """ConfigError unless the job's buckets suit its level and the replicas of `cluster`."""
    inputs, accumulate = job.trainer.inputs, job.trainer.accumulate
    if inputs.bucket_batches == 1:
        return
    if job.level is not Level.FRAME:
        raise ConfigError(
            f"trainer.inputs.bucket_batches = {inputs.bucket_batches}: must be 1 where data.level "
            f"is {job.level.value}, whose rows are all of one length"
        )
    replicas = _processes(cluster) * local_replicas
    multiple, rows = inputs.bucket_multiple, job.trainer.window_rows * replicas
    where = f"trainer.inputs.bucket_multiple = {multiple}"
    if multiple % replicas or multiple < accumulate * replicas:
        raise ConfigError(
            f"{where}: must be a multiple of the number of replicas ({replicas}), and "
            f"{accumulate * replicas} or more with trainer.accumulate = {accumulate}, so that each "
            "of them has rows of every bucket"
        )
    if rows % multiple:
        raise ConfigError(
            f"{where}: must divide the global batch of {rows} rows (trainer.batch_size = "
            f"{job.trainer.batch_size}, accumulate = {accumulate}, {replicas} replicas)"
        )


def _processes(cluster: Cluster) -> int:
    """Processes that compute gradients."""
    if cluster.kind is Kind.PARAMETER_SERVER:
        return max(1, len(cluster.addresses.get(Role.WORKER, {})))
    return max(1, len(cluster.trainers))
