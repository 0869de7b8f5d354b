"""What libraries leave in the temporary directory goes with the process, or with the next one."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from yt8m.components.storage.temporary import own_temporary_directory, system_temporary_directory

KILLED = """
import os, signal, sys, tempfile
from yt8m.components.storage.temporary import own_temporary_directory
with own_temporary_directory():
    tempfile.mkdtemp(prefix="beam-pipeline-temp")
    print("ready", flush=True)
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def system(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def test_what_is_left_by_this_process_and_its_children_is_removed(system):
    child = "import tempfile; print(tempfile.mkdtemp(prefix='beam-pipeline-temp'))"
    with own_temporary_directory() as own:
        with tempfile.NamedTemporaryFile(prefix="__autograph", delete=False) as ours:
            pass
        theirs = subprocess.check_output([sys.executable, "-c", child], text=True).strip()
        assert {Path(ours.name).parent, Path(theirs).parent} == {own}
        assert system_temporary_directory() == system
    assert list(system.iterdir()) == []
    assert Path(tempfile.gettempdir()) == system
    assert os.environ["TMPDIR"] == str(system)


def test_the_variable_is_unset_again_where_it_was(system, monkeypatch):
    monkeypatch.delenv("TMPDIR")
    monkeypatch.setattr(tempfile, "tempdir", str(system))
    with own_temporary_directory():
        assert os.environ["TMPDIR"] == tempfile.gettempdir()
    assert "TMPDIR" not in os.environ
    assert tempfile.gettempdir() == str(system)


def test_one_in_another_lies_beside_it(system):
    with own_temporary_directory() as outer, own_temporary_directory() as inner:
        assert outer != inner
        assert outer.parent == inner.parent == system
    assert list(system.iterdir()) == []


def test_what_a_killed_process_left_is_removed_by_the_next_and_nothing_of_a_living_one(system):
    killed = subprocess.Popen(
        [sys.executable, "-c", KILLED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert killed.stdout.readline() == "ready\n"
    with own_temporary_directory() as own:
        (left,) = set(system.iterdir()) - {own}
        assert list(left.glob("beam-pipeline-temp*"))  # it lives
    killed.communicate("")
    assert killed.returncode == -signal.SIGKILL
    assert list(left.glob("beam-pipeline-temp*"))
    with own_temporary_directory():
        assert not left.exists()


def test_a_link_that_is_named_like_one_is_not_followed(system):
    kept = system / "kept"
    kept.mkdir()
    (kept / "file").touch()
    (system / "yt8m-tmp-link").symlink_to(kept)
    with own_temporary_directory():
        pass
    assert [path.name for path in kept.iterdir()] == ["file"]
