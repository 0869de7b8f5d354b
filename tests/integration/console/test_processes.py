"""`yt8m` as a process: interrupted, terminated, its output cut off."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

YT8M = Path(sys.executable).with_name("yt8m")
LONG = ["data", "generate", "--level", "video", "--train", "10000000", "--eval", "0", "--out"]


@pytest.fixture
def generating(tmp_path):
    """A generation that would take an hour, begun."""
    process = subprocess.Popen(
        [YT8M, *LONG, tmp_path / "data"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not any(p.stat().st_size for p in tmp_path.glob("data/.train0000.tfrecord.*")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert process.poll() is None
    yield process
    process.kill()
    process.communicate()


def test_ctrl_c_ends_with_130_and_one_line(generating, tmp_path):
    generating.send_signal(signal.SIGINT)
    out, err = generating.communicate(timeout=60)
    assert generating.returncode == 130
    assert out == ""
    assert err.splitlines()[-1] == "error: interrupted"
    assert "Traceback" not in err
    assert not list((tmp_path / "data").glob("*.tfrecord"))  # nothing looks complete


def test_sigterm_ends_a_command_that_saves_nothing_at_once(generating, tmp_path):
    generating.send_signal(signal.SIGTERM)
    generating.communicate(timeout=60)
    assert generating.returncode == -signal.SIGTERM
    assert not list((tmp_path / "data").glob("*.tfrecord"))


def test_output_that_nobody_reads_on_is_no_error():
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [YT8M, "config", "show", "smoke"],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


def test_works_from_the_checkout_whose_kubeflow_folder_has_the_name_of_a_library():
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [YT8M, "config", "list"], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "smoke" in done.stdout
