"""ParameterServerStrategy: who may die, who may not, and that everybody ends."""

import dataclasses
import signal
from pathlib import Path

import pytest
from cluster import Group, run
from s3_server import s3_server
from training import make_job

from yt8m.components import storage
from yt8m.components.artifacts.manifest import Manifest

pytestmark = pytest.mark.distributed

LONG = {"max_steps": 400, "checkpoint": {"every_steps": 25}, "log": {"every_steps": 25}}


# What gRPC says now and then of a worker that was started again, the first time that it is called.
REMOVED_ONCE = """
import tensorflow as tf
from tensorflow.python.eager import context
_update, _errors = context.Context.update_server_def, ["Stream removed"]
def _update_after_errors(self, *args, **kwargs):
    if _errors:
        print("planted:", _errors[0], flush=True)
        raise tf.errors.UnknownError(None, None, _errors.pop() + chr(10) + (
            "Additional GRPC error information from remote target /job:worker/replica:0/task:1 "
            "while calling /tensorflow.WorkerService/GetStatus:"))
    return _update(self, *args, **kwargs)
context.Context.update_server_def = _update_after_errors
"""


def curve_steps(job):
    from yt8m.components.artifacts.training_curve import TRAINING, read_curve

    return [
        r["step"] for r in read_curve(f"{job.checkpoint_dir}/{TRAINING}") if r["kind"] == "train"
    ]


@pytest.mark.slow
def test_a_killed_worker_is_survived_and_workers_and_servers_end_by_themselves(tmp_path):
    job = make_job(tmp_path, **LONG)
    with Group(job, "chief=1,worker=2,ps=2", tmp_path / "logs") as group:
        group.wait_until(lambda: group.step() >= 25)
        group.kill("worker 1")
        codes = group.join()
        assert codes.pop("worker 1") == -signal.SIGKILL
        assert set(codes.values()) == {0}, codes
        assert group.step() == 400
    assert curve_steps(job)[-1] == 400
    assert (tmp_path / "export" / "saved_model.pb").exists()


@pytest.mark.slow
def test_a_worker_whose_stream_was_removed_as_it_came_back_is_called_again(tmp_path):
    job = make_job(tmp_path, **{**LONG, "max_steps": 1200})
    processes = "chief=1,worker=2,ps=1"
    with Group(job, processes, tmp_path / "logs", first=REMOVED_ONCE) as group:
        group.wait_until(lambda: group.step() >= 25)
        group.kill("worker 1")
        assert group.join("worker 1") == {"worker 1": -signal.SIGKILL}
        group.start("worker 1")
        assert set(group.join().values()) == {0}
        assert "planted: Stream removed" in group.log("chief 0")
        assert group.step() == 1200


@pytest.mark.slow
def test_a_killed_server_ends_the_chief_and_training_resumes_from_the_checkpoint(tmp_path):
    job, processes = make_job(tmp_path, **LONG), "chief=1,worker=1,ps=2"
    with Group(job, processes, tmp_path / "logs") as group:
        group.wait_until(lambda: group.step() >= 25)
        group.kill("ps 0")
        assert group.join("chief 0") == {"chief 0": 1}
        assert "lost contact with another process" in group.log("chief 0")
        reached = group.step()
        assert 25 <= reached < 400
    with Group(job, processes, tmp_path / "again") as group:
        assert set(group.join().values()) == {0}
        assert f"step {reached} of 400" in group.log("chief 0")
        assert group.step() == 400


@pytest.mark.slow
def test_a_killed_chief_resumes_from_the_checkpoint(tmp_path):
    job = make_job(tmp_path, **{**LONG, "distribution": {"peer_timeout_s": 20}})
    processes = "chief=1,worker=1,ps=1"
    with Group(job, processes, tmp_path / "logs") as group:
        group.wait_until(lambda: group.step() >= 25)
        group.kill("chief 0")
        codes = group.join()
        assert codes.pop("chief 0") == -signal.SIGKILL
        assert set(codes.values()) == {1}, codes  # nobody waits for a chief indefinitely
        assert "has not been reachable for 20 s" in group.log("ps 0")
        reached = group.step()
        assert reached < 400
    with Group(job, processes, tmp_path / "again") as group:
        assert set(group.join().values()) == {0}
        assert group.step() == 400


def test_sigterm_to_the_chief_saves_and_exits_143(tmp_path):
    job = make_job(tmp_path, **{**LONG, "checkpoint": {}})
    with Group(job, "chief=1,worker=1,ps=1", tmp_path / "logs") as group:
        group.wait_until(lambda: "step 0 of 400" in group.log("chief 0"))
        group.kill("chief 0", signal.SIGTERM)
        assert group.join("chief 0") == {"chief 0": 143}
        assert 0 <= group.step() < 400
        for name in ("worker 0", "ps 0"):
            group.kill(name, signal.SIGTERM)
        assert set(group.join("worker 0", "ps 0").values()) == {143}


@pytest.mark.slow
def test_workers_read_shards_on_s3(tmp_path):
    job = make_job(tmp_path, max_steps=20, batch_size=16, log={"every_steps": 10})
    with s3_server() as bucket:
        manifest = Manifest.from_json(Path(job.manifest).read_text())
        shards = []
        for shard in manifest.shards:
            uri = f"{bucket}/{Path(shard.uri).name}"
            storage.copy(shard.uri, uri)
            Path(shard.uri).unlink()
            shards.append(dataclasses.replace(shard, uri=uri))
        remote = dataclasses.replace(manifest, shards=tuple(shards))
        Path(job.manifest).write_text(remote.to_json())
        run(job, "chief=1,worker=2,ps=1", tmp_path / "logs")
    assert curve_steps(job)[-1] == 20
    assert (tmp_path / "export" / "saved_model.pb").exists()
