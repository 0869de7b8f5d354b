"""From the moment a signal arrives nothing is begun, and the process ends in time."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from yt8m.components.console.signals import signal_received
from yt8m.components.trainer.cluster.stop_signal import StopSignal
from yt8m.pipeline.run.signals import Interrupted, signals_as_errors
from yt8m.schemas.errors import Terminated

EACH = pytest.mark.parametrize(
    ("number", "kind"),
    [
        (signal.SIGTERM, Terminated),
        (signal.SIGHUP, Terminated),
        (signal.SIGINT, Interrupted),
    ],
)


@EACH
def test_a_signal_raises_and_is_told_apart(number, kind):
    with signals_as_errors() as signals, pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)
    assert isinstance(signals.received, kind)


@EACH
def test_a_signal_that_trainer_takes_for_itself_is_known_all_the_same(number, kind):
    """As during its export, when its loop obeys no more."""
    with signals_as_errors() as signals:
        assert signal_received() is None
        with StopSignal():
            os.kill(os.getpid(), number)
        assert signal_received() == number
        with pytest.raises(kind):
            signals.refuse_after_signal()
    assert signal_received() is None


def test_a_run_under_nohup_outlives_its_terminal():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals_as_errors() as signals, StopSignal() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not stop.requested
            assert signals.received is None
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_the_first_signal_counts():
    with signals_as_errors() as signals, StopSignal():
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
    assert isinstance(signals.received, Terminated)


def test_the_signal_of_a_forked_worker_is_not_that_of_its_parent():
    with signals_as_errors() as signals:
        worker = os.fork()
        if worker == 0:
            with StopSignal():
                os.kill(os.getpid(), signal.SIGTERM)
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]) == 7
        assert signals.received is None


def test_the_watch_ends_with_a_run_that_no_signal_came_to():
    before = threading.active_count()
    with signals_as_errors() as signals:
        signals.end_process_after(0.1, lambda error: None)
    deadline = time.monotonic() + 10
    while threading.active_count() > before:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_what_python_swallows_is_known_all_the_same(monkeypatch):
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)

    class Swallows:
        def __del__(self):  # an exception in here is printed, and dropped
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(1)

    with signals_as_errors() as signals:
        Swallows()
        assert isinstance(signals.received, Terminated)


DEAF = """
import hashlib
from yt8m.components.trainer.cluster.stop_signal import StopSignal
from yt8m.pipeline.run.signals import signals_as_errors
with signals_as_errors() as signals:
    signals.end_process_after(1.0, lambda error: print(f"last words: {error}", flush=True))
    with StopSignal():
        print("busy", flush=True)
        hashlib.pbkdf2_hmac("sha256", b"", b"", 2_000_000_000)  # hears no signal, for half an hour
"""


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 143), (signal.SIGINT, 130)]
)
def test_a_call_that_hears_no_signal_is_ended_with_its_process(number, code):
    with subprocess.Popen([sys.executable, "-c", DEAF], stdout=subprocess.PIPE, text=True) as busy:
        assert busy.stdout.readline() == "busy\n"
        busy.send_signal(number)
        begun = time.monotonic()
        assert busy.wait(timeout=30) == code
        assert 0.9 < time.monotonic() - begun < 10
        assert busy.stdout.read().startswith("last words: ")
