"""Cron expressions as Kubeflow Pipelines reads them: checked, completed, moved to its time zone.

Kubeflow puts SECONDS first and lets the sixth field (day of week) be left out. The five fields
that everybody else writes would therefore mean something else there ("0 3 * * *" would start a
run in minute 3 of every hour), so five fields are taken as usual and the seconds are added here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone, tzinfo
from itertools import islice
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from yt8m.schemas.errors import UserError

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_DESCRIPTORS = {
    "@yearly": "0 0 0 1 1 *",
    "@annually": "0 0 0 1 1 *",
    "@monthly": "0 0 0 1 * *",
    "@weekly": "0 0 0 * * 0",
    "@daily": "0 0 0 * * *",
    "@midnight": "0 0 0 * * *",
    "@hourly": "0 0 * * * *",
}
_HORIZON_DAYS = 366 * 8  # a 29th of February comes at least every eighth year


@dataclass(frozen=True)
class _Field:
    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()


_FIELDS = (
    _Field("second", 0, 59),
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of month", 1, 31),
    _Field("month", 1, 12, tuple(_MONTHS)),
    _Field("day of week", 0, 6, tuple(_DAYS)),
)


@dataclass(frozen=True)
class Cron:
    """A schedule: the values that each of the six fields admits, and the zone they are meant in."""

    expression: str  # six fields, as sent to Kubeflow
    values: tuple[frozenset[int], ...]
    any_day_of_month: bool
    any_day_of_week: bool
    zone: tzinfo = timezone.utc

    def next_times(self, after: datetime, count: int = 3) -> list[datetime]:
        """The next `count` firing times, in the schedule's zone."""
        return list(islice(self._times(after.astimezone(self.zone)), count))

    def _times(self, after: datetime) -> Iterator[datetime]:
        seconds, minutes, hours = (sorted(v) for v in self.values[:3])
        day = after.replace(hour=0, minute=0, second=0, microsecond=0)
        for _ in range(_HORIZON_DAYS):
            if self._admits(day):
                for hour in hours:
                    for minute in minutes:
                        for second in seconds:
                            at = day.replace(hour=hour, minute=minute, second=second)
                            if at > after and _exists(at):
                                yield at
            day = (day.replace(tzinfo=None) + timedelta(days=1)).replace(tzinfo=self.zone)

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
        times = ", ".join(f"{t:%a %Y-%m-%d %H:%M:%S}" for t in self.next_times(now))
        return f"{self.expression} ({_zone_name(self.zone)}): next {times}"


def parse_cron(text: str, *, zone: str = "UTC", cluster_zone: str = "UTC") -> Cron:
    """The schedule for Kubeflow: `text` is in `zone`, the cluster counts in `cluster_zone`."""
    cron = _parse(text, _load_zone(zone))
    if not cron.next_times(datetime.now(timezone.utc), 1):
        raise UserError(f"cron {text!r} never comes: no such day in the months it names")
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
            f"cron {text!r} has {len(parts)} fields: write five (minute hour day month weekday) "
            "or six with the seconds first, e.g. '0 3 * * *' for every night at three"
        )
    values = tuple(_values(p, f, text) for p, f in zip(parts, _FIELDS, strict=True))
    return Cron(" ".join(parts), values, parts[3][0] in "*?", parts[5][0] in "*?", zone)


def _values(part: str, field: _Field, text: str) -> frozenset[int]:
    found: set[int] = set()
    for piece in part.split(","):
        match = re.fullmatch(r"(\*|\?|\w+)(?:-(\w+))?(?:/(\d+))?", piece)
        if not match:
            raise UserError(f"cron {text!r}: {field.name} {piece!r} is not a number, a-b, * or */n")
        first, last, step = match.groups()
        if first in "*?":
            low, high = field.low, field.high
        else:
            low = _number(first, field, text)
            # "5/15" means from 5 to the end in steps of 15.
            high = _number(last, field, text) if last else (field.high if step else low)
        if low > high or step == "0":
            raise UserError(f"cron {text!r}: {field.name} {piece!r} is empty")
        found.update(range(low, high + 1, int(step or 1)))
    return frozenset(found)


def _number(word: str, field: _Field, text: str) -> int:
    if word in field.names:
        return field.names.index(word) + field.low
    if not word.isdigit() or not field.low <= int(word) <= field.high:
        sunday = "; Sunday is 0" if field.name == "day of week" else ""
        raise UserError(
            f"cron {text!r}: {field.name} {word!r} must be {field.low} to {field.high}{sunday}"
        )
    return int(word)


def _move(cron: Cron, zone: str, cluster_zone: str) -> Cron:
    """The same moments in the cluster's zone; refused where no cron expression says them."""
    offset = _constant_offset(_load_zone(zone), _load_zone(cluster_zone))
    if offset is None:
        raise UserError(
            f"{zone} and the cluster's {cluster_zone} change their clocks differently, so no cron "
            f"expression means the same all year. Either write the schedule in {cluster_zone} "
            f"(--timezone {cluster_zone}), or set CRON_SCHEDULE_TIMEZONE={zone} on the "
            f"ml-pipeline-scheduledworkflow deployment and say --cluster-timezone {zone}"
        )
    moved = _shift(cron, offset)
    if moved is None:
        raise UserError(
            f"cron {cron.expression!r} in {zone} crosses midnight in the cluster's {cluster_zone} "
            f"and cannot be said there: write it in {cluster_zone}, --timezone {cluster_zone}"
        )
    return replace(moved, zone=_load_zone(cluster_zone))


def _shift(cron: Cron, offset_minutes: int) -> Cron | None:
    seconds, minutes, hours, days, months, weekdays = cron.values
    if offset_minutes % 60 and len(minutes) > 1:
        return None
    moments = [(h * 60 + m) - offset_minutes for h in hours for m in minutes]
    carries = {moment // 1440 for moment in moments}
    free = cron.any_day_of_month and cron.any_day_of_week and len(months) == 12
    if carries != {0} and not free:
        if len(carries) > 1 or not cron.any_day_of_month or len(months) < 12:
            return None
        carry = carries.pop()
        weekdays = frozenset((day + carry) % 7 for day in weekdays)
    new_hours = frozenset(moment // 60 % 24 for moment in moments)
    new_minutes = frozenset(moment % 60 for moment in moments)
    values = (seconds, new_minutes, new_hours, days, months, weekdays)
    parts = [_write(v, f) for v, f in zip(values, _FIELDS, strict=True)]
    return replace(cron, expression=" ".join(parts), values=values)


def _write(values: frozenset[int], field: _Field) -> str:
    if len(values) == field.high - field.low + 1:
        return "*"
    return ",".join(str(value) for value in sorted(values))


def _constant_offset(zone: tzinfo, other: tzinfo) -> int | None:
    """Minutes by which `zone` is ahead of `other`, if that never changes in two years."""
    start = datetime.now(timezone.utc)
    ahead = set()
    for day in range(0, 731):
        at = start + timedelta(days=day)
        ahead.add(at.astimezone(zone).utcoffset() - at.astimezone(other).utcoffset())  # type: ignore[operator]
    return int(ahead.pop().total_seconds() // 60) if len(ahead) == 1 else None


def _exists(at: datetime) -> bool:
    """False for a wall-clock time that the change to summer time leaves out."""
    back = at.astimezone(timezone.utc).astimezone(at.tzinfo)
    return back.replace(tzinfo=None) == at.replace(tzinfo=None)


def _load_zone(name: str) -> tzinfo:
    try:
        return timezone.utc if name.upper() == "UTC" else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise UserError(f"no time zone {name!r}: write it like Europe/Berlin or UTC") from error


def _zone_name(zone: tzinfo) -> str:
    return "UTC" if zone is timezone.utc else str(zone)
