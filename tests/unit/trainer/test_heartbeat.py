"""A training that nobody follows any more ends itself; one that is followed does not."""

import time

import pytest

from yt8m.components.trainer.cluster.heartbeat import (
    Abandoned,
    Pulse,
    Watch,
    sending_heartbeats,
)
from yt8m.components.trainer.cluster.stop_signal import StopSignal


class Now:
    time = 0.0

    def __call__(self):
        return self.time


@pytest.fixture
def now():
    return Now()


@pytest.fixture
def sign(tmp_path):
    path = tmp_path / "heartbeat"
    path.write_text("1")
    return path


def test_a_sign_that_changes_keeps_a_training_going_and_one_that_stays_ends_it(sign, now):
    watch = Watch(str(sign), patience_s=100, now=now)
    for number in range(30):
        now.time += 50
        sign.write_text(str(number))
        assert not watch.is_abandoned()
    now.time += 99
    assert not watch.is_abandoned()
    now.time += 2
    assert watch.is_abandoned()


def test_a_sign_that_is_gone_counts_as_one_that_stays(sign, now):
    watch = Watch(str(sign), patience_s=100, now=now)
    sign.unlink()
    now.time += 99
    assert not watch.is_abandoned()
    now.time += 2
    assert watch.is_abandoned()


@pytest.mark.parametrize(("path", "patience"), [("", 100), ("sign", 0)])
def test_without_a_sign_or_a_limit_nothing_is_watched(path, patience, now):
    watch = Watch(path, patience_s=patience, now=now)
    now.time = 1e9
    assert not watch.is_abandoned()
    watch.check()


def test_a_restarted_process_ends_at_once_and_one_with_a_new_trainer_goes_on(sign, now):
    watch = Watch(str(sign), patience_s=100, now=now)
    watch.check()
    now.time = 200
    stop = StopSignal(watch)
    assert stop.requested
    with pytest.raises(Abandoned, match=r"for 100 s .*saved at step 3"):
        stop.obey("saved at step 3")
    with pytest.raises(Abandoned, match="an earlier attempt"):
        Watch(str(sign), patience_s=100).check()
    sign.write_text("of the next try")
    Watch(str(sign), patience_s=100).check()


def test_signs_are_given_while_the_block_runs_and_not_after(tmp_path):
    path = tmp_path / "sign"
    seen = set()
    with sending_heartbeats(str(path), every_s=0.01):
        deadline = time.monotonic() + 30
        while len(seen) < 3 and time.monotonic() < deadline:
            seen |= {path.read_text()} if path.exists() else set()
    assert len(seen) == 3
    last = path.read_text()
    time.sleep(0.05)
    assert path.read_text() == last


def test_a_trainer_that_changes_its_sign_is_there_and_one_that_does_not_is_gone(sign, now):
    pulse = Pulse(str(sign), within_s=100, now=now)
    now.time += 99
    assert pulse.beats() is None  # it may be a slow one
    sign.write_text("2")
    assert pulse.beats() is True
    now.time += 99
    assert pulse.beats() is True
    now.time += 1
    assert pulse.beats() is False
    sign.write_text("3")
    assert pulse.beats() is True


def test_a_sign_that_never_changes_is_found_out_after_as_long_as_it_may_take(sign, now):
    pulse = Pulse(str(sign), within_s=100, now=now)
    sign.unlink()
    now.time += 99
    assert pulse.beats() is None
    now.time += 1
    assert pulse.beats() is False


def test_where_no_sign_is_given_nobody_is_there(now):
    assert Pulse("", within_s=100, now=now).beats() is False
