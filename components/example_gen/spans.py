"""Span, version and date patterns with TFX's meaning, and the choice among the spans found.

A pattern holds either `{SPAN}` or all of `{YYYY}` `{MM}` `{DD}`, and with either of them
`{VERSION}`; `{SPAN:3}` and `{VERSION:3}` are zero-padded to that width. Of each span the highest
version counts.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from dataclasses import dataclass

from yt8m.components import storage
from yt8m.components.artifacts.spans import date_span, span_names
from yt8m.schemas.errors import UserError

_FIELD = re.compile(r"\{(SPAN|VERSION)(?::([^}]*))?\}|\{(YYYY|MM|DD)\}|\{([^}]*)\}")
_DATE_DIGITS = {"YYYY": 4, "MM": 2, "DD": 2}
_WILDCARDS = {"*": "[^/]*", "?": "[^/]"}
_SPECIAL_IN_CLASS = re.compile(r"[\\\[&~|]")  # to a regular expression, and to no glob
_PIECE = re.compile(r"\*|\?|\[!?\]?[^\]]*\]|.", re.DOTALL)


@dataclass(frozen=True)
class SpanPattern:
    """A glob that finds candidates, and a regular expression that reads span and version."""

    text: str
    glob: str
    regex: re.Pattern[str]

    @property
    def has_span(self) -> bool:
        return "SPAN" in self.regex.groupindex or self.has_date

    @property
    def has_date(self) -> bool:
        return "YYYY" in self.regex.groupindex

    def fields(self, path: str) -> dict[str, str]:
        """Text of each field in a path that the glob found."""
        match = self.regex.fullmatch(path)
        if match is None:
            raise UserError(
                f"{path} matches {self.text}, but has no number where the pattern has a field; "
                "move it away or make the pattern narrower"
            )
        return match.groupdict()

    def read(self, path: str) -> tuple[int | None, int | None]:
        """Span and version of a path that the glob found."""
        fields = self.fields(path)
        version = int(fields["VERSION"]) if fields.get("VERSION") else None
        if not self.has_date:
            return (int(fields["SPAN"]) if self.has_span else None), version
        try:
            date = datetime.date(*(int(fields[name]) for name in _DATE_DIGITS))
        except ValueError as error:
            raise UserError(f"{path}: no such date ({error})") from error
        return date_span(date), version


def parse_pattern(text: str, *, below: str = "") -> SpanPattern:
    """`text` checked and translated; a wrong field is a UserError that names it.

    `below` stands before it and is no pattern, whatever brackets and braces are in it.
    """
    names = [m.group(1) or m.group(3) or m.group(4) for m in _FIELD.finditer(text)]
    _check(text, names)
    glob, regex, at = storage.escape(below), re.escape(below), 0
    for match in _FIELD.finditer(text):
        between = text[at : match.start()]
        name = match.group(1) or match.group(3)
        digits = _digits(text, name, match.group(2))
        glob += between + ("?" * digits if digits else "*")
        regex += _to_regex(between) + f"(?P<{name}>" + (rf"\d{{{digits}}}" if digits else r"\d+")
        regex += ")"
        at = match.end()
    regex += _to_regex(text[at:])
    try:
        return SpanPattern(below + text, glob + text[at:], re.compile(regex))
    except re.error as error:
        raise UserError(f"pattern {text}: a wrong character class ({error})") from error


def choose_spans(available: Iterable[int], wanted: str, *, dated: bool = False) -> tuple[int, ...]:
    """The spans that `wanted` (latest, last:N, a number, a date) means, ascending."""
    spans = sorted(set(available))
    if wanted in ("", "latest"):
        return tuple(spans[-1:])
    if wanted.startswith("last:"):
        return tuple(spans[-int(wanted.removeprefix("last:")) :])
    try:
        span = int(wanted) if wanted.isdigit() else date_span(datetime.date.fromisoformat(wanted))
    except ValueError as error:
        raise UserError(
            f"span {wanted}: write latest, last:N, a number or a date (YYYY-MM-DD)"
        ) from error
    if span not in spans:
        there = span_names(spans[-10:], dated=dated) or "none"
        raise UserError(f"span {wanted} is not there; the newest that are: {there}")
    return (span,)


def _check(text: str, names: list[str]) -> None:
    known = {"SPAN", "VERSION", *_DATE_DIGITS}
    unknown = [name for name in names if name not in known]
    dates = [name for name in names if name in _DATE_DIGITS]
    if unknown:
        problem = f"{{{unknown[0]}}} is unknown; use {{SPAN}} {{VERSION}} {{YYYY}} {{MM}} {{DD}}"
    elif len(set(names)) < len(names):
        problem = "each field may appear once"
    elif dates and len(dates) < len(_DATE_DIGITS):
        problem = "{YYYY}, {MM} and {DD} go together"
    elif dates and "SPAN" in names:
        problem = "{SPAN} and a date exclude each other"
    elif "VERSION" in names and not dates and "SPAN" not in names:
        problem = "{VERSION} needs {SPAN} or a date beside it"
    else:
        return
    raise UserError(f"pattern {text}: {problem}")


def _digits(text: str, name: str, width: str | None) -> int:
    if name in _DATE_DIGITS:
        return _DATE_DIGITS[name]
    if width is None:
        return 0
    if not width.isdigit() or int(width) < 1:
        raise UserError(f"pattern {text}: the width of {{{name}}} must be a positive number")
    return int(width)


def _to_regex(glob: str) -> str:
    pieces = []
    for piece in _PIECE.findall(glob):
        if len(piece) > 1:  # a character class; its negation is written differently
            inside = _SPECIAL_IN_CLASS.sub(r"\\\g<0>", piece[1:-1])
            pieces.append(f"[^{inside[1:]}]" if inside.startswith("!") else f"[{inside}]")
        else:
            pieces.append(_WILDCARDS.get(piece) or re.escape(piece))
    return "".join(pieces)
