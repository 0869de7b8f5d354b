"""A run in a process of its own is waited for when the call is interrupted."""

import sys

import pytest

from yt8m.pipeline.python.runs import _follow, load_config
from yt8m.pipeline.python.runs import run as start
from yt8m.schemas.errors import Terminated, UserError

ENDS_IN_ORDER = """
import pathlib, signal, sys, time
def end(*_):
    time.sleep(0.3)
    pathlib.Path(sys.argv[1]).write_text("in order")
    sys.exit(143)
signal.signal(signal.SIGTERM, end)
print("begun", file=sys.stderr, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("end", [KeyboardInterrupt, Terminated])
def test_an_interrupted_run_has_ended_when_the_call_ends(tmp_path, monkeypatch, end):
    lines = []

    def write(line):
        lines.append(line)
        if len(lines) == 1:
            raise end

    monkeypatch.setattr(sys.stderr, "write", write)
    with pytest.raises(end):
        _follow([sys.executable, "-c", ENDS_IN_ORDER, str(tmp_path / "ended")])
    assert (tmp_path / "ended").read_text() == "in order"


def test_files_of_the_working_directory_hide_none_of_pythons_modules(tmp_path, monkeypatch):
    (tmp_path / "argparse.py").write_text("raise SystemExit('mine')")
    monkeypatch.chdir(tmp_path)
    config = load_config("smoke", root=str(tmp_path / "root"), data=str(tmp_path / "nothing"))
    with pytest.raises(UserError, match="nothing"):
        start(config, quiet=True)
