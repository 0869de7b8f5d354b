"""Cron expressions: both schedulers do with them what the user meant."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yt8m.schemas.cron import parse_cron
from yt8m.schemas.errors import UserError

NOW = datetime(2026, 3, 10, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "sent", "first"),
    [
        ("0 3 * * *", "0 0 3 * * *", "2026-03-11 03:00:00"),
        ("30 0 3 * * *", "30 0 3 * * *", "2026-03-11 03:00:30"),
        ("@daily", "0 0 0 * * *", "2026-03-11 00:00:00"),
        ("*/20 * * * *", "0 */20 * * * *", "2026-03-10 12:20:00"),
        ("5/15 * * * *", "0 5/15 * * * *", "2026-03-10 12:05:00"),
        ("0 9 * * mon-fri", "0 0 9 * * mon-fri", "2026-03-11 09:00:00"),
        ("0 9 1 * *", "0 0 9 1 * *", "2026-04-01 09:00:00"),
        ("0 0 29 feb *", "0 0 0 29 feb *", "2028-02-29 00:00:00"),
        ("0 9 1 * fri", "0 0 9 1 * fri", "2026-03-13 09:00:00"),  # either day, as in every cron
    ],
)
def test_five_or_six_fields_become_kubeflows_six(text, sent, first):
    cron = parse_cron(text)
    assert cron.expression == sent
    assert cron.next_times(NOW, 1)[0].strftime("%Y-%m-%d %H:%M:%S") == first


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0 3 * *", "not 4; "),
        ("0 3 * * * * *", "not 7; "),
        ("0 24 * * *", "hour '24' must be 0 to 23"),
        ("0 3 * * 8", "must be 0 to 7 or sun to sat; Sunday is 0 or 7"),
        ("0 3 * foo *", "must be 1 to 12 or jan to dec"),
        ("0 3 * * 6-1", "empty"),
        ("\u0663 3 * * *", "minute '\u0663' must be 0 to 59"),  # a digit, though not one of cron's
        ("", "not 0; "),
        ("0 3 30 2 *", "never matches"),
        ("a 3 * * *", "minute 'a'"),
        ("0 5-3 * * *", "empty"),
        ("*/0 * * * *", "empty"),
        ("@fortnightly", "known names"),
    ],
)
def test_a_wrong_expression_is_refused_and_says_which_field(text, says):
    with pytest.raises(UserError, match=says):
        parse_cron(text)


def test_an_unknown_zone_is_refused():
    with pytest.raises(UserError, match="no time zone"):
        parse_cron("0 3 * * *", zone="Mars/Olympus")


def test_a_zone_without_summer_time_is_moved_to_the_clusters():
    cron = parse_cron("30 9 * * mon-fri", zone="Asia/Kolkata")
    assert cron.expression == "0 0 4 * * mon-fri"


def test_a_weekday_moves_over_midnight_with_its_hour():
    cron = parse_cron("0 8 * * mon", zone="Asia/Tokyo")
    assert cron.expression == "0 0 23 * * 0"


def test_a_zone_with_summer_time_is_refused_unless_the_cluster_counts_in_it():
    with pytest.raises(UserError, match="CRON_SCHEDULE_TIMEZONE=Europe/Berlin"):
        parse_cron("0 3 * * *", zone="Europe/Berlin")
    same = parse_cron("0 3 * * *", zone="Europe/Berlin", cluster_zone="Europe/Berlin")
    assert same.expression == "0 0 3 * * *"


def test_what_cannot_be_said_in_the_clusters_zone_is_refused():
    with pytest.raises(UserError, match="crosses midnight"):
        parse_cron("0 8 1 * *", zone="Asia/Tokyo")


def test_an_hour_that_summer_time_leaves_out_is_not_announced():
    cron = parse_cron("30 2 * * *", zone="Europe/Berlin", cluster_zone="Europe/Berlin")
    before = datetime(2026, 3, 28, 12, 0, tzinfo=ZoneInfo("Europe/Berlin"))
    assert [t.day for t in cron.next_times(before, 2)] == [30, 31]


_hours = st.sets(st.integers(0, 23), min_size=1, max_size=3)


@given(
    _hours,
    st.integers(0, 59),
    st.sampled_from(["*", "mon", "sat,sun"]),
    st.sampled_from(["Asia/Kolkata", "Asia/Tokyo", "America/Bogota", "Asia/Kathmandu"]),
)
def test_a_moved_schedule_means_the_same_moments(hours, minute, weekday, zone):
    text = f"{minute} {','.join(map(str, sorted(hours)))} * * {weekday}"
    try:
        moved = parse_cron(text, zone=zone)
    except UserError:  # refused is right where no expression says it, and only there
        assert weekday != "*"
        assert len(hours) > 1
        return
    meant = parse_cron(text, zone=zone, cluster_zone=zone)
    assert moved.next_times(NOW, 12) == meant.next_times(NOW, 12)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("0 3 * * 1", ["Mon"]),  # APScheduler called this Tuesday
        ("0 3 * * 0", ["Sun"]),
        ("0 3 * * 7", ["Sun"]),
        ("0 3 * * sun", ["Sun"]),
        ("0 3 * * 1-5", ["Mon", "Tue", "Wed", "Thu", "Fri"]),
        ("0 3 * * mon-fri", ["Mon", "Tue", "Wed", "Thu", "Fri"]),
        ("0 3 * * 5-7", ["Fri", "Sat", "Sun"]),
        ("0 3 * * fri-sun", ["Fri", "Sat", "Sun"]),
        ("0 3 * * SAT,7", ["Sat", "Sun"]),
        ("0 3 * * 0-7", ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]),
    ],
)
def test_weekdays_are_those_of_every_other_cron(text, days):
    week = parse_cron(text).next_times(NOW, 14)
    assert {at.strftime("%a") for at in week} == set(days)


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("0 3 * * 7", "0 0 3 * * 0"),  # Kubeflow knows no 7
        ("0 3 * * 5-7", "0 0 3 * * 0,5,6"),
        ("0 3 * * fri-sun", "0 0 3 * * 0,5,6"),
        ("0 3 * * */7", "0 0 3 * * */7"),
        ("0 3 1 * 1-7", "0 0 3 1 * 0,1,2,3,4,5,6"),  # with the 1st every day, as a star is not
    ],
)
def test_kubeflow_is_sent_only_what_it_understands(text, sent):
    assert parse_cron(text).expression == sent


def test_days_of_the_month_with_a_step_are_not_moved_over_midnight():
    with pytest.raises(UserError, match="crosses midnight"):
        parse_cron("0 8 */2 * *", zone="Asia/Tokyo")


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "Europe", "../etc/passwd"])
def test_a_wrong_zone_is_called_that(zone):
    with pytest.raises(UserError, match="no time zone"):
        parse_cron("0 3 * * *", zone=zone)


def test_the_nearest_zone_is_proposed():
    with pytest.raises(UserError, match="did you mean Europe/Brussels"):
        parse_cron("0 3 * * *", zone="Europe/Brusels")


def brute_force(admits, after, until, zone):
    """Look at the clock on the wall in every minute there is; for days, either is enough."""
    at, found = after.astimezone(UTC) + timedelta(minutes=1), []
    while at <= until:
        wall = at.astimezone(zone)
        minutes, hours, days, months, weekdays = admits
        day = days is None or wall.day in days
        weekday = weekdays is None or wall.isoweekday() % 7 in weekdays
        if days is not None and weekdays is not None:
            day = weekday = day or weekday
        if (
            (minutes is None or wall.minute in minutes)
            and (hours is None or wall.hour in hours)
            and (months is None or wall.month in months)
            and day
            and weekday
        ):
            found.append(at)
        at += timedelta(minutes=1)
    return found


def field(low, high, *, size=4):
    """None for a star, or some values."""
    return st.none() | st.sets(st.integers(low, high), min_size=1, max_size=size)


@settings(max_examples=40, deadline=None)
@given(
    st.tuples(field(0, 59), field(0, 23, size=8), field(1, 31), field(1, 12), field(0, 6)),
    st.sampled_from(
        [
            ("UTC", "2026-03-01"),
            ("Europe/Berlin", "2026-03-28"),  # 2:00 becomes 3:00 on the 29th
            ("Europe/Berlin", "2026-10-24"),  # 3:00 becomes 2:00 on the 25th
            ("America/New_York", "2026-11-01"),
            ("America/Havana", "2026-03-07"),  # midnight does not exist on the 8th
            ("America/Havana", "2026-10-31"),  # and comes twice on the 1st
            ("Australia/Lord_Howe", "2026-04-04"),  # half an hour comes twice
            ("Asia/Kolkata", "2028-02-27"),
        ]
    ),
    st.integers(0, 1439),
)
def test_next_times_are_what_the_clock_on_the_wall_shows_minute_by_minute(admits, place, start):
    zone, day = place
    after = datetime.fromisoformat(f"{day}T00:00:00+00:00") + timedelta(minutes=start)
    until = after + timedelta(days=3)
    text = " ".join("*" if v is None else ",".join(map(str, sorted(v))) for v in admits)
    expected = brute_force(admits, after, until, ZoneInfo(zone))
    try:
        cron = parse_cron(text, zone=zone, cluster_zone=zone)
    except UserError:  # it never comes
        assert not expected
        return
    found = cron.next_times(after, len(expected) + 1)
    as_utc = [at.astimezone(UTC) for at in found]
    assert as_utc[: len(expected)] == expected
    assert as_utc[len(expected)] > until
