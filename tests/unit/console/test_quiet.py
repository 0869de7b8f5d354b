"""Libraries are hushed for those who did not ask to hear them."""

import os
import subprocess
import sys
import warnings

from yt8m.components.console.quiet import silence_tensorflow


def test_tensorflow_and_warnings_are_quiet_unless_the_user_chose_otherwise(monkeypatch):
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "")  # so that it is put back, set or not
    monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL")
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        silence_tensorflow()
        warnings.warn("old Python", FutureWarning, stacklevel=1)
        warnings.warn("mind this", UserWarning, stacklevel=1)
    assert [str(warning.message) for warning in heard] == ["mind this"]
    assert os.environ["TF_CPP_MIN_LOG_LEVEL"] == "3"
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "0")
    with warnings.catch_warnings():
        silence_tensorflow()
    assert os.environ["TF_CPP_MIN_LOG_LEVEL"] == "0"


def test_processes_of_a_cluster_let_tensorflow_tell_its_errors(monkeypatch):
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "")
    monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL")
    with warnings.catch_warnings():
        silence_tensorflow(but_errors=True)
    assert os.environ["TF_CPP_MIN_LOG_LEVEL"] == "2"


XLA_SPEAKS = """
import os
from yt8m.components.console.quiet import quiet_tensorflow

with quiet_tensorflow():
    os.write(2, b"I0000 00:00:1795341560.781264   14210 service.cc:145] XLA service is there\\n")
    os.write(2, b"malloc(): what a library says\\n")
"""


def test_what_xla_says_of_itself_does_not_reach_a_log_either():
    done = subprocess.run([sys.executable, "-c", XLA_SPEAKS], stderr=subprocess.PIPE, check=True)
    assert done.stderr == b"malloc(): what a library says\n"
