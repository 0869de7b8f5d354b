"""What is large stays on the shared volume: the launcher moves an address."""

import json
import os
import time
from pathlib import Path

import pytest

from yt8m.kubeflow.container.launcher import prepare_input
from yt8m.kubeflow.container.references import follow, leave_on_volume
from yt8m.schemas.errors import UserError

BASELINE = "yt8m.components.baseline.executor.Executor"
MODEL = {"model": "tfx.Model"}


def _invocation(side, root):
    given = {"model": {"artifacts": [{"uri": f"s3://b/{side}", "name": "7"}]}}
    other = "outputs" if side == "inputs" else "inputs"
    executor_input = {side: {"artifacts": given}, other: {"artifacts": {}}}
    executor_input["outputs"]["outputFile"] = str(root / "out.json")
    specs = (MODEL, {}) if side == "inputs" else ({}, MODEL)
    places = prepare_input(executor_input, *specs, launcher_root=str(root))
    return executor_input, places


@pytest.fixture
def output(tmp_path):
    """A model of 2 MB, one file of which is a link to another volume."""
    other = tmp_path / "other-volume"
    other.write_bytes(b"x" * (2 << 20))
    path = tmp_path / "s3" / "b" / "outputs"
    path.mkdir(parents=True)
    (path / "variables").symlink_to(other)
    (path / "saved_model.pb").write_bytes(b"graph")
    return path


def _leave(tmp_path, executor=BASELINE):
    executor_input, _ = _invocation("outputs", tmp_path)
    leave_on_volume(executor, executor_input, {"YT8M_WORK_DIR": str(tmp_path / "work")})


def _hand_over(tmp_path):
    """What the launcher does between two tasks."""
    (tmp_path / "s3" / "b" / "outputs").rename(tmp_path / "s3" / "b" / "inputs")
    executor_input, places = _invocation("inputs", tmp_path)
    follow(executor_input, places)
    (artifact,) = executor_input["inputs"]["artifacts"]["model"]["artifacts"]
    return artifact["uri"], places


def test_what_is_left_on_the_volume_is_on_its_disk(output, tmp_path, synced):
    _leave(tmp_path)
    kept = [path for path in (tmp_path / "work").rglob("*") if path.is_file()]
    assert len(kept) == 2
    assert {path.stat().st_ino for path in kept} <= synced


def test_the_launcher_is_given_an_address_and_the_next_task_reads_the_volume(output, tmp_path):
    _leave(tmp_path)
    assert [p.name for p in output.iterdir()] == ["reference.json"]
    uri, places = _hand_over(tmp_path)
    assert uri.startswith(f"{tmp_path}/work/shared/")
    files = {path.name: path.stat().st_size for path in Path(uri).iterdir()}
    assert files == {"variables": 2 << 20, "saved_model.pb": 5}
    assert not Path(uri, "variables").is_symlink()
    assert places[uri].uri == "s3://b/inputs"
    assert places[uri].name == "7"


def test_the_same_content_lies_there_once(output, tmp_path):
    _leave(tmp_path)
    first = json.loads((output / "reference.json").read_text())
    (output / "reference.json").unlink()
    (output / "variables").write_bytes(b"x" * (2 << 20))
    (output / "saved_model.pb").write_bytes(b"graph")
    _leave(tmp_path)
    assert json.loads((output / "reference.json").read_text()) == first
    assert len(list((tmp_path / "work" / "shared").iterdir())) == 1


def test_what_is_small_or_of_another_component_goes_as_before(output, tmp_path):
    _leave(tmp_path, executor="tfx.components.trainer.executor.GenericExecutor")
    assert (output / "saved_model.pb").is_file()
    (output / "variables").unlink()
    _leave(tmp_path)
    assert (output / "saved_model.pb").is_file()


def test_what_nobody_has_used_for_a_month_goes_and_is_named_when_it_is_missed(output, tmp_path):
    old = tmp_path / "work" / "shared" / "old"
    old.mkdir(parents=True)
    month_ago = time.time() - 31 * 86400
    os.utime(old, (month_ago, month_ago))
    _leave(tmp_path)
    assert not old.exists()
    (kept,) = (tmp_path / "work" / "shared").iterdir()
    kept.rename(tmp_path / "elsewhere")
    with pytest.raises(UserError, match=r"inputs\.model: .* is not there: its volume"):
        _hand_over(tmp_path)
