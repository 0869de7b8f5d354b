import dataclasses
import json

import pytest

from yt8m.components.trainer.config import TrainerConfig
from yt8m.components.trainer.job import TrainingJob
from yt8m.components.trainer.tf_config import Cluster
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.features import Level

MODEL = {"name": "frame_logistic"}


def job(*, multiple=8, level=Level.FRAME, count=4, **trainer):
    inputs = {"bucket_batches": count, "bucket_multiple": multiple}
    config = from_dict(TrainerConfig, {"model": MODEL, "inputs": inputs, **trainer})
    job = TrainingJob(manifest="m", checkpoint_dir="c", log_dir="l", export_dir="e")
    return dataclasses.replace(job, trainer=config, level=level)


def cluster(**counts):
    ports = iter(range(1000, 1100))
    addresses = {role: [f"h:{next(ports)}" for _ in range(n)] for role, n in counts.items()}
    task = {"type": "chief", "index": 0}
    config = {"cluster": addresses, "task": task} if counts else {}
    return Cluster.from_env({"TF_CONFIG": json.dumps(config)})


GOOD = [
    (job(), cluster(), 1),
    (job(multiple=8, accumulate=3), cluster(), 1),  # parts of 3, 3 and 2 rows are right, too
    (job(multiple=8), cluster(chief=1, worker=1), 4),
    (job(multiple=4), cluster(chief=1, worker=2, ps=2), 2),
    (job(multiple=1), cluster(), 1),
    (job(count=1, multiple=3), cluster(chief=1, worker=1), 1),  # no buckets, no rules
    (job(count=1, level=Level.VIDEO, model={"name": "logistic"}), cluster(), 1),
]


@pytest.mark.parametrize(("job", "cluster", "local_replicas"), GOOD)
def test_buckets_that_can_be_shared_out_are_taken(job, cluster, local_replicas):
    job.check_buckets(replicas=cluster.gradient_processes * local_replicas)


BAD = [
    (job(multiple=8), cluster(chief=1, worker=2), 1, ["bucket_multiple = 8", "replicas (3)"]),
    (job(multiple=1), cluster(), 2, ["bucket_multiple = 1", "replicas (2)"]),
    (job(multiple=4, accumulate=4), cluster(), 2, ["8 or more", "trainer.accumulate = 4"]),
    (job(multiple=3), cluster(chief=1, worker=3, ps=1), 2, ["bucket_multiple = 3", "replicas (6)"]),
    (job(multiple=8, batch_size=12), cluster(), 1, ["12 rows", "trainer.batch_size = 12"]),
    (job(level=Level.SEGMENT), cluster(), 1, ["bucket_batches = 4", "data.level is segment"]),
    (job(level=Level.VIDEO), cluster(), 1, ["bucket_batches = 4", "data.level is video"]),
]


@pytest.mark.parametrize(("job", "cluster", "local_replicas", "named"), BAD)
def test_buckets_that_cannot_be_shared_out_are_refused(job, cluster, local_replicas, named):
    with pytest.raises(ConfigError) as error:
        job.check_buckets(replicas=cluster.gradient_processes * local_replicas)
    for words in named:
        assert words in str(error.value)
