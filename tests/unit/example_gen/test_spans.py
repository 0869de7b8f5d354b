"""Span, version and date patterns, against TFX's own words for them."""

from __future__ import annotations

import datetime

import pytest

from yt8m.components.artifacts.spans import date_span
from yt8m.components.example_gen.spans import choose_spans, parse_pattern
from yt8m.schemas.errors import UserError


@pytest.mark.parametrize(
    ("pattern", "glob", "path", "expected"),
    [
        ("/d/train*", "/d/train*", "/d/train0.tfrecord", (None, None)),
        ("/d/span-{SPAN}/train*", "/d/span-*/train*", "/d/span-12/train0", (12, None)),
        ("/d/{SPAN:3}/t?", "/d/???/t?", "/d/007/t1", (7, None)),
        ("/d/{SPAN}/v{VERSION}/t*", "/d/*/v*/t*", "/d/3/v11/t", (3, 11)),
        ("/d/{SPAN}-v{VERSION:2}", "/d/*-v??", "/d/3-v02", (3, 2)),
        ("/d/{YYYY}-{MM}-{DD}/t*", "/d/????-??-??/t*", "/d/1970-01-03/t", (2, None)),
        ("s3://b/{YYYY}{MM}{DD}/t", "s3://b/????????/t", "s3://b/20261120/t", (20777, None)),
        ("/d/validate[5-9]*", "/d/validate[5-9]*", "/d/validate7.tfrecord", (None, None)),
        ("/d/t[!0]*", "/d/t[!0]*", "/d/t1", (None, None)),
        ("/d/t[[]{SPAN}]", "/d/t[[]*]", "/d/t[4]", (4, None)),
        (r"/d/t[\d]{SPAN}", r"/d/t[\d]*", "/d/td4", (4, None)),
    ],
)
def test_patterns_are_read(
    pattern: str, glob: str, path: str, expected: tuple[int | None, int | None]
) -> None:
    parsed = parse_pattern(pattern)
    assert parsed.glob == glob
    assert parsed.read(path) == expected


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("{SPAN}/{SPAN}/t", "once"),
        ("{YYYY}-{MM}/t", "go together"),
        ("{YYYY}{MM}{DD}/{SPAN}", "exclude each other"),
        ("v{VERSION}/t", "needs {SPAN} or a date"),
        ("{DATE}/t", r"\{DATE\} is unknown"),
        ("{SPAN:x}/t", "width"),
        ("{SPAN:0}/t", "width"),
        ("{SPAN}/t[9-0]", "wrong character class"),
    ],
)
def test_wrong_patterns_are_refused_with_the_reason(pattern: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_pattern(pattern)


def test_a_path_without_a_number_is_named() -> None:
    with pytest.raises(UserError, match="/d/span-tmp/t0"):
        parse_pattern("/d/span-{SPAN}/t*").read("/d/span-tmp/t0")


def test_an_impossible_date_is_named() -> None:
    with pytest.raises(UserError, match="20261340"):
        parse_pattern("/d/{YYYY}{MM}{DD}/t").read("/d/20261340/t")


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("latest", (9,)),
        ("", (9,)),
        ("last:2", (7, 9)),
        ("last:99", (2, 7, 9)),
        ("7", (7,)),
    ],
)
def test_spans_are_chosen(wanted: str, expected: tuple[int, ...]) -> None:
    assert choose_spans([7, 2, 9, 7], wanted) == expected


def test_a_date_chooses_the_span_that_tfx_gives_it() -> None:
    span = date_span(datetime.date(2026, 11, 20))
    assert choose_spans([1, span], "2026-11-20") == (span,)


def test_a_span_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(UserError, match=r"span 5 is not there.*2, 7"):
        choose_spans([2, 7], "5")
