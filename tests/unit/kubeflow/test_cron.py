"""Cron expressions: what Kubeflow would do with them is what the user meant."""

from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from apscheduler.triggers.cron import CronTrigger
from hypothesis import given
from hypothesis import strategies as st

from yt8m.schemas.cron import parse_cron
from yt8m.schemas.errors import UserError

NOW = datetime(2026, 3, 10, 12, 0, 0, tzinfo=timezone.utc)


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
        ("0 3 * *", "4 fields"),
        ("0 3 * * * * *", "7 fields"),
        ("0 24 * * *", "hour '24' must be 0 to 23"),
        ("0 3 * * 7", "Sunday is 0"),
        ("0 3 30 2 *", "never comes"),
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
    assert cron.expression == "0 0 4 * * 1,2,3,4,5"


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


@given(_hours, st.integers(0, 59), st.sets(st.integers(1, 12), min_size=1, max_size=4))
def test_next_times_agree_with_another_scheduler(hours, minute, months):
    """The oracle is APScheduler, which has its own cron."""
    hour, month = ",".join(map(str, sorted(hours))), ",".join(map(str, sorted(months)))
    ours = parse_cron(f"{minute} {hour} * {month} *").next_times(NOW, 5)
    trigger = CronTrigger(month=month, day="*", hour=hour, minute=minute, timezone=timezone.utc)
    at, theirs = NOW, []
    for _ in ours:
        at = trigger.get_next_fire_time(None, at + timedelta(seconds=1))
        theirs.append(at)
    assert ours == theirs
