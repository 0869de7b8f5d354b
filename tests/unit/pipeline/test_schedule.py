"""The cron schedule, by a clock that the test holds, and by the real one."""

import datetime
import threading

import apscheduler.executors.base
import apscheduler.schedulers.base
import pytest

from yt8m.pipeline.config import RetrainConfig
from yt8m.pipeline.retrain import backoff, cron_trigger, run_on_schedule, with_retries
from yt8m.schemas.errors import UserError

UTC = datetime.timezone.utc


class StopError(Exception):
    """Ends a schedule under test."""


@pytest.fixture
def clock(monkeypatch):
    """A clock that moves only when the scheduler waits, or the test says so."""
    clock = FakeClock(datetime.datetime(2026, 3, 1, 1, 30, tzinfo=UTC))
    real = datetime.datetime

    class FakeDatetime(real):
        @classmethod
        def now(cls, tz=None):
            return clock.now.astimezone(tz)

    monkeypatch.setattr(apscheduler.schedulers.base, "datetime", FakeDatetime)
    monkeypatch.setattr(apscheduler.executors.base, "datetime", FakeDatetime)
    monkeypatch.setattr("apscheduler.schedulers.blocking.Event", clock.event)
    return clock


class FakeClock:
    def __init__(self, now):
        self.now = now

    def advance(self, **delta):
        self.now += datetime.timedelta(**delta)

    def event(self):
        return FakeEvent(self)


class FakeEvent(threading.Event):
    """Waiting takes no time and moves the clock."""

    def __init__(self, clock):
        super().__init__()
        self._clock = clock

    def wait(self, timeout=None):
        if not self.is_set():
            assert timeout is not None, "nothing is scheduled any more"
            self._clock.advance(seconds=timeout)
        return self.is_set()


def _run(clock, expression, *, takes, times, timezone="UTC"):
    started = []

    def job():
        started.append(clock.now.strftime("%d %H:%M"))
        if len(started) == times:
            raise StopError
        clock.advance(**takes)

    with pytest.raises(StopError):
        run_on_schedule(job, trigger=cron_trigger(expression, timezone))
    return started


def test_it_runs_at_every_time_of_the_expression(clock):
    started = _run(clock, "0 3 * * *", takes={"minutes": 5}, times=3)
    assert started == ["01 03:00", "02 03:00", "03 03:00"]


def test_times_missed_during_a_long_run_are_made_up_for_once(clock):
    started = _run(clock, "0 * * * *", takes={"hours": 3, "minutes": 20}, times=3)
    # From 2:00 to 5:20 the times 3, 4 and 5 pass: one run follows, at once.
    assert started == ["01 02:00", "01 05:20", "01 08:40"]


def test_a_short_run_is_not_repeated_within_its_own_minute(clock):
    started = _run(clock, "*/30 * * * *", takes={"seconds": 1}, times=3)
    assert started == ["01 01:30", "01 02:00", "01 02:30"]


def test_local_time_keeps_its_hour_when_the_clocks_change(clock):
    clock.now = datetime.datetime(2026, 3, 28, 0, 0, tzinfo=UTC)  # Berlin: +1, then +2 hours
    started = _run(clock, "0 3 * * *", takes={"minutes": 5}, times=3, timezone="Europe/Berlin")
    assert started == ["28 02:00", "29 01:00", "30 01:00"]


def test_real_seconds_pass_too():
    from apscheduler.triggers.cron import CronTrigger

    started = []

    def job():
        started.append(datetime.datetime.now())
        if len(started) == 3:
            raise StopError

    with pytest.raises(StopError):
        run_on_schedule(job, trigger=CronTrigger(second="*"))
    assert len({time.replace(microsecond=0) for time in started}) == 3


def test_an_interrupt_ends_the_schedule():
    from apscheduler.triggers.cron import CronTrigger

    def job():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_on_schedule(job, trigger=CronTrigger(second="*"))


@pytest.mark.parametrize("expression", ["", "3 * *", "61 * * * *", "a b c d e"])
def test_a_bad_expression_is_refused_with_an_example(expression):
    with pytest.raises(UserError, match=r'e\.g\. "0 3 \* \* \*"'):
        cron_trigger(expression, "UTC")


def test_an_unknown_time_zone_is_named():
    with pytest.raises(UserError, match="Europe/Nowhere"):
        cron_trigger("0 3 * * *", "Europe/Nowhere")


@pytest.mark.parametrize(
    ("answers", "waits", "succeeds"),
    [
        ([True], [], True),
        ([False, True], [10], True),
        ([False, False, True], [10, 20], True),
        ([False, False, False, False], [10, 20, 25], False),
    ],
)
def test_retries_wait_longer_each_time_and_end(answers, waits, succeeds):
    slept = []
    remaining = iter(answers)
    config = RetrainConfig(retries=3, backoff_s=10, backoff_max_s=25)
    assert with_retries(lambda: next(remaining), config, sleep=slept.append) is succeeds
    assert slept == waits
    assert next(remaining, None) is None


def test_backoff_never_passes_its_limit():
    config = RetrainConfig(backoff_s=1, backoff_max_s=100)
    assert [backoff(config, retry) for retry in (0, 1, 6, 7, 60)] == [1, 2, 64, 100, 100]
