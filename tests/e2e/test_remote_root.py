"""A root at s3:// or gs://: a run killed in the Trainer and continued, to a local root's push."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from gcs_server import gcs_server
from s3_server import s3_server
from yt8m_runs import QUICK, Command, Place, environment, generate, yt8m

from yt8m.components import storage

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
# Long enough for checkpoints to be in the store before the training ends.
SETTINGS = (*QUICK, "trainer.max_steps=3000", "trainer.checkpoint.every_steps=50")
Server = Callable[[], AbstractContextManager[str]]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """The same run with a root on this machine."""
    base = tmp_path_factory.mktemp("local")
    place = Place(generate(base / "data"), base / "root", base / "push", settings=SETTINGS)
    assert place.run().returncode == 0
    return place


@pytest.fixture(
    params=[s3_server, pytest.param(gcs_server, marks=pytest.mark.needs("fake-gcs-server"))]
)
def bucket(request: pytest.FixtureRequest) -> Iterator[str]:
    server: Server = request.param
    with server() as uri:
        yield uri


def records(root: str) -> list[dict]:
    """Every run's record, the newest first."""
    names = sorted(storage.list_directories(f"{root}/runs"), reverse=True)
    return [json.loads(storage.read_text(f"{root}/runs/{name}/run.json")) for name in names]


def checkpoint_of(root: str, training: Command) -> str:
    """The key of the training, once the store has a checkpoint of it."""
    while training.process.poll() is None:
        for address in storage.listed(f"{root}/checkpoints"):
            if address.endswith("/checkpoint"):
                return address.split("/")[-2]
        time.sleep(0.05)
    raise AssertionError(f"it ended before: {training.said}")


def test_a_killed_run_continues_to_what_a_local_root_gives(
    tmp_path: Path, local: Place, bucket: str
) -> None:
    root, push, temporary = f"{bucket}/root", tmp_path / "push", tmp_path / "tmp"
    temporary.mkdir()
    env = environment(XDG_STATE_HOME=str(tmp_path / "state"), TMPDIR=str(temporary))
    places = ["--data", local.data, "--root", root, "--push", push]
    words = ["run", "smoke", *map(str, places), *(f"--set={setting}" for setting in SETTINGS)]

    first = Command(*words, env=env)
    first.until("Trainer running")
    second = yt8m(*words, env=env)
    assert second.returncode == 1
    assert f"{root} is in use: process {first.process.pid} on " in second.stderr
    key = checkpoint_of(root, first)
    assert first.end(signal.SIGKILL) == -signal.SIGKILL
    status = yt8m("status", "--root", root, env=env)
    assert "killed while Trainer was running" in status.stdout

    elsewhere = environment(XDG_STATE_HOME=str(tmp_path / "other machine"))
    assert "recorded in metadata.db of the machine" in yt8m(*words, env=elsewhere).stderr

    again = yt8m(*words, env=env)
    assert again.returncode == 0, again.stderr
    assert "this one continues it" in again.stderr
    assert list(temporary.iterdir()) == []
    newest, killed = records(root)
    assert killed["verdict"] == "killed"
    states = {node["name"]: node["state"] for node in newest["nodes"]}
    assert {name for name, state in states.items() if state != "cached"} == {
        "Trainer",
        "Evaluator",
        "Pusher",
        "Report",
    }
    log = storage.read_text(f"{root}/logs/{newest['run_id']}/Trainer.log")
    assert "step 0 of 3000" not in log
    assert " of 3000" in log
    assert storage.is_dir(f"{root}/checkpoints/{key}")

    expected, (of_local,) = local.outcome(), local.records()
    weights = sorted(push.glob(f"{newest['version']}/variables/variables.data*"))
    assert newest["metrics"] == expected["metrics"]
    assert [path.read_bytes() for path in weights] == expected["weights"]
    for field in ("verdict", "version", "records", "left_out", "checks", "spans"):
        assert newest[field] == of_local[field]
    assert_commands(root, env, newest["run_id"])
    assert_nothing_names_this_machine(root, push, temporary)


def assert_commands(root: str, env: dict[str, str], newest: str) -> None:
    """What is asked of a root can be asked of this one."""
    history = json.loads(yt8m("history", "--root", root, "--json", env=env).stdout)["runs"]
    assert history[0]["run_id"] == newest
    assert history[0]["verdict"] == "pushed"
    page = yt8m("report", "--root", root, env=env).stdout.strip()
    assert storage.exists(page)
    removed = yt8m("gc", "--root", root, "--keep-runs=1", "--keep-days=0", "--json", env=env)
    assert json.loads(removed.stdout)["runs"] == []  # of both the model is in the registry
    assert storage.exists(page)


def assert_nothing_names_this_machine(root: str, push: Path, temporary: Path) -> None:
    """Of the places of a process that is over; its log may."""
    name = str(temporary).encode()
    for address in storage.listed(root):
        if not address.startswith(f"{root}/logs/"):
            assert name not in storage.read_bytes(address), address
    for file in filter(Path.is_file, push.rglob("*")):
        assert name not in file.read_bytes(), file
