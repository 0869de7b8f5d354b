"""Cron expressions: the one reading of them, for `yt8m retrain` and for Kubeflow Pipelines.

Five fields are minute, hour, day of month, month, weekday; six have the seconds first. Sunday is 0
and 7, months and weekdays have names, and where day of month and weekday are both restricted
either is enough. A time is due whenever the clock on the wall of its zone shows it: what the
change to summer time leaves out does not come, what the change back repeats comes twice. That is
how Kubeflow's scheduler counts too.

Kubeflow puts SECONDS first and lets the sixth field (day of week) be left out. The five fields
that everybody else writes would therefore mean something else there ("0 3 * * *" would start a
run in minute 3 of every hour), so the seconds are added here. It knows no 7 either.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from yt8m.schemas.errors import UserError

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_SUNDAY = 7
_DESCRIPTORS = {
    "@yearly": "0 0 0 1 1 *",
    "@annually": "0 0 0 1 1 *",
    "@monthly": "0 0 0 1 * *",
    "@weekly": "0 0 0 * * 0",
    "@daily": "0 0 0 * * *",
    "@midnight": "0 0 0 * * *",
    "@hourly": "0 0 * * * *",
}
_EXAMPLE = "e.g. '0 3 * * *' for every night at three"
_GAP_TIMES, _MOST_GAP_TIMES = 10, 50_000
_GAP_DAYS = timedelta(days=35)
_HORIZON_DAYS = 366 * 8  # a 29th of February comes at least every eighth year


@dataclass(frozen=True)
class _Field:
    name: str
    low: int
    high: int  # the largest value that is written; of weekdays 7, which is Sunday again
    names: tuple[str, ...] = ()

    @property
    def values(self) -> range:
        """The different values that there are."""
        return range(self.low, min(self.high, 6) + 1 if self.names == _DAYS else self.high + 1)


_FIELDS = (
    _Field("second", 0, 59),
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of week", 0, _SUNDAY, _DAYS),
)


@dataclass(frozen=True)
class Cron:
    """A schedule: the values that each of the six fields admits, and the zone they are meant in."""

    expression: str  # six fields, as sent to Kubeflow
    values: tuple[frozenset[int], ...]
    any_day_of_month: bool
    any_day_of_week: bool
    zone: tzinfo = UTC

    def next_times(self, after: datetime, count: int = 3) -> list[datetime]:
        """The next `count` times that are due, in the schedule's zone."""
        return list(islice(self._times(after), count))

    def longest_gap(self, after: datetime) -> timedelta:
        """The longest time between two of the next times, of five weeks and ten times at least.

        Of a schedule of every minute on weekdays, the weekend is among them.
        """
        times = self._times(after)
        last = next(times)
        longest, until, count = timedelta(0), last + _GAP_DAYS, 0
        for at in times:
            longest = max(longest, at.astimezone(UTC) - last.astimezone(UTC))
            last, count = at, count + 1
            if count >= _GAP_TIMES and (at > until or count >= _MOST_GAP_TIMES):
                break
        return longest

    def _times(self, after: datetime) -> Iterator[datetime]:
        # Compared in UTC: within one zone Python compares what the clock on the wall shows.
        start = after.astimezone(UTC)
        day = after.astimezone(self.zone).replace(tzinfo=None)
        day = day.replace(hour=0, minute=0, second=0, microsecond=0)
        for _ in range(_HORIZON_DAYS):
            if self._admits(day):
                yield from (at for at in self._times_of(day) if at.astimezone(UTC) > start)
            day += timedelta(days=1)

    def _times_of(self, day: datetime) -> Iterator[datetime]:
        seconds, minutes, hours = (sorted(v) for v in self.values[:3])
        for hour in hours:
            for fold in (0, 1):  # 1 is an hour that the change to winter time repeats
                for minute in minutes:
                    for second in seconds:
                        at = day.replace(hour=hour, minute=minute, second=second, fold=fold)
                        at = at.replace(tzinfo=self.zone)
                        if _exists(at):
                            yield at

    def _admits(self, day: datetime) -> bool:
        """Day of month AND day of week, but OR where both are restricted, as every cron has it."""
        if day.month not in self.values[4]:
            return False
        by_month = day.day in self.values[3]
        by_week = (day.weekday() + 1) % 7 in self.values[5]
        if self.any_day_of_month or self.any_day_of_week:
            return by_month and by_week
        return by_month or by_week

    def explain(self, now: datetime) -> str:
        """Three next times, which say more than any paraphrase of the fields."""
        times = ", ".join(f"{at:%a %Y-%m-%d %H:%M:%S}" for at in self.next_times(now))
        return f"{self.label()}: next {times}"

    def label(self) -> str:
        """The expression and the zone that it is meant in."""
        return f"{self.expression} ({_zone_name(self.zone)})"


def parse_cron(text: str, *, zone: str = "UTC", cluster_zone: str = "UTC") -> Cron:
    """The schedule that `text` means in `zone`, for a scheduler that counts in `cluster_zone`."""
    cron = _parse(text, _load_zone(zone))
    if not cron.next_times(datetime.now(UTC), 1):
        raise UserError(f"cron {text!r} never matches: the months that it names have no such day")
    return cron if zone == cluster_zone else _move(cron, zone, cluster_zone)


def _parse(text: str, zone: tzinfo) -> Cron:
    stripped = text.strip().lower()
    if stripped.startswith("@") and stripped not in _DESCRIPTORS:
        raise UserError(f"cron {text!r}: known names are {', '.join(_DESCRIPTORS)}")
    parts = _DESCRIPTORS.get(stripped, stripped).split()
    if len(parts) == 5:
        parts = ["0", *parts]
    if len(parts) != 6:
        raise UserError(
            f"cron {text!r}: must be five fields (minute hour day month weekday), or six with the "
            f"seconds first, not {len(parts)}; {_EXAMPLE}"
        )
    values = tuple(_values(p, f, text) for p, f in zip(parts, _FIELDS, strict=True))
    any_day, any_weekday = (any(p[0] in "*?" for p in parts[at].split(",")) for at in (3, 5))
    if re.search(r"(^|[,-])7|-sun", parts[5]):
        parts[5] = "*" if any_weekday else _list(values[5])
    return Cron(" ".join(parts), values, any_day, any_weekday, zone)


def _values(part: str, field: _Field, text: str) -> frozenset[int]:
    values: set[int] = set()
    for piece in part.split(","):
        match = re.fullmatch(r"(\*|\?|\w+)(?:-(\w+))?(?:/(\d+))?", piece)
        if not match:
            raise UserError(f"cron {text!r}: {field.name} {piece!r} is not a number, a-b, * or */n")
        first, last, step = match.groups()
        if first in "*?":
            low, high = field.low, field.values[-1]
        else:
            low = _number(first, field, text)
            # "5/15" means from 5 to the end in steps of 15.
            high = _number(last, field, text) if last else (field.values[-1] if step else low)
            if field.names == _DAYS and last == "sun":
                high = _SUNDAY  # fri-sun ends with the week
        if low > high or (step and int(step) == 0):
            raise UserError(f"cron {text!r}: {field.name} {piece!r} is empty, {_EXAMPLE}")
        values.update(range(low, high + 1, int(step or 1)))
    if field.names == _DAYS:
        values = {day % _SUNDAY for day in values}
    return frozenset(values)


def _number(word: str, field: _Field, text: str) -> int:
    if word in field.names:
        return field.names.index(word) + field.low
    if not re.fullmatch("[0-9]+", word) or not field.low <= int(word) <= field.high:
        names = f" or {field.names[0]} to {field.names[-1]}" if field.names else ""
        sunday = "; Sunday is 0 or 7" if field.names == _DAYS else ""
        raise UserError(
            f"cron {text!r}: {field.name} {word!r} must be {field.low} to {field.high}{names}"
            f"{sunday}, {_EXAMPLE}"
        )
    return int(word)


def _move(cron: Cron, zone: str, cluster_zone: str) -> Cron:
    """The same moments in the cluster's zone; refused where no cron expression says them."""
    offset = _constant_offset(_load_zone(zone), _load_zone(cluster_zone))
    if offset is None:
        raise UserError(
            f"{zone} and the cluster's {cluster_zone} change their clocks on different days, so no "
            f"cron expression is right all year. Either write the schedule in {cluster_zone} "
            f"(--timezone {cluster_zone}), or set CRON_SCHEDULE_TIMEZONE={zone} on the "
            f"ml-pipeline-scheduledworkflow deployment and give --cluster-timezone {zone}"
        )
    moved = _shift(cron, offset)
    if moved is None:
        raise UserError(
            f"cron {cron.expression!r} in {zone} crosses midnight in the cluster's {cluster_zone} "
            f"and cannot be converted: write it in {cluster_zone}, --timezone {cluster_zone}"
        )
    return replace(moved, zone=_load_zone(cluster_zone))


def _shift(cron: Cron, offset_minutes: int) -> Cron | None:
    seconds, minutes, hours, days, months, weekdays = cron.values
    if offset_minutes % 60 and len(minutes) > 1:
        return None
    moments = [(h * 60 + m) - offset_minutes for h in hours for m in minutes]
    carries = {moment // 1440 for moment in moments}
    all_days = len(days) == 31 and len(months) == 12  # "*/2" restricts, though it has a star
    if carries != {0} and not (all_days and len(weekdays) == _SUNDAY):
        if len(carries) > 1 or not all_days:
            return None
        carry = carries.pop()
        weekdays = frozenset((day + carry) % _SUNDAY for day in weekdays)
    new_hours = frozenset(moment // 60 % 24 for moment in moments)
    new_minutes = frozenset(moment % 60 for moment in moments)
    values = (seconds, new_minutes, new_hours, days, months, weekdays)
    # As they were written: a list of all days is not "any day", where the other field counts too.
    parts = cron.expression.split()
    parts[:3] = (_write(v, f) for v, f in zip(values[:3], _FIELDS[:3], strict=True))
    if weekdays != cron.values[5]:
        parts[5] = _list(weekdays)
    return replace(cron, expression=" ".join(parts), values=values)


def _write(values: frozenset[int], field: _Field) -> str:
    return "*" if values == frozenset(field.values) else _list(values)


def _list(values: frozenset[int]) -> str:
    return ",".join(str(value) for value in sorted(values))


def _constant_offset(zone: tzinfo, other: tzinfo) -> int | None:
    """Minutes by which `zone` is ahead of `other`, if that never changes in two years."""
    start = datetime.now(UTC)
    ahead = set()
    for day in range(0, 731):
        at = start + timedelta(days=day)
        ahead.add(at.astimezone(zone).utcoffset() - at.astimezone(other).utcoffset())  # type: ignore[operator]
    return int(ahead.pop().total_seconds() // 60) if len(ahead) == 1 else None


def _exists(at: datetime) -> bool:
    """Whether the clock on the wall shows `at`; the second time, where its fold is 1."""
    if at.fold and at.utcoffset() == at.replace(fold=0).utcoffset():
        return False  # not repeated
    shown = at.astimezone(UTC).astimezone(at.tzinfo)
    return shown.replace(tzinfo=None) == at.replace(tzinfo=None)


def _load_zone(name: str) -> tzinfo:
    try:
        return UTC if name.upper() == "UTC" else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:  # OSError: part of a name
        close = difflib.get_close_matches(name, available_timezones(), n=1)
        hint = f"did you mean {close[0]}?" if close else "write it like Europe/Berlin or UTC"
        raise UserError(f"no time zone {name!r}: {hint}") from error


def _zone_name(zone: tzinfo) -> str:
    return "UTC" if zone is UTC else str(zone)
