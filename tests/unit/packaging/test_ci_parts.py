"""CI's parts: what is left out, by the tree alone, what is said of it, and what a failure stops."""

import importlib.util
import json
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

FILE = Path(__file__).parents[3] / ".ci" / "parts.py"


@pytest.fixture(scope="module")
def ci() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ci_parts", FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules["ci_parts"] = module  # its dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with a file that decides, and one that does not."""
    for name in ("code/a.py", "docs/a.md"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("as it was\n")
    (tmp_path / ".ci").mkdir()
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    return tmp_path


@pytest.fixture
def run(ci, tree, capfd):
    """CI on `tree` with a part that may be left out and one that may not: exit code, last lines."""

    def run(*words: str, last: str = "true") -> tuple[int, list[str]]:
        long = ci.Part(name="long", command=("sh", "-c", "echo long ran"), paths=("code",))
        parts = (long, ci.Part(name="always", command=(last,)))
        code = ci.main(words, root=tree, parts=parts)
        said = capfd.readouterr().out
        return code, said.rpartition("\n\n")[2].splitlines()

    return run


def states(lines: list[str]) -> list[str]:
    return [line[14:].partition("(")[0].split("  ")[0].strip() for line in lines]


def test_each_part_tells_its_time_and_so_does_the_whole(run):
    code, lines = run()
    assert code == 0
    assert [line.split()[:2] for line in lines] == [
        ["long", "green"],
        ["always", "green"],
        ["all", "green"],
    ]
    assert all(line.endswith("0 min 00 s") for line in lines)


def test_a_part_whose_files_are_those_of_its_last_green_run_is_left_out_and_it_is_said(run):
    run("--record")
    code, lines = run()
    assert code == 0
    assert states(lines) == ["left out", "green", "green"]
    assert "its files are those of its last green run" in lines[0]


@pytest.mark.parametrize(
    "change",
    [
        lambda tree: (tree / "code" / "a.py").write_text("changed\n"),
        lambda tree: (tree / "code" / "a.py").chmod(0o755),
        lambda tree: (tree / "code" / "a.py").unlink(),
        lambda tree: (tree / "code" / "a.py").rename(tree / "code" / "b.py"),
    ],
    ids=["content", "mode", "gone", "renamed"],
)
def test_a_change_of_its_files_brings_it_back(run, tree, change):
    run("--record")
    change(tree)
    subprocess.run(["git", "add", "--all"], cwd=tree, check=True)
    assert states(run()[1]) == ["green", "green", "green"]


def test_a_change_elsewhere_and_files_that_are_not_tracked_do_not(run, tree):
    run("--record")
    (tree / "docs" / "a.md").write_text("changed\n")
    (tree / "code" / "made.log").write_text("by a run\n")
    assert states(run()[1])[0] == "left out"


def test_what_is_asked_for_runs_whatever_it_was(run):
    run("--record")
    assert states(run("--all")[1]) == ["green", "green", "green"]
    assert states(run("long")[1]) == ["green", "green"]


def test_a_failure_ends_it_and_is_never_recorded_as_green(run, tree):
    code, lines = run("--record", last="false")
    assert code == 1
    assert states(lines) == ["green", "FAILED", "FAILED"]
    assert set(json.loads((tree / ".ci" / "green.json").read_text())) == {"long"}


def test_after_a_failure_the_rest_is_not_run(ci, tree, capfd):
    parts = [ci.Part(name="one", command=("false",)), ci.Part(name="two", command=("true",))]
    assert ci.main([], root=tree, parts=parts) == 1
    assert states(capfd.readouterr().out.splitlines()[-3:]) == ["FAILED", "not run", "FAILED"]


def test_a_part_that_is_not_there_is_a_mistake(run):
    with pytest.raises(SystemExit) as ended:
        run("tets")
    assert ended.value.code == 2


def test_the_checks_and_the_tests_are_never_left_out(ci):
    assert [part.name for part in ci.PARTS if not part.paths] == ["checks", "tests"]


def test_every_path_that_decides_has_tracked_files(ci):
    for path in {path for part in ci.PARTS for path in part.paths}:
        command = ["git", "ls-files", "--", path]
        assert subprocess.check_output(command, cwd=FILE.parents[1]), path


def test_a_part_that_hangs_is_ended_with_all_that_it_started(ci, tree, capfd):
    hangs = ci.Part(name="hangs", command=("sh", "-c", "sleep 600 & echo $!; wait"), limit_s=0.5)
    assert ci.main([], root=tree, parts=(hangs,)) == 1
    said = capfd.readouterr().out
    assert "== hangs: not done after 0 s; it was ended" in said
    child = Path("/proc", said.splitlines()[1], "status")
    deadline = time.monotonic() + 10
    while child.exists() and "zombie" not in child.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)
