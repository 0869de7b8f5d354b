"""The schedule of retrainings, by a clock that the test holds, with real processes as runs."""

import datetime
import itertools
import json
import re
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from dropped_signal import drop_signal
from registry_models import push_fake

from yt8m.components.artifacts.run_record import NodeRecord, RunRecord, Verdict
from yt8m.components.console.console import Console
from yt8m.components.example_gen.sources import source_digest
from yt8m.pipeline.config import RetrainConfig
from yt8m.pipeline.presets import load_config
from yt8m.pipeline.retraining import retrain
from yt8m.pipeline.retraining.retrain import RetrainScheduler, backoff, run_with_retries
from yt8m.pipeline.run.prometheus import ServedModel
from yt8m.pipeline.run.retrain_status import (
    RetrainStatus,
    is_scheduled,
    read_status,
    write_status,
)
from yt8m.pipeline.run.signals import Interrupted
from yt8m.pipeline.run_record import begin_record, write_record
from yt8m.pipeline.workspace import Layout, RootBusyError, run_lock
from yt8m.schemas.cron import parse_cron
from yt8m.schemas.errors import Terminated

UTC = datetime.UTC


class StopError(Exception):
    """Ends a schedule under test."""


class Clock:
    """Moves only when the scheduler waits, or the test says so."""

    def __init__(self, now="2026-03-01T01:30+00:00"):
        self.time = datetime.datetime.fromisoformat(now)

    def now(self):
        return self.time

    def advance(self, **delta):
        self.time += datetime.timedelta(**delta)

    def sleep(self, seconds):
        self.advance(seconds=seconds)


@pytest.fixture
def scheduler_on(tmp_path, monkeypatch):
    """A scheduler on a root; runs are this Python with `code`, instead of `yt8m retrain`."""

    monkeypatch.setattr(retrain, "_HEARTBEAT_S", 6 * 3600.0)

    (tmp_path / "data").mkdir()
    for name in ("train0.tfrecord", "validate0.tfrecord"):
        (tmp_path / "data" / name).touch()

    def create(expression, clock, *settings, zone="UTC"):
        places = [f"root={tmp_path}", f"data.root={tmp_path / 'data'}"]
        config = load_config("smoke", [*places, *settings])
        cron = parse_cron(expression, zone=zone, cluster_zone=zone)
        return RetrainScheduler([], config, cron, Console(), now=clock.now, sleep=clock.sleep)

    return create


def starts(scheduler, clock, *, takes, times):
    """When the first runs are started, each of which takes some time."""
    started = []

    def run_once():
        started.append(clock.time.strftime("%d %H:%M"))
        if len(started) == times:
            raise StopError
        clock.advance(**takes)

    scheduler.run_once = run_once
    with pytest.raises(StopError):
        scheduler.run_forever()
    return started


def test_it_runs_at_every_time_of_the_expression(scheduler_on):
    clock = Clock()
    started = starts(scheduler_on("0 3 * * *", clock), clock, takes={"minutes": 5}, times=3)
    assert started == ["01 03:00", "02 03:00", "03 03:00"]


def test_monday_is_monday(scheduler_on):
    clock = Clock()  # a Sunday
    started = starts(scheduler_on("0 3 * * 1", clock), clock, takes={"minutes": 5}, times=2)
    assert started == ["02 03:00", "09 03:00"]


def test_the_next_three_times_are_printed_when_it_starts(scheduler_on, capsys):
    starts(scheduler_on("0 3 * * 1", Clock()), Clock(), takes={}, times=1)
    said = " ".join(capsys.readouterr().err.split())
    times = ("Mon 2026-03-02 03:00:00", "Mon 2026-03-09 03:00:00", "Mon 2026-03-16 03:00:00")
    assert f"0 3 * * 1 (UTC): next {', '.join(times)}" in said


def test_times_missed_during_a_long_run_make_one_run(scheduler_on):
    clock = Clock()
    takes = {"hours": 3, "minutes": 20}
    started = starts(scheduler_on("0 * * * *", clock), clock, takes=takes, times=3)
    # From 2:00 to 5:20 the times 3, 4 and 5 pass: one run follows, at once.
    assert started == ["01 02:00", "01 05:20", "01 08:40"]


def test_a_short_run_is_not_repeated_within_its_own_minute(scheduler_on):
    clock = Clock()
    started = starts(scheduler_on("*/30 * * * *", clock), clock, takes={"seconds": 1}, times=3)
    assert started == ["01 02:00", "01 02:30", "01 03:00"]


def test_local_time_keeps_its_hour_when_the_clocks_change(scheduler_on):
    clock = Clock("2026-03-28T00:00+00:00")  # Berlin: +1, then +2 hours
    scheduler = scheduler_on("0 3 * * *", clock, zone="Europe/Berlin")
    started = starts(scheduler, clock, takes={"minutes": 5}, times=3)
    assert started == ["28 02:00", "29 01:00", "30 01:00"]


def test_a_clock_set_back_does_not_repeat_a_run(scheduler_on):
    clock = Clock()
    scheduler = scheduler_on("0 3 * * *", clock)
    started = starts(scheduler, clock, takes={"hours": -2}, times=2)
    assert started == ["01 03:00", "02 03:00"]


def test_a_clock_that_was_a_year_ahead_delays_no_run_by_a_year(scheduler_on):
    clock = Clock()
    scheduler = scheduler_on("0 3 * * *", clock)
    jumps = iter([{"days": 365}])
    scheduler._sleep = lambda s: clock.advance(**next(jumps, {"seconds": s}))
    started = starts(scheduler, clock, takes={"days": -365}, times=2)
    assert started == ["01 01:30", "01 03:00"]


def test_a_machine_that_slept_past_the_time_runs_once_when_it_wakes(scheduler_on):
    clock = Clock()
    scheduler = scheduler_on("0 3 * * *", clock)
    naps = iter([{"days": 3}])
    scheduler._sleep = lambda s: clock.advance(**next(naps, {"seconds": s}))
    started = starts(scheduler, clock, takes={"minutes": 5}, times=2)
    assert started == ["04 01:30", "04 03:00"]


_NEXT_CODE = """
import pathlib, sys
file = pathlib.Path({!r})
code, _, rest = file.read_text().partition(" ")
file.write_text(rest)
sys.exit(int(code))
"""


@pytest.fixture
def ends_with(monkeypatch, tmp_path):
    """The processes that are started end with these codes, in place of a retraining."""

    def set_codes(*codes):
        file = tmp_path / "codes"
        file.write_text(" ".join(map(str, codes)))
        program = (sys.executable, "-c", _NEXT_CODE.format(str(file)))
        monkeypatch.setattr(retrain, "_PROGRAM", program)

    return set_codes


@pytest.mark.parametrize(
    ("codes", "attempts", "failures"),
    [((0,), 1, 0), ((3,), 1, 0), ((4,), 1, 0), ((1, 0), 2, 0), ((1, 1, 1), 3, 1), ((2,), 1, 1)],
)
def test_failures_are_retried_and_what_was_given_wrong_is_not(
    scheduler_on, ends_with, tmp_path, codes, attempts, failures
):
    clock = Clock()
    ends_with(*codes)
    scheduler = scheduler_on("0 3 * * *", clock, "retrain.retries=2", "retrain.backoff_s=10")
    scheduler.run_once()
    status = read_status(Layout(tmp_path))
    assert (status.last_exit_code, status.failures) == (codes[-1], failures)
    assert status.last_end - status.last_run == [0, 10, 30][attempts - 1]


def test_failures_in_a_row_are_counted_until_one_is_none(scheduler_on, ends_with, tmp_path):
    ends_with(2, 2, 4)
    scheduler = scheduler_on("0 3 * * *", Clock())
    counted = []
    for _ in range(3):
        scheduler.run_once()
        counted.append(read_status(Layout(tmp_path)).failures)
    assert counted == [1, 2, 0]


def test_the_status_says_when_the_last_run_was_and_when_the_next_is(
    scheduler_on, ends_with, tmp_path
):
    ends_with(4)
    clock, layout = Clock(), Layout(tmp_path)
    scheduler = scheduler_on("0 3 * * *", clock)
    seen = []

    def sleep(seconds):
        clock.advance(seconds=seconds)
        if clock.time.day == 1 and clock.time.hour > 3:
            seen.append((is_scheduled(layout), read_status(layout)))
            seen.append(Path(layout.schedule_metrics).read_text())
            raise StopError

    scheduler._sleep = sleep
    with pytest.raises(StopError):
        scheduler.run_forever()
    (alive, status), metrics = seen
    assert alive
    assert not is_scheduled(layout)
    last, due = (datetime.datetime(2026, 3, day, 3, tzinfo=UTC).timestamp() for day in (1, 2))
    assert (status.last_run, status.next_run, status.last_exit_code) == (last, due, 4)
    lines = metrics.splitlines()
    labels = f'pipeline="smoke",root="{tmp_path}"'
    assert f"yt8m_retrain_last_run_timestamp_seconds{{{labels}}} {last:.0f}" in lines
    assert f"yt8m_retrain_next_run_timestamp_seconds{{{labels}}} {due:.0f}" in lines
    assert f'yt8m_retrain_runs_total{{{labels},outcome="nothing_new"}} 1' in lines
    assert f"yt8m_retrain_period_seconds{{{labels}}} 86400" in lines
    assert "# TYPE yt8m_retrain_last_exit_code gauge" in lines
    assert (
        "next_run" not in Path(layout.schedule_metrics).read_text()
    )  # it has ended: there is none


def test_a_schedule_says_that_it_is_alive_while_it_waits_and_while_a_run_goes_on(
    scheduler_on, monkeypatch, tmp_path
):
    monkeypatch.setattr(retrain, "_HEARTBEAT_S", 0.05)
    monkeypatch.setattr(retrain, "_CLOCK_CHECK_S", 0.1)
    monkeypatch.setattr(retrain, "_PROGRAM", (sys.executable, "-c", "import time; time.sleep(0.4)"))
    scheduler = scheduler_on("0 3 * * *", Clock())
    scheduler._now = lambda: datetime.datetime.now(UTC)
    written = []
    monkeypatch.setattr(retrain, "write_metrics", lambda *a, status, **k: written.append(status))

    scheduler.run_once()

    during = [status for status in written if status.last_end is None]
    assert len({status.alive for status in during}) > 2
    assert written[-1].outcomes == {"pushed": 1}


def test_a_version_that_comes_between_two_runs_is_seen_while_the_schedule_waits(
    scheduler_on, monkeypatch, tmp_path
):
    clock = Clock()
    scheduler = scheduler_on("0 3 * * *", clock)
    file = Path(Layout(tmp_path).schedule_metrics)
    looks = iter([ServedModel(version=1), ServedModel(version=2), None])
    seen = []
    monkeypatch.setattr(retrain, "find_served", lambda _: next(looks))
    for _ in range(3):  # the last time the registry cannot be read
        scheduler._beat()
        seen += re.findall(r"^yt8m_served_version\{.*\} (.*)$", file.read_text(), re.MULTILINE)
        clock.advance(hours=7)
    assert seen == ["1", "2", "2"]


def test_counts_outlive_the_schedule(scheduler_on, ends_with, tmp_path):
    ends_with(0, 3, 1, 3)
    for _ in range(2):
        scheduler = scheduler_on("0 3 * * *", Clock(), "retrain.retries=0")
        scheduler.run_once()
        scheduler.run_once()
    status = read_status(Layout(tmp_path))
    assert status.outcomes == {"pushed": 1, "rejected": 2, "failed": 1}
    assert (status.rejected, status.failures) == (2, 0)


@pytest.mark.parametrize(
    ("verdict", "version", "outcomes", "failures"),
    [
        (Verdict.RUNNING, 0, {"failed": 1}, 1),  # its process is gone
        (Verdict.PUSHED, 3, {"pushed": 1}, 0),  # its process outlived the schedule
        (None, 0, {"failed": 1}, 1),
    ],
)
def test_a_retraining_whose_schedule_was_killed_counts_when_the_schedule_starts_again(
    scheduler_on, monkeypatch, tmp_path, verdict, version, outcomes, failures
):
    told = []
    monkeypatch.setattr(retrain, "notify", lambda _, outcome: told.append(outcome["verdict"]))
    layout, clock = Layout(tmp_path), Clock()
    now = clock.time.timestamp()
    write_status(layout, RetrainStatus(cron="0 3 * * *", last_run=now - 60))
    old = RunRecord(run_id="1", started=now - 90, verdict=Verdict.REJECTED, retraining=True)
    begin_record(layout, old)
    if verdict is not None:
        run = RunRecord(
            run_id="2",
            started=now - 50,
            seconds=20.0,
            verdict=verdict,
            version=version,
            retraining=True,
        )
        begin_record(layout, run)
    scheduler = scheduler_on("0 3 * * *", clock)
    scheduler._sleep = lambda _: (_ for _ in ()).throw(StopError)
    with pytest.raises(StopError):
        scheduler.run_forever()
    status = read_status(layout)
    assert (status.outcomes, status.failures) == (outcomes, failures)
    assert not status.is_without_end
    assert status.last_push == (now - 30 if version else None)
    assert told == ([] if verdict is None else ["pushed" if version else "killed"])


def test_a_retraining_that_goes_on_without_its_killed_schedule_is_not_counted_yet(
    scheduler_on, tmp_path
):
    layout, clock = Layout(tmp_path), Clock()
    write_status(layout, RetrainStatus(cron="0 3 * * *", last_run=clock.time.timestamp() - 60))
    scheduler = scheduler_on("0 3 * * *", clock)
    scheduler._sleep = lambda _: (_ for _ in ()).throw(StopError)
    with run_lock(layout.lock), pytest.raises(StopError):
        scheduler.run_forever()
    assert read_status(layout).is_without_end


@pytest.mark.parametrize("error", [KeyboardInterrupt(), Terminated("SIGTERM")])
def test_a_retraining_that_a_signal_to_the_schedule_ends_counts_as_stopped(
    scheduler_on, monkeypatch, tmp_path, error
):
    def attempt(_):
        raise error

    monkeypatch.setattr(RetrainScheduler, "_attempt", attempt)
    scheduler = scheduler_on("0 3 * * *", Clock())
    with pytest.raises((Interrupted, Terminated)):
        scheduler.run_forever()
    status = read_status(Layout(tmp_path))
    assert (status.outcomes, status.last_exit_code) == ({"stopped": 1}, 143)
    assert not status.is_without_end


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("where", ["between runs", "in a run", "before a retry", "before a run"])
def test_a_signal_ends_a_schedule_also_where_python_drops_what_its_handler_raises(
    scheduler_on, monkeypatch, tmp_path, number, where
):
    runs_for_s = 60 if where == "in a run" else 0
    code = (
        f"open({str(tmp_path / 'runs')!r}, 'a').write('.'); import time; time.sleep({runs_for_s})"
    )
    monkeypatch.setattr(retrain, "_PROGRAM", [sys.executable, "-c", f"{code}; raise SystemExit(1)"])
    monkeypatch.setattr(retrain, "_CLOCK_CHECK_S", 1.0)
    clock, sent = Clock(), []

    def send():
        if not sent:
            sent.append(number)
            drop_signal(number)

    scheduler = scheduler_on("0 3 * * *", clock)
    name = {
        "between runs": "_sleep",
        "before a run": "_alarm",
        "in a run": "_wait_for",
        "before a retry": "_pause",
    }[where]
    part = getattr(scheduler, name)
    monkeypatch.setattr(scheduler, name, lambda *a: (send(), part(*a))[1])
    with pytest.raises(Interrupted if number == signal.SIGINT else Terminated):
        scheduler.run_forever()
    began = (tmp_path / "runs").read_text() if (tmp_path / "runs").exists() else ""
    assert len(began) == (1 if where in ("in a run", "before a retry") else 0)


def test_one_root_has_one_schedule(scheduler_on, tmp_path):
    with (
        run_lock(Layout(tmp_path).schedule_lock),
        pytest.raises(RootBusyError, match="is in use"),
    ):
        scheduler_on("0 3 * * *", Clock()).run_forever()


def test_an_alarm_is_raised_where_nothing_new_came_for_too_long(scheduler_on, ends_with, tmp_path):
    heard = tmp_path / "heard"
    code = f"import sys; open({str(heard)!r}, 'w').write(sys.stdin.read())"
    hook = f"notify.command={json.dumps([sys.executable, '-c', code])}"
    clock = Clock()
    ends_with(4, 4)
    scheduler = scheduler_on("0 3 * * *", clock, hook, "retrain.alarm_days=7")
    digest = source_digest(scheduler._config.data)
    record = RunRecord(run_id="1", started=clock.time.timestamp(), source_digest=digest)
    begin_record(Layout(tmp_path), record)
    clock.advance(days=6)
    scheduler.run_once()
    assert not heard.exists()
    clock.advance(days=2)
    scheduler.run_once()
    outcome = json.loads(heard.read_text())
    assert outcome["verdict"] == "alarm"
    assert "no new data for 8.0 days" in outcome["reason"]


def test_data_that_come_right_after_a_runs_look_raise_no_alarm(
    scheduler_on, ends_with, tmp_path, monkeypatch
):
    told, clock, layout = _told(monkeypatch), Clock("2100-03-01T01:30+00:00"), Layout(tmp_path)
    ends_with(4)
    models = tmp_path / "models"
    scheduler = scheduler_on(
        "0 3 * * *", clock, "retrain.alarm_days=7", f"pusher.push_dir={models}"
    )
    push_fake(tmp_path, models)  # years before the clock, and nothing was pushed since
    now = clock.time.timestamp()
    digest = source_digest(scheduler._config.data)
    begin_record(layout, RunRecord(run_id="1", started=now, source_digest=digest))
    attempt = scheduler._attempt

    def and_data_come():
        code = attempt()
        (tmp_path / "data" / "train1.tfrecord").touch()
        return code

    scheduler._attempt = and_data_come
    scheduler.run_once()
    assert told == []


def test_data_that_another_run_takes_meanwhile_raise_no_alarm(
    scheduler_on, ends_with, tmp_path, monkeypatch
):
    told, clock, layout = _told(monkeypatch), Clock("2100-03-01T01:30+00:00"), Layout(tmp_path)
    ends_with(4)
    models = tmp_path / "models"
    scheduler = scheduler_on(
        "0 3 * * *", clock, "retrain.alarm_days=7", f"pusher.push_dir={models}"
    )
    push_fake(tmp_path, models)
    now = clock.time.timestamp()
    digest = source_digest(scheduler._config.data)
    attempt = scheduler._attempt

    def after_another():
        begin_record(layout, RunRecord(run_id="1", started=now, source_digest=digest))
        return attempt()

    scheduler._attempt = after_another
    scheduler.run_once()
    assert told == []


@pytest.mark.parametrize(
    ("number", "kind"), [(signal.SIGTERM, Terminated), (signal.SIGINT, Interrupted)]
)
def test_a_signal_ends_the_schedule_as_what_it_is(scheduler_on, number, kind):
    scheduler = scheduler_on("0 3 1 1 *", Clock())
    scheduler._now = lambda: datetime.datetime.now(UTC)
    scheduler._sleep = time.sleep
    timer = threading.Timer(0.5, signal.pthread_kill, [threading.main_thread().ident, number])
    timer.start()
    begun = time.monotonic()
    with pytest.raises(kind):
        scheduler.run_forever()
    assert time.monotonic() - begun < 10


def test_real_seconds_pass_too(scheduler_on):
    scheduler = scheduler_on("* * * * * *", Clock())
    scheduler._now = lambda: datetime.datetime.now(UTC)
    scheduler._sleep = time.sleep
    started = []

    def run_once():
        started.append(time.time())
        if len(started) == 2:
            raise StopError

    scheduler.run_once = run_once
    with pytest.raises(StopError):
        scheduler.run_forever()
    assert len({int(at) for at in started}) == 2


@pytest.mark.parametrize(
    ("codes", "waits", "last"),
    [([0], [], 0), ([1, 0], [10], 0), ([1, 1, 0], [10, 20], 0), ([1] * 4, [10, 20, 25], 1)],
)
def test_retries_wait_longer_each_time_and_end(codes, waits, last):
    slept = []
    remaining = iter(codes)
    config = RetrainConfig(retries=3, backoff_s=10, backoff_max_s=25)
    assert run_with_retries(lambda: next(remaining), config, sleep=slept.append) == last
    assert slept == waits
    assert next(remaining, None) is None


def test_backoff_never_passes_its_limit():
    config = RetrainConfig(backoff_s=1, backoff_max_s=100)
    assert [backoff(config, retry) for retry in (0, 1, 6, 7, 60)] == [1, 2, 64, 100, 100]


def test_a_run_that_was_killed_is_told_as_that(scheduler_on, ends_with, tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr(retrain, "notify", lambda config, outcome: told.append(outcome))
    begun = RunRecord(run_id="1", started=1.0, retraining=True)
    monkeypatch.setattr(
        RetrainScheduler, "_attempt", lambda self: begin_record(self._layout, begun) or -9
    )
    scheduler_on("0 3 * * *", Clock(), "retrain.retries=0").run_once()
    assert [outcome["verdict"] for outcome in told] == ["killed"]
    assert "kill -9" in told[0]["reason"]


@pytest.mark.parametrize(
    ("expression", "hours"),
    [
        ("0 3 * * *", 24),
        ("0 3 * * mon-fri", 72),
        ("0 6,12,18,22 * * mon-fri", 56),
        ("*/10 8-17 * * mon-fri", 62 + 1 / 6),
        ("* * * * *", 1 / 60),
        ("0 3 1 * *", 31 * 24),
    ],
)
def test_the_period_is_the_longest_that_a_schedule_rests(scheduler_on, expression, hours):
    scheduler = scheduler_on(expression, Clock())
    assert scheduler._status.period == pytest.approx(hours * 3600)


def test_a_clock_that_was_some_hours_ahead_skips_no_night(scheduler_on):
    clock = Clock("2026-03-01T06:30+00:00")  # it is 1:30
    scheduler = scheduler_on("0 3 * * *", clock)
    jumps = iter([{"hours": -5}])
    scheduler._sleep = lambda s: clock.advance(**next(jumps, {"seconds": s}))
    assert starts(scheduler, clock, takes={}, times=1) == ["01 03:00"]


def _told(monkeypatch):
    told = []
    monkeypatch.setattr(retrain, "notify", lambda config, outcome: told.append(outcome))
    return told


@pytest.mark.parametrize("goes_on", [True, False])
@pytest.mark.parametrize(("code", "reported"), [(4, []), (1, ["failed"])])
def test_an_experiment_on_the_root_is_not_reported_as_the_schedules_run(
    scheduler_on, tmp_path, monkeypatch, goes_on, code, reported
):
    told, layout = _told(monkeypatch), Layout(tmp_path)
    experiment = RunRecord(run_id="2", started=2.0, nodes=(NodeRecord(name="Trainer"),))
    scheduler = scheduler_on("0 3 * * *", Clock(), "retrain.retries=0")

    def attempt():
        verdict = Verdict.RUNNING if goes_on else Verdict.REJECTED
        write_record(layout, replace(experiment, nodes=(), verdict=verdict))
        return code

    monkeypatch.setattr(scheduler, "_attempt", attempt)
    with run_lock(layout.lock):
        begin_record(layout, RunRecord(run_id="1", started=1.0, retraining=True))
        begin_record(layout, experiment)
        scheduler.run_once()
    assert [outcome["verdict"] for outcome in told] == reported


def test_a_root_that_cannot_be_read_for_a_night_ends_no_schedule(
    scheduler_on, ends_with, tmp_path, monkeypatch
):
    told, layout = _told(monkeypatch), Layout(tmp_path)
    pushed = RunRecord(run_id="1", started=1.0, verdict=Verdict.PUSHED, retraining=True)
    begin_record(layout, pushed)
    ends_with(4, 1, 4)
    scheduler = scheduler_on("0 3 * * *", Clock(), "retrain.retries=0", "retrain.alarm_days=900000")
    scheduler.run_once()
    assert told == []

    runs = Path(layout.runs)
    runs.rename(tmp_path / "away")
    runs.touch()  # as a mount that is stale: it is there, and cannot be listed
    scheduler.run_once()
    (outcome,) = told
    assert outcome["verdict"] == "alarm"
    assert "ended with exit code 1" in outcome["reason"]
    assert "Not a directory" in outcome["reason"]

    runs.unlink()
    (tmp_path / "away").rename(runs)
    scheduler.run_once()
    assert len(told) == 1  # the run of before is not reported again
    assert read_status(layout).outcomes == {"failed": 1, "nothing_new": 2}


def test_a_run_of_a_newer_yt8m_ends_no_schedule(scheduler_on, ends_with, tmp_path, monkeypatch):
    told, layout = _told(monkeypatch), Layout(tmp_path)
    ends_with(0, 4)
    scheduler = scheduler_on("0 3 * * *", Clock(), "retrain.alarm_days=1")
    begin_record(layout, RunRecord(run_id="1", started=1.0))
    record = Path(layout.runs) / "1" / "run.json"
    record.write_text(record.read_text().replace('"format": 1', '"format": 99'))
    scheduler.run_once()
    scheduler.run_once()
    assert {outcome["verdict"] for outcome in told} == {"alarm"}
    assert all("in format 99" in outcome["reason"] for outcome in told)
    assert read_status(layout).outcomes == {"pushed": 1, "nothing_new": 1}


def test_a_schedule_says_that_it_is_alive_while_it_waits_for_a_retry(
    scheduler_on, ends_with, monkeypatch
):
    ends_with(1, 0)
    monkeypatch.setattr(retrain, "_HEARTBEAT_S", 120.0)
    settings = ("retrain.backoff_s=3600", "retrain.backoff_max_s=3600")
    scheduler = scheduler_on("0 3 * * *", Clock(), *settings)
    beats = []
    monkeypatch.setattr(
        retrain, "write_metrics", lambda *a, status, **k: beats.append(status.alive)
    )
    scheduler.run_once()
    gaps = [later - earlier for earlier, later in itertools.pairwise(beats)]
    assert max(gaps) <= 150


def test_files_of_the_working_directory_hide_none_of_pythons_modules(
    scheduler_on, tmp_path, monkeypatch
):
    (tmp_path / "argparse.py").write_text("raise SystemExit('mine')")
    monkeypatch.chdir(tmp_path)
    scheduler = scheduler_on("0 3 * * *", Clock())
    scheduler._command = ["config", "show", "smoke", "--quiet"]
    scheduler.run_once()
    assert read_status(Layout(tmp_path)).last_exit_code == 0
