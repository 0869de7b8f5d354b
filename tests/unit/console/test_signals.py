"""Who gets a signal, and that nothing of it stays behind."""

import os
import signal

import pytest

from yt8m.components.console.signals import SignalRecord, handling_signals, signal_received

ALL = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(params=[False, True], ids=["in a terminal", "under nohup"])
def under_nohup(request):
    # What a handler does not get must not end the tests.
    before = {number: signal.signal(number, lambda *_: None) for number in ALL}
    if request.param:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    yield request.param
    for number, handler in before.items():
        signal.signal(number, handler)


def test_every_signal_reaches_the_handler_but_what_nohup_keeps_away(under_nohup):
    before = [signal.getsignal(number) for number in ALL]
    got = []
    with handling_signals(lambda number, _: got.append(number)):
        for number in ALL:
            os.kill(os.getpid(), number)
    assert got == [n for n in ALL if n != signal.SIGHUP or not under_nohup]
    assert [signal.getsignal(number) for number in ALL] == before


def test_the_first_signal_is_recorded_and_the_files_of_a_record_are_closed():
    record = SignalRecord()
    with handling_signals(lambda number, _: None), record.recording():
        assert signal_received() is None
        for number in (signal.SIGTERM, signal.SIGINT):
            os.kill(os.getpid(), number)
        assert signal_received() == signal.SIGTERM
    assert record.number == signal.SIGTERM
    assert signal_received() is None
    assert {end.fileno() for end in (record._read, record._write)} == {-1}
