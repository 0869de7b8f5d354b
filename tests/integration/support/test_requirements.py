"""A test whose program is missing is skipped and told of, or fails where everything is required."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
SUITE = """
import pytest

@pytest.fixture
def never():
    raise RuntimeError("made although its test cannot run")

@pytest.mark.needs("java")
@pytest.mark.parametrize("number", [1, 2, 3])
def test_of_java(number, never):
    pass

@pytest.mark.needs("go", "java")
def test_of_both():
    pass

@pytest.mark.needs("root")
def test_of_root():
    pass

def test_that_needs_nothing():
    pass
"""
# What is found does not depend on the machine: no program is on this PATH, nobody is root.
FOUND = """
import dataclasses
import requirements
for name, one in requirements.REQUIREMENTS.items():
    requirements.REQUIREMENTS[name] = dataclasses.replace(one, find=lambda: None)
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    suite = tmp_path / "suite"
    suite.mkdir()
    shutil.copy(TESTS / "conftest.py", suite)
    (suite / "lacking.py").write_text(FOUND)
    (suite / "test_some.py").write_text(SUITE)
    (suite / "pytest.ini").write_text("[pytest]\nmarkers = needs\n")
    return suite


def run(suite: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "YT8M"))}
    path = os.pathsep.join([str(TESTS / "support"), str(suite)])
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "lacking", *words, str(suite)],
        env={**kept, "PYTHONPATH": path, **environ},
        cwd=suite,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("workers", ["0", "2"])
def test_what_is_missing_is_skipped_and_the_last_lines_say_what_and_what_to_do(
    suite: Path, workers: str
) -> None:
    done = run(suite, "-n", workers)
    assert done.returncode == 0, done.stdout
    assert "1 passed, 5 skipped" in done.stdout
    assert done.stdout.splitlines()[-2:] == [
        "tests skipped: 1 without go, 4 without java, 1 without root",
        "to run them: apt-get install -y --no-install-recommends default-jre-headless golang-go; "
        "run as root",
    ]


def test_where_everything_is_required_what_is_missing_fails_and_is_named(suite: Path) -> None:
    done = run(suite, "-n", "0", YT8M_REQUIRE_ALL="1")
    assert done.returncode == 1
    assert "1 passed, 5 errors" in done.stdout
    assert "needs go, java: apt-get install" in done.stdout
    assert "tests skipped" not in done.stdout


def test_a_need_that_nobody_defined_is_an_error_and_no_skip(suite: Path) -> None:
    (suite / "test_some.py").write_text(SUITE.replace('"go"', '"golang"'))
    done = run(suite, "-n", "0")
    assert done.returncode == 1
    assert "KeyError: 'golang'" in done.stdout
