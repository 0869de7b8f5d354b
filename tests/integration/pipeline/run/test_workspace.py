"""The lock of a root, held and contended by real processes."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from yt8m.components.storage.lock import is_held
from yt8m.pipeline.workspace import RootBusyError, run_lock

_HOLD = """
import sys, time
from pathlib import Path
from yt8m.pipeline.workspace import run_lock
with run_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


@pytest.fixture
def hold(tmp_path):
    """Start a process that holds the lock of `tmp_path` for some seconds."""
    started = []

    def start(seconds):
        command = [sys.executable, "-c", _HOLD, str(tmp_path / "run.lock"), str(seconds)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout.readline() == "held\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_second_run_is_told_the_holders_pid_and_start(tmp_path, hold):
    holder = hold(60)
    with pytest.raises(RootBusyError) as error, run_lock(tmp_path / "run.lock"):
        pass
    assert f"process {holder.pid} " in str(error.value)
    assert time.strftime("%Y-%m-%dT") in str(error.value)


def test_a_waiting_run_goes_on_when_the_holder_ends(tmp_path, hold):
    holder = hold(1)
    with run_lock(tmp_path / "run.lock", wait_s=60):
        assert holder.wait(timeout=10) == 0
        assert json.loads((tmp_path / "run.lock").read_text())["pid"] == os.getpid()


def test_waiting_ends_with_the_same_message(tmp_path, hold):
    holder = hold(60)
    with (
        pytest.raises(RootBusyError, match=str(holder.pid)),
        run_lock(tmp_path / "run.lock", wait_s=0.2),
    ):
        pass


def test_a_killed_holder_leaves_the_root_free(tmp_path, hold):
    holder = hold(60)
    assert is_held(tmp_path / "run.lock")
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert not is_held(tmp_path / "run.lock")
    with run_lock(tmp_path / "run.lock"):
        pass


def test_a_root_without_a_lock_is_free(tmp_path):
    assert not is_held(tmp_path / "run.lock")
    assert list(tmp_path.iterdir()) == []


def test_looking_at_the_lock_keeps_no_run_from_it(tmp_path):
    code = f"""
from pathlib import Path
from yt8m.components.storage.lock import is_held
print("looking", flush=True)
while True:
    is_held(Path({str(tmp_path / "run.lock")!r}))
"""
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as looking:
        assert looking.stdout.readline() == "looking\n"
        for _ in range(20):
            with run_lock(tmp_path / "run.lock", wait_s=30):
                pass
        looking.kill()


def test_of_many_at_once_exactly_one_gets_in(tmp_path):
    command = [sys.executable, "-c", _HOLD, str(tmp_path / "run.lock"), "5"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(command, **pipes) for _ in range(4)]
    said = [process.communicate(timeout=60)[0] for process in processes]
    assert sorted(said) == ["", "", "", "held\n"]
