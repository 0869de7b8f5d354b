"""What the shell that starts the tests hands down does not reach them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
CHECKED = """
import os, subprocess, sys

def test_nothing_foreign_is_left():
    import yt8m
    assert "another checkout" not in str(yt8m.__path__)
    assert not [n for n in os.environ if n.startswith(("AWS_", "KUBE", "TF_CONFIG", "YT8M_"))]
    assert subprocess.run(["bash", "-c", ":"], capture_output=True).stderr == b""
    said = subprocess.run(["cat", "nothing"], capture_output=True, text=True).stderr
    assert "No such file or directory" in said
    made = os.open("made", os.O_CREAT, 0o777)
    assert os.fstat(made).st_mode & 0o777 == 0o755

def test_what_was_said_to_pytest_is_no_flag_of_tfx():
    assert len(sys.argv) == 1

def test_a_process_can_be_interrupted():
    child = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    assert subprocess.check_output([sys.executable, "-c", child], text=True) == "True\\n"
"""
FOREIGN = {
    "AWS_PROFILE": "nobody",
    "KUBECONFIG": "/nowhere",
    "LANGUAGE": "de",
    "LC_ALL": "de_DE.UTF-8",
    "TF_CONFIG": "{",
    "YT8M_KUBEFLOW_HOST": "http://nowhere",
    "YT8M_WORK_DIR": "/nowhere",
}


@pytest.mark.parametrize("workers", ["0", "1"])
def test_started_in_a_background_from_another_place_the_tests_see_none_of_it(
    tmp_path: Path, workers: str
) -> None:
    suite = tmp_path / "a suite"
    suite.mkdir()
    shutil.copy(TESTS / "conftest.py", suite)
    (suite / "test_some.py").write_text(CHECKED)
    (suite / "pytest.ini").write_text(f"[pytest]\npythonpath = '{TESTS / 'support'}'\n")
    (tmp_path / "another checkout" / "yt8m").mkdir(parents=True)
    (tmp_path / "another checkout" / "yt8m" / "__init__.py").touch()
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "YT8M_"))}
    words = [sys.executable, "-m", "pytest", "-n", workers, "-v", "test_some.py"]
    done = subprocess.run(
        # What a shell does for `command &`: Ctrl-C is ignored there.
        ["sh", "-c", "trap '' INT; umask 077; exec \"$@\"", "sh", *words],
        cwd=suite,
        env={**kept, **FOREIGN, "PYTHONPATH": str(tmp_path / "another checkout")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _left_of(given: dict[str, str]) -> set[str]:
    """The names among `given` that the tests see."""
    child = "import os, surroundings; surroundings.settle(); print(*os.environ)"
    place = {"PATH": os.environ["PATH"], "PYTHONPATH": str(TESTS / "support")}
    words = [sys.executable, "-c", child]
    return set(subprocess.check_output(words, env=place | given, text=True).split()) & set(given)


def test_what_make_hands_to_the_tests_reaches_them() -> None:
    handed = re.findall(r"\b(\w+)=\$\(\1\)", (TESTS.parent / "Makefile").read_text())
    assert {"KFP_DRIVER", "KFP_LAUNCHER", "KFP_ENDPOINT"} <= set(handed)
    assert _left_of(dict.fromkeys(handed, "given")) == set(handed)


def test_a_login_is_kept_where_there_is_a_server_to_log_in_to() -> None:
    login = {"YT8M_KUBEFLOW_TOKEN_FILE": "/token"}
    assert _left_of({**login, "KFP_ENDPOINT": "http://there"}) >= set(login)
    assert not _left_of({**login, "KFP_ENDPOINT": ""}) & set(login)
