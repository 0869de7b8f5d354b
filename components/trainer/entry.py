"""One process of a training: TF_CONFIG says which, and it does that part."""

from __future__ import annotations

from collections.abc import Mapping

from yt8m.components.trainer.buckets import check_buckets
from yt8m.components.trainer.job import TrainingJob
from yt8m.components.trainer.tf_config import Cluster, Kind, Role


def run_job(job: TrainingJob, environ: Mapping[str, str]) -> None:
    """Do what TF_CONFIG of `environ` asks of this process. It is checked before anything starts."""
    cluster = Cluster.from_env(environ)
    check_buckets(job, cluster)
    # TensorFlow takes seconds to import; what is wrong should be told before.
    if cluster.role is Role.EVALUATOR:
        from yt8m.components.trainer.checkpoint_scorer import evaluate_continuously

        evaluate_continuously(job)
    elif cluster.kind is Kind.PARAMETER_SERVER and not cluster.is_chief:
        from yt8m.components.trainer.parameter_server import serve

        serve(job, cluster)
    else:
        from yt8m.components.trainer.training import train

        train(job, cluster)
