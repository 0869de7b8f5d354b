"""A training that is stopped, and goes on with other workers or another batch."""

import dataclasses
import random
import signal
from pathlib import Path

import pytest
from cluster import Group
from records import make_dataset
from training import make_job, rows

from yt8m.components.artifacts.manifest import Manifest

pytestmark = [pytest.mark.distributed, pytest.mark.many_runs]

EPOCHS = 40


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("data"), classes=20)


@pytest.mark.parametrize("seed", range(8))
def test_it_ends_at_the_same_number_of_examples_with_the_rate_of_the_end(tmp_path, data, seed):
    chance = random.Random(seed)
    job = make_job(
        tmp_path,
        data=data,
        max_steps=None,
        num_epochs=EPOCHS,
        batch_size=2,
        log={"every_steps": 1},
        schedule={"name": "cosine"},
        checkpoint={"every_steps": 5},
    )
    with Group(job, "chief=1,worker=1", tmp_path / "first") as group:
        group.wait_until(lambda: group.step() >= 5)
        group.kill(chance.choice(["chief 0", "worker 0"]), signal.SIGTERM)
        assert set(group.join().values()) == {143}
    batch = chance.choice([1, 3, 8])
    processes = chance.choice(["", "chief=1,worker=1", "chief=1,worker=2", "chief=1,worker=3"])
    job = dataclasses.replace(job, trainer=dataclasses.replace(job.trainer, batch_size=batch))
    with Group(job, processes, tmp_path / "second") as group:
        assert set(group.join().values()) == {0}
        said = group.log(next(iter(group.configs)))
    global_batch = batch * len(group.configs)
    assert ("workers or batch size have changed" in said) == (global_batch != 4)
    curve = rows(job, "train")
    manifest = Manifest.from_json(Path(job.manifest).read_text())
    wanted = EPOCHS * manifest.examples("train")
    assert abs(curve[-1]["examples"] - wanted) <= max(4, global_batch)
    assert curve[-1]["learning_rate"] < 0.1 * curve[0]["learning_rate"]
