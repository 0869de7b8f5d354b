"""A volume that belongs to root, and a pod that runs as another user."""

import json
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from driver_records import COMPILED, recorded
from s3_server import faulty_s3_server

from yt8m.components import storage
from yt8m.components.example_gen.sources import SourceShard
from yt8m.components.example_gen.verification_cache import VerifiedCache
from yt8m.components.storage.errors import StorageError
from yt8m.kubeflow.container.entrypoint import main
from yt8m.kubeflow.container.volume_access import check_volumes_writable
from yt8m.schemas.errors import UserError

POD_USER = 10001


@pytest.fixture
def volume():
    """A directory that everybody may look into and its owner alone may write to."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "mnt"
        path.mkdir(mode=0o755)
        path.parent.chmod(0o755)
        yield path
        path.chmod(0o755)


@contextmanager
def as_pod_user(volume):
    """Not the volume's owner: as root by another user id, else by its mode."""
    if os.geteuid():
        volume.chmod(0o555)
        yield
        return
    os.seteuid(POD_USER)
    try:
        yield
    finally:
        os.seteuid(0)


def _run_schema_gen(pod, **parameters):
    given = recorded("SchemaGen")["executor_input"]
    given["outputs"]["outputFile"] = f"{pod}/out.json"
    given["inputs"]["parameterValues"] |= parameters
    container = COMPILED["deploymentSpec"]["executors"]["SchemaGen_executor"]["container"]
    return main([word.replace("{{$}}", json.dumps(given)) for word in container["args"]])


def _set_up_pod(volume, monkeypatch):
    pod = volume.parent / "pod"
    (pod / "dev").mkdir(parents=True)
    (pod / "dev" / "termination-log").touch()
    for path in (pod, pod / "dev", pod / "dev" / "termination-log"):
        path.chmod(0o777)
    monkeypatch.setenv("YT8M_LAUNCHER_ROOT", str(pod))
    return pod


@pytest.mark.parametrize("what", ["kubeflow.work_dir", "push_dir"])
def test_a_volume_that_the_pod_may_not_write_to_stops_the_first_task_with_the_remedy(
    volume, monkeypatch, capsys, what
):
    pod = _set_up_pod(volume, monkeypatch)
    place = f"{volume}/not/there/yet"
    if what == "kubeflow.work_dir":
        monkeypatch.setenv("YT8M_WORK_DIR", place)
    parameters = {"push_dir": place} if what == "push_dir" else {}
    with as_pod_user(volume):
        code = _run_schema_gen(pod, **parameters)
    said = capsys.readouterr().err
    assert code == 2
    assert f"{what} {place}" in said
    assert f"may not write to {volume}, which belongs to user {os.geteuid()}" in said
    assert "chown -R" in said
    assert "fsGroup" in said
    assert (pod / "dev" / "termination-log").read_text() in said
    assert not list(volume.iterdir())


@pytest.mark.parametrize("fault", ["403", "expired"])
def test_a_registry_that_refuses_objects_stops_the_first_tasks(fault):
    with faulty_s3_server() as (bucket, proxy):
        check_volumes_writable({"push_dir": f"{bucket}/models"}, {})
        with pytest.raises(FileNotFoundError):  # nothing is left of the trial
            storage.list_dir(bucket)
        proxy.choose = lambda method, path: fault if method == "PUT" else ""
        with pytest.raises(UserError, match=r"push_dir .*/models: nothing can be written there"):
            check_volumes_writable({"push_dir": f"{bucket}/models"}, {})


def test_a_registry_that_is_away_is_left_to_the_tasks_which_wait_for_it(caplog, monkeypatch):
    def away(uri, text):
        raise StorageError(f"{uri}: the storage failed")

    monkeypatch.setattr(storage, "write_text", away)
    check_volumes_writable({"push_dir": "gs://bucket/models"}, {})
    assert "gs://bucket/models cannot be tried out now" in caplog.text


def test_a_memory_of_verified_shards_that_may_not_be_touched_is_used_and_not_called_damaged(
    volume, caplog
):
    shard = SourceShard(split="train", uri="/data/train-0", size=1, mtime=1.0)
    cache = VerifiedCache(str(volume), policy="p", code_version="c")
    figures = {"records": 3, "digest": "d"}
    cache.store(shard, figures)
    (file,) = volume.rglob("*.npz")
    file.parent.chmod(0o755)
    file.chmod(0o444)
    assert cache.load(shard) == figures
    with as_pod_user(volume):
        found = cache.load(shard)
    assert found == figures
    file.chmod(0o000)
    with as_pod_user(volume):
        assert cache.load(shard) is None
    assert "damaged" not in caplog.text
    assert "may not be read" in caplog.text
