"""Training in the calling process: TF_CONFIG says which part of the cluster it is."""

from __future__ import annotations

from collections.abc import Mapping

from yt8m.components.trainer.job import TrainingJob
from yt8m.components.trainer.tf_config import Cluster, ClusterKind, Role
from yt8m.schemas.errors import UserError
from yt8m.schemas.kubernetes import GPUS_VARIABLE


class InProcess:
    """Runs the part of the job that TF_CONFIG gives to this process."""

    def run(self, job: TrainingJob, environ: Mapping[str, str]) -> None:
        run_job(job, environ)


def run_job(job: TrainingJob, environ: Mapping[str, str]) -> None:
    """Do what TF_CONFIG of `environ` says. It is checked before anything starts."""
    cluster = Cluster.from_env(environ)
    job.check_buckets(replicas=cluster.gradient_processes)
    # TensorFlow takes seconds to import; mistakes are reported before.
    from yt8m.components.trainer.cluster.errors import explaining_storage_faults

    check_gpus(environ)
    with explaining_storage_faults():
        _run_role(job, cluster)


def check_gpus(environ: Mapping[str, str]) -> None:
    """UserError where this pod was to have GPUs, and TensorFlow sees fewer.

    It would train on the CPU without a word, for days.
    """
    asked = int(environ.get(GPUS_VARIABLE, "0"))
    if not asked:
        return
    import tensorflow as tf

    seen = len(tf.config.list_physical_devices("GPU"))
    if seen < asked:
        raise UserError(
            f"{asked} GPUs were requested, but TensorFlow sees {seen}: the image needs a "
            "TensorFlow with CUDA (`GPU=1 make image`) that fits the node's driver, and "
            "gpu_resource must be the cluster's name for them; with `gpus: 0` it trains on the CPU"
        )


def _run_role(job: TrainingJob, cluster: Cluster) -> None:
    if cluster.role is Role.EVALUATOR:
        from yt8m.components.trainer.evaluation.checkpoint_scorer import evaluate_continuously

        evaluate_continuously(job)
    elif cluster.kind is ClusterKind.PARAMETER_SERVER and not cluster.is_chief:
        from yt8m.components.trainer.loop.parameter_server import serve

        serve(job, cluster)
    else:
        from yt8m.components.trainer.loop.training import train

        train(job, cluster)
