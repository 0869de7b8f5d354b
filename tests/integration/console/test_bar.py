"""A bar on a terminal, and what libraries write below Python while it is there."""

import os
import pty
import re
import subprocess
import sys

import pytest

SCRIPT = """
import logging, os, sys, time
from yt8m.components.console.progress import Progress

def absl(severity, text):
    os.write(2, f"{severity}0000 00:00:1795341560.781264   14210 file.cc:145] {text}\\n".encode())

logging.basicConfig(level=logging.INFO, format="%(message)s")
with Progress("train", total=3, unit="steps") as bar:
    for step in range(3):
        os.write(2, b"WARNING: All log messages before absl::InitializeLog() is called are\\n")
        absl("I", "XLA service is there")
        absl("E", "an error of absl's")
        os.write(2, b"malloc(): what a library says\\n")
        logging.info("step %d is logged", step)
        bar.advance(1, note="loss 3.25")
        time.sleep(0.1)
    if sys.argv[1:] == ["crash"]:
        absl("F", "Check failed: its last words")
        os.abort()
print("after", file=sys.stderr, flush=True)
absl("I", "after the bar")
"""


def on_a_terminal(*words, **changes):
    """Exit code, and what the terminal was sent."""
    master, terminal = pty.openpty()
    process = subprocess.Popen(
        words, stdin=terminal, stdout=terminal, stderr=terminal, close_fds=True,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120", **changes},
    )  # fmt: skip
    os.close(terminal)
    said = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # the last one has closed it
            break
        if not part:
            break
        said += part
    os.close(master)
    return process.wait(), said.decode()


@pytest.mark.parametrize(
    ("level", "silent"), [("3", "IE"), ("2", "I"), ("0", "")], ids="level {}".format
)
def test_absl_obeys_the_level_and_everything_else_is_written_above_the_bar(level, silent):
    code, said = on_a_terminal(sys.executable, "-c", SCRIPT, TF_CPP_MIN_LOG_LEVEL=level)
    assert code == 0
    assert said.count("XLA service is there") == (0 if "I" in silent else 3)
    assert said.count("InitializeLog") == (0 if "I" in silent else 3)
    assert said.count("an error of absl's") == (0 if "E" in silent else 3)
    # Each on a line of its own: the bar's is cleared before it.
    assert len(re.findall(r"\r\x1b\[2Kmalloc\(\): what a library says\r\n", said)) == 3
    assert len(re.findall(r"\r\x1b\[2Kstep \d is logged\r\n", said)) == 3
    assert "loss 3.25" in said
    # Below the bar everything is as it was.
    assert said.endswith(
        "after\r\nI0000 00:00:1795341560.781264   14210 file.cc:145] after the bar\r\n"
    )


def test_a_bar_of_work_that_was_done_before_does_not_stay():
    script = """
from yt8m.components.console.progress import Progress
with Progress("train", total=4, unit="steps", done=4):
    pass
"""
    code, said = on_a_terminal(sys.executable, "-c", script)
    assert code == 0
    assert said.endswith("\x1b[2K")  # the line is cleared


def test_the_last_words_of_a_process_that_crashes_are_not_lost():
    code, said = on_a_terminal(sys.executable, "-c", SCRIPT, "crash", TF_CPP_MIN_LOG_LEVEL="3")
    assert code < 0
    assert "Check failed: its last words" in said


@pytest.mark.slow
def test_a_training_with_xla_shows_its_bar_and_nothing_of_tensorflow_or_xla(tmp_path):
    yt8m = os.path.join(os.path.dirname(sys.executable), "yt8m")  # noqa: PTH118, PTH120
    data = tmp_path / "data"
    words = ["data", "generate", "--quiet", "--level", "video", "--out", str(data)]
    sizes = ["--train", "64", "--eval", "16", "--classes", "5", "--shards", "1"]
    assert on_a_terminal(yt8m, *words, *sizes)[0] == 0
    settings = {"max_steps": 4, "batch_size": 16, "xla": "on"}
    chosen = [word for k, v in settings.items() for word in ("--set", f"trainer.{k}={v}")]
    chosen += ["--set", "features.num_classes=5"]
    command = ["train", "smoke", "--data", str(data), "--out", str(tmp_path / "out")]
    code, said = on_a_terminal(yt8m, *command, *chosen)
    assert code == 0, said
    assert "train" in said
    assert not re.search(r"XLA service|device_compiler|oneDNN|InitializeLog|[IWE]0000 ", said), said
