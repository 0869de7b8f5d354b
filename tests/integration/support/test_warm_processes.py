"""A warm process is one that Python was started for, but for the imports."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
import warm_processes

WAIT_S = 60
SLEEPING = "import time; print('up', flush=True); time.sleep(600)"


def run(code: str, *words: str, **options) -> subprocess.CompletedProcess[str]:
    return warm_processes.run("-c", code, *words, timeout=WAIT_S, **options)


def test_it_has_imported_what_is_slow_and_is_a_process_of_its_own():
    code = "import os, sys; print(os.getpid(), 'tfx.components' in sys.modules, sys.argv, __name__)"
    first, second = run(code, "a", "b"), run(code, "a", "b")
    pids = {done.stdout.split()[0] for done in (first, second)}
    assert len(pids | {str(os.getpid())}) == 3
    assert first.stdout.endswith("True ['-c', 'a', 'b'] __main__\n")
    assert first.stderr == ""


def test_directory_environment_and_umask_are_those_that_were_given(tmp_path: Path):
    code = "import os; print(os.getcwd(), dict(os.environ), oct(os.umask(0)))"
    before = os.umask(0o027)
    try:
        done = run(code, cwd=tmp_path, env={"ONLY": "this"})
    finally:
        os.umask(before)
    assert done.stdout == f"{tmp_path} {{'ONLY': 'this'}} 0o27\n"


@pytest.mark.parametrize(
    ("code", "expected", "said"),
    [
        ("pass", 0, ""),
        ("import sys; sys.exit(3)", 3, ""),
        ("import sys; sys.exit('a reason')", 1, "a reason\n"),
        ("import os; os._exit(7)", 7, ""),
        ("import os; os.abort()", -signal.SIGABRT, ""),
        ("import atexit, sys; atexit.register(print, 'left', file=sys.stderr)", 0, "left\n"),
        ("import sys; assert sys.stdin.read() == ''", 0, ""),
    ],
)
def test_its_end_and_its_last_words_arrive(code: str, expected: int, said: str):
    done = run(code)
    assert (done.returncode, done.stderr) == (expected, said)


def test_an_error_ends_with_1_and_its_traceback():
    done = run("raise ValueError('no')")
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("ValueError: no")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_signals_do_to_it_what_they_do_to_python(number: signal.Signals):
    process = warm_processes.Popen("-c", SLEEPING, stdout=subprocess.PIPE)
    assert process.stdout.readline() == "up\n"
    assert process.poll() is None
    process.send_signal(number)
    assert process.wait(WAIT_S) == process.poll() == -number
    process.kill()  # after its end: nothing
    process.stdout.close()


def test_a_process_that_takes_too_long_is_killed():
    with pytest.raises(subprocess.TimeoutExpired):
        warm_processes.run("-c", SLEEPING, timeout=0.5)
    with pytest.raises(subprocess.TimeoutExpired):
        warm_processes.run("-c", SLEEPING, timeout=0.5)


def test_a_module_runs_as_with_python_m():
    done = warm_processes.run("-m", "yt8m.components.trainer.backends", "--help", timeout=WAIT_S)
    assert done.returncode == 0
    assert done.stdout.startswith("usage: python -m yt8m.components.trainer.backends")


def test_output_goes_to_a_file_both_streams_in_their_order(tmp_path: Path):
    code = "import sys; print('a', flush=True); print('b', file=sys.stderr); print('c')"
    with (tmp_path / "log").open("ab") as log:
        process = warm_processes.Popen("-c", code, stdout=log, stderr=subprocess.STDOUT)
    assert process.wait(WAIT_S) == 0
    assert (tmp_path / "log").read_text() == "a\nb\nc\n"


def test_a_child_that_lives_on_does_not_hold_the_status_of_another():
    long = warm_processes.Popen("-c", SLEEPING)
    assert warm_processes.Popen("-c", "pass").wait(WAIT_S) == 0
    long.kill()
    assert long.wait(WAIT_S) == -signal.SIGKILL
