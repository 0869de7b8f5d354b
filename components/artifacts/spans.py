"""Spans as people read them. A date's span is its number of days since 1970-01-01, as in TFX."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_EPOCH = datetime.date(1970, 1, 1)
_NUMBER, _DATE = "{SPAN", "{YYYY}"  # the fields of a pattern that tell what its spans are


def date_span(date: datetime.date) -> int:
    """Days since 1970-01-01, TFX's span number of a date."""
    return (date - _EPOCH).days


def span_name(span: int, *, dated: bool) -> str:
    """The span for a message: the number, and the date that a pattern of dates made it of."""
    return f"{_EPOCH + datetime.timedelta(days=span)} ({span})" if dated else str(span)


def span_names(spans: Iterable[int], *, dated: bool) -> str:
    """`6, 7`, each as `span_name` has it."""
    return ", ".join(span_name(span, dated=dated) for span in spans)


def spans_text(spans: Sequence[int], *, dated: bool) -> str:
    """`span 7`, `spans 6, 7`, each as `span_name` has it."""
    return f"span{'s' if len(spans) > 1 else ''} {span_names(spans, dated=dated)}"


def have_dates(patterns: Iterable[str]) -> bool:
    """Whether every span that these patterns find is a date, so that messages speak of dates."""
    with_spans = [text for text in patterns if _NUMBER in text or _DATE in text]
    return bool(with_spans) and all(_DATE in text for text in with_spans)


def are_dates(configuration: Mapping[str, Any]) -> bool:
    """Whether spans are dates by a configuration on record, which another yt8m may have written."""
    match configuration.get("data"):
        case {"divide": {"patterns": [_, *_] as patterns}}:
            return have_dates(map(str, patterns))
        case {"splits": Mapping() as splits}:
            return have_dates(str(text) for texts in splits.values() for text in texts or ())
    return False
