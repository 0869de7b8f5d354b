"""Which Python and which lock an installation takes, by glibc and by what runs."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

FILE = Path(__file__).parents[3] / "lock" / "choose.py"
OLD, NEW = (2, 36), (2, 41)


@pytest.fixture
def choose():
    spec = importlib.util.spec_from_file_location("choose", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def have(choose, monkeypatch, *versions):
    """A machine with these Pythons alone."""
    monkeypatch.setattr(choose, "candidates", lambda version, environ: [f"/usr/bin/{version}"])
    there = {f"/usr/bin/{version}": version for version in versions}
    monkeypatch.setattr(choose, "version_of", there.get)


@pytest.mark.parametrize(
    ("glibc", "there", "expected"),
    [
        (NEW, ["3.10", "3.11", "3.12", "3.13"], ("/usr/bin/3.13", "3.13", "tfx-1.21")),
        (NEW, ["3.12"], ("/usr/bin/3.12", "3.12", "tfx-1.21")),
        (NEW, ["3.10"], ("/usr/bin/3.10", "3.10", "tfx-1.16")),
        (NEW, ["3.14"], ("", "3.13", "tfx-1.21")),
        (OLD, ["3.10", "3.11", "3.13"], ("/usr/bin/3.11", "3.11", "tfx-1.16")),
        (OLD, ["3.10", "3.13"], ("/usr/bin/3.10", "3.10", "tfx-1.16")),
        (OLD, ["3.13"], ("", "3.11", "tfx-1.16")),
        (OLD, [], ("", "3.11", "tfx-1.16")),
    ],
)
def test_the_best_that_runs_is_taken(choose, monkeypatch, glibc, there, expected):
    have(choose, monkeypatch, *there)
    assert choose.find(glibc, {}) == expected


@pytest.mark.parametrize(
    ("glibc", "version", "lane"),
    [(NEW, "3.11", "tfx-1.21"), (NEW, "3.10", "tfx-1.16"), (OLD, "3.11", "tfx-1.16")],
)
def test_a_python_that_is_given_decides(choose, monkeypatch, glibc, version, lane):
    monkeypatch.setattr(choose, "version_of", {"/mine": version}.get)
    assert choose.given("/mine", glibc) == ("/mine", version, lane)


@pytest.mark.parametrize(
    ("glibc", "version", "said"),
    [
        (
            OLD,
            "3.13",
            "PYTHON=/mine is Python 3.13 (TFX 1.21 alone runs on it, and needs glibc 2.39). With",
        ),
        (NEW, "3.14", "PYTHON=/mine is Python 3.14. With glibc 2.41 one of 3.10, 3.11, 3.12, 3.13"),
        (OLD, None, "PYTHON=/mine does not run, or cannot make environments. With glibc 2.36"),
    ],
)
def test_a_python_that_does_not_serve_is_refused(choose, monkeypatch, glibc, version, said):
    monkeypatch.setattr(choose, "version_of", {"/mine": version}.get)
    with pytest.raises(SystemExit, match=r"^error: ") as ended:
        choose.given("/mine", glibc)
    assert said in str(ended.value)


def test_it_says_in_one_line_what_it_chose_and_how_to_choose_another():
    done = subprocess.run(
        [sys.executable, str(FILE)],
        env={"PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = done.stderr.splitlines()
    assert line.startswith("install: TFX 1.")
    assert line.endswith("PYTHON=/path/to/python chooses another")
    lock, version, python = done.stdout.rstrip("\n").split(maxsplit=2)  # as `read` takes them
    assert python == sys.executable
    assert lock.endswith(version.replace(".", ""))
