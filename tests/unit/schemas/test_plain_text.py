"""Text from elsewhere can neither steer a terminal, nor turn a line round, nor be a formula."""

from __future__ import annotations

import csv
import io
import unicodedata

import pytest

from yt8m.cli.history import _csv
from yt8m.components.console.console import Console, text_table
from yt8m.schemas.plain_text import csv_cell, plain

HOSTILE = "id\x00\x1b[2J\u202e\r\x9b31m"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x00b", r"a\x00b"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\x9b31m", r"\x9b31m"),
        ("\u202etxt", r"\u202etxt"),
        ("\u2066\u200f", r"\u2066\u200f"),
        ("a\rb", r"a\rb"),
        ("one\n\ttwo", "one\n\ttwo"),
        ("naïve 日本語 עברית \U0001f3b8", "naïve 日本語 עברית \U0001f3b8"),
    ],
)
def test_what_is_hidden_is_shown_and_all_else_stays(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_no_character_that_is_left_controls_anything() -> None:
    everything = plain("".join(map(chr, (*range(0xD800), *range(0xE000, 0x110000)))))
    steering = {c for c in everything if unicodedata.bidirectional(c) in ("LRE", "RLE", "PDF")}
    overriding = {
        c for c in everything if unicodedata.bidirectional(c) in ("LRO", "RLO", "LRI", "RLI", "FSI")
    }
    assert steering | overriding == set()
    assert {c for c in everything if unicodedata.category(c) == "Cc"} == {"\n", "\t"}


@pytest.mark.parametrize("as_json", [False, True])
def test_nothing_that_a_command_says_steers_the_terminal(
    capsys: pytest.CaptureFixture[str], as_json: bool
) -> None:
    console = Console(as_json=as_json)
    console.info(HOSTILE)
    console.warn(HOSTILE)
    console.error(HOSTILE, 1)
    console.result({"id": HOSTILE}, text_table(("id",), [(HOSTILE,)]))
    said = "".join(capsys.readouterr())
    assert not set("\x00\x1b\u202e\r\x9b") & set(said)


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("-2+3", "'-2+3"),
        ("+cmd|'/C calc'!A0", "'+cmd|'/C calc'!A0"),
        ("\t=1", "'\t=1"),
        ("plain = text", "plain = text"),
        (-0.25, -0.25),
        (None, None),
    ],
)
def test_a_cell_is_no_formula(value: object, cell: object) -> None:
    assert csv_cell(value) == cell


def test_the_history_as_csv_holds_neither_formulas_nor_control_characters() -> None:
    runs = [{"run_id": "1", "reason": f"=HYPERLINK(1){HOSTILE}", "gap_difference": -0.5}]
    (row,) = csv.DictReader(io.StringIO(_csv(runs)))
    assert row["reason"].startswith("'=HYPERLINK(1)id")
    assert row["gap_difference"] == "-0.5"
    assert "\x1b" not in row["reason"]
