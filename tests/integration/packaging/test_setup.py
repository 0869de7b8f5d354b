"""The set-up script with real candidates: none, one that does not run, and nothing to do."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
TOOLS = (
    *("bash", "cat", "cut", "dirname", "grep", "mkdir", "rm", "sed", "sh", "sha256sum", "touch"),
    "xargs",
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What the script reads, and a PATH with the tools that it calls; no Python is anywhere."""
    checkout = tmp_path / "checkout"
    shutil.copytree(ROOT / "lock", checkout / "lock")
    for name in ("install.sh", "choose.py"):
        script = checkout / "lock" / name
        script.write_text(script.read_text().replace("/usr/bin/python3", "/nowhere/python3"))
    shutil.copy(ROOT / "setup.py", checkout)
    (tmp_path / "bin").mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found, tool
        (tmp_path / "bin" / tool).symlink_to(found)
    return checkout


def install(checkout: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    home = checkout.parent
    return subprocess.run(
        ["bash", str(checkout / "lock" / "install.sh"), *words],
        env={"HOME": str(home), "PATH": str(home / "bin"), **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_any_python_it_says_in_one_message_what_to_do(checkout: Path) -> None:
    done = install(checkout)
    assert done.returncode == 1
    assert done.stderr.startswith("error: no Python to build")
    assert "PYTHON=" in done.stderr
    assert not (checkout / ".venv" / ".installed").exists()


def test_a_candidate_that_exists_and_does_not_run_is_no_python(checkout: Path) -> None:
    shim = checkout.parent / "bin" / "python3.11"
    shim.write_text("#!/bin/sh\necho 'version 3.11 is not installed' >&2\nexit 127\n")
    shim.chmod(0o755)
    done = install(checkout)
    assert done.returncode == 1
    assert done.stderr.startswith("error: no Python to build")


def test_a_python_without_venv_is_named_with_what_it_lacks(checkout: Path) -> None:
    """As Debian's python3 is without python3-venv: no other Python, and no `ensurepip`."""
    python = checkout.parent / "python"
    hides = "import sys; sys.modules['ensurepip'] = None"
    (checkout.parent / "sitecustomize.py").write_text(hides)
    python.write_text(
        f'#!/bin/sh\nPYTHONPATH={checkout.parent} exec {sys.executable} "$@"\n',
    )
    python.chmod(0o755)
    done = install(checkout, PYTHON=str(python))
    assert done.returncode == 1
    version = ".".join(map(str, sys.version_info[:2]))
    assert done.stderr.startswith("error: no Python here can make an environment")
    assert f"{python}: Python {version}, lacks its venv module" in done.stderr
    assert f"python{version}-venv" in done.stderr


def test_a_python_that_was_chosen_stays_when_the_lock_changes(checkout: Path) -> None:
    python, asked = checkout.parent / "mine", checkout.parent / "asked"
    python.write_text(f'#!/bin/sh\necho "$@" >> {asked}\n')
    python.chmod(0o755)
    (checkout / ".venv").mkdir()
    (checkout / ".venv" / ".installed").write_text(f"of another lock\n{python}\n")
    install(checkout)
    assert "lock/choose.py" in asked.read_text()


@pytest.fixture
def asked(checkout: Path) -> Path:
    """With a Python, `mine`, and a uv that only write down what they are asked."""
    asked, python = checkout.parent / "asked", checkout.parent / "mine"
    answers = f"tfx-1.16-py311\\n3.11\\n{python}\\n{python}\\n"
    python.write_text(f'#!/bin/sh\ncase "$1" in lock/choose.py) printf "{answers}" ;; esac\n')
    python.chmod(0o755)
    says = '*version_info*) echo 3.11 ;; *requires*) echo "package-of-$3>=2" ;;'
    for name, text in {
        "uv/bin/uv": f'#!/bin/sh\necho "$@" >> {asked}\n',
        "bin/python": f'#!/bin/sh\ncase "$2" in {says} esac\n',
    }.items():
        tool = checkout / ".venv" / name
        tool.parent.mkdir(parents=True, exist_ok=True)
        tool.write_text(text)
        tool.chmod(0o755)
    return asked


@pytest.mark.parametrize(
    ("before", "words", "lock"),
    [
        (None, (), ""),  # users have no tools
        (None, ("dev",), "-dev"),
        ("", (), ""),
        ("", ("dev",), "-dev"),
        ("dev", (), "-dev"),  # they stay where they are
    ],
)
def test_tools_of_developers_come_with_their_targets_and_stay(
    checkout: Path, asked: Path, before: str | None, words: tuple[str, ...], lock: str
) -> None:
    python = checkout.parent / "mine"
    stamp = checkout / ".venv" / ".installed"
    if before is not None:
        stamp.write_text(f"of another lock\n{python}\n{before}\n")
    install(checkout, *words, PYTHON=str(python))
    assert f"pip sync --require-hashes lock/tfx-1.16-py311{lock}.txt" in asked.read_text()
    assert stamp.read_text().splitlines()[2] == lock.removeprefix("-")
    asked.write_text("")
    install(checkout, PYTHON=str(python))
    assert asked.read_text() == ""  # nothing changed


def test_extras_are_added_again_after_a_change_of_the_lock(checkout: Path, asked: Path) -> None:
    """`uv pip sync` removes what the lock does not have: a user's MLflow client, for example."""
    (checkout / ".venv" / "extras").write_text("mlflow\nsign\n")
    done = install(checkout, PYTHON=str(checkout.parent / "mine"))
    assert "extras of before: mlflow sign\n" in done.stderr
    commands = asked.read_text().splitlines()
    (synced,) = (at for at, line in enumerate(commands) if line.startswith("pip sync"))
    added = [line.split()[-1] for line in commands[synced:] if "--constraint" in line]
    assert added == ["package-of-mlflow>=2", "package-of-sign>=2"]
    assert (checkout / ".venv" / "extras").read_text() == "mlflow\nsign\n"


def test_a_lock_of_another_environment_changes_nothing(checkout: Path, asked: Path) -> None:
    """JupyterLab and MLflow's interface are installed beside `.venv`'s packages."""
    install(checkout, PYTHON=str(checkout.parent / "mine"))
    asked.write_text("")
    for name in ("mlflow", "jupyter", "pyright", "audit"):
        (checkout / "lock" / f"{name}.txt").write_text("another==1\n")
    install(checkout, PYTHON=str(checkout.parent / "mine"))
    assert asked.read_text() == ""


def test_where_nothing_changed_it_does_nothing() -> None:
    stamp = ROOT / ".venv" / ".installed"
    before = stamp.stat().st_mtime_ns
    done = subprocess.run(
        ["bash", str(ROOT / "lock" / "install.sh")],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert stamp.stat().st_mtime_ns == before
