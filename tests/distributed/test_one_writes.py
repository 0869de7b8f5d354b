"""Of all the processes of a training one writes: the chief, or worker 0 where there is none."""

import dataclasses
from pathlib import Path

import pytest
from cluster import Group
from training import make_job, rows

from yt8m.components.artifacts.manifest import Manifest

pytestmark = pytest.mark.distributed


def elsewhere(job, root, *, checkpoints=True):
    """The same job with directories of its own, to see who writes what."""
    directories = {"log_dir": str(root / "logs"), "export_dir": str(root / "export")}
    if checkpoints:
        directories["checkpoint_dir"] = str(root / "checkpoints")
    return dataclasses.replace(job, **directories)


def files_below(root):
    return [path for path in Path(root).rglob("*") if path.is_file()]


WRITTEN = ["export/saved_model.pb", "logs/training.jsonl", "logs/train", "checkpoints/DONE"]
LOGGED = {"max_steps": 6, "log": {"tensorboard": True, "histograms_every_steps": 3}}


def test_of_two_workers_the_chief_alone_writes(tmp_path):
    job = make_job(tmp_path / "chief", **LOGGED, checkpoint={"every_steps": 2})
    other = elsewhere(job, tmp_path / "worker")
    with Group(job, "chief=1,worker=1", tmp_path / "p", jobs={"worker 0": other}) as group:
        assert set(group.join().values()) == {0}
    assert files_below(tmp_path / "worker") == []
    for name in WRITTEN:
        assert (tmp_path / "chief" / name).exists(), name
    left = [path.name for path in (tmp_path / "chief/checkpoints").iterdir()]
    assert not [name for name in left if name.startswith(".")]  # nor anybody's scratch


@pytest.mark.slow
def test_a_worker_that_can_write_nowhere_trains_and_validates_all_the_same(tmp_path):
    validation = {"every_steps": 2, "go_back": False, "keep_best": False}
    model = {"name": "mlp", "width": 8, "blocks": 1, "batch_norm": True}  # with moving averages
    job = make_job(tmp_path, **LOGGED, model=model, validation=validation)
    nowhere = elsewhere(job, Path("/proc/nowhere"))
    with Group(job, "chief=1,worker=1", tmp_path / "p", jobs={"worker 0": nowhere}) as group:
        assert set(group.join().values()) == {0}
    manifest = Manifest.from_json(Path(job.manifest).read_text())
    found = [row["videos"] for row in rows(job, "validation")]
    assert found == [manifest.examples("eval")] * 4  # both workers' parts together


@pytest.mark.slow
def test_without_a_chief_worker_0_writes(tmp_path):
    job = make_job(tmp_path / "first", **LOGGED)
    other = elsewhere(job, tmp_path / "second")
    with Group(job, "worker=2", tmp_path / "p", jobs={"worker 1": other}) as group:
        assert set(group.join().values()) == {0}
    assert files_below(tmp_path / "second") == []
    for name in WRITTEN:
        assert (tmp_path / "first" / name).exists(), name


def test_under_parameter_servers_the_chief_alone_writes(tmp_path):
    job = make_job(tmp_path / "chief", **LOGGED)
    # The end of training they learn from the checkpoints' directory.
    other = elsewhere(job, tmp_path / "other", checkpoints=False)
    jobs = {"worker 0": other, "ps 0": other}
    with Group(job, "chief=1,worker=1,ps=1", tmp_path / "p", jobs=jobs) as group:
        assert set(group.join().values()) == {0}
    assert files_below(tmp_path / "other") == []
    for name in WRITTEN:
        assert (tmp_path / "chief" / name).exists(), name
