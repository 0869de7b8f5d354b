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


def pythons(choose, *versions, headers=True):
    """Interpreters of these versions, each where a distribution has it."""
    return [choose.Interpreter(f"/usr/bin/{v}", v, True, headers) for v in versions]


@pytest.mark.parametrize(
    ("glibc", "there", "expected"),
    [
        (NEW, ["3.10", "3.11", "3.12", "3.13"], ("/usr/bin/3.13", "3.13", "tfx-1.21")),
        (NEW, ["3.12"], ("/usr/bin/3.12", "3.12", "tfx-1.21")),
        (NEW, ["3.10"], ("", "3.13", "tfx-1.21")),
        (NEW, ["3.14"], ("", "3.13", "tfx-1.21")),
        (OLD, ["3.10", "3.11", "3.13"], ("/usr/bin/3.11", "3.11", "tfx-1.16")),
        (OLD, ["3.13"], ("", "3.11", "tfx-1.16")),
        (OLD, [], ("", "3.11", "tfx-1.16")),
    ],
)
def test_the_best_that_runs_is_taken(choose, glibc, there, expected):
    assert choose.find(pythons(choose, *there), glibc) == expected


def test_the_distributions_own_python_is_tried_before_pyenvs(choose, tmp_path, monkeypatch):
    built = tmp_path / "versions" / "3.11.9" / "bin" / "python"
    built.parent.mkdir(parents=True)
    built.symlink_to(sys.executable)
    monkeypatch.setenv("PATH", "")
    found = list(choose.paths({"PYENV_ROOT": str(tmp_path)}))
    assert found == ["/usr/bin/python3", str(built)]


def test_of_two_of_one_version_the_one_with_headers_is_taken(choose):
    (bare,) = pythons(choose, "3.11", headers=False)
    whole = bare._replace(path="/opt/python", has_headers=True)
    assert choose.find([bare, whole], OLD).python == "/opt/python"
    assert choose.find([bare], OLD).python == bare.path


def test_a_python_without_venv_serves_where_another_makes_uvs_environment(choose):
    (chosen,) = (one._replace(has_venv=False) for one in pythons(choose, "3.11"))
    (older,) = pythons(choose, "3.9")
    assert choose.maker_of([chosen, older], chosen.path) == older.path
    assert choose.maker_of([older, chosen], older.path) == older.path


def test_where_none_can_make_environments_each_is_named_with_what_it_lacks(choose):
    there = [one._replace(has_venv=False) for one in pythons(choose, "3.11", "3.9")]
    with pytest.raises(SystemExit, match=r"^error: no Python here can make") as ended:
        choose.maker_of(there, there[0].path)
    said = str(ended.value)
    for one in there:
        assert f"  {one.path}: Python {one.version}, lacks its venv module" in said
        assert f"apt-get install python{one.version}-venv" in said


@pytest.mark.parametrize(
    ("glibc", "version", "lane"),
    [(NEW, "3.11", "tfx-1.21"), (OLD, "3.11", "tfx-1.16")],
)
def test_a_python_that_is_given_decides(choose, monkeypatch, glibc, version, lane):
    there = {"/mine": choose.Interpreter("/mine", version, True, True)}
    monkeypatch.setattr(choose, "probe", there.get)
    assert choose.given("/mine", glibc) == ("/mine", version, lane)


@pytest.mark.parametrize(
    ("glibc", "version", "said"),
    [
        (
            OLD,
            "3.13",
            "PYTHON=/mine is Python 3.13 (TFX 1.21 alone runs on it, and needs glibc 2.39). With",
        ),
        (NEW, "3.14", "PYTHON=/mine is Python 3.14. With glibc 2.41 Python 3.11 or 3.12 or 3.13"),
        (OLD, None, "PYTHON=/mine does not run. With glibc 2.36 Python 3.11 is needed"),
    ],
)
def test_a_python_that_does_not_serve_is_refused(choose, monkeypatch, glibc, version, said):
    there = {"/mine": version and choose.Interpreter("/mine", version, True, True)}
    monkeypatch.setattr(choose, "probe", there.get)
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
    lock, version, python, maker = done.stdout.splitlines()
    assert python == maker == sys.executable
    assert lock.endswith(version.replace(".", ""))
