"""What a command says: where it goes, and what --quiet and --json change."""

import contextlib
import io
import json
import re

import pytest

from yt8m.components.console.console import Console, text_table
from yt8m.components.console.progress import Progress, progress_heard_by, without_progress


def test_result_goes_to_stdout_and_the_rest_to_stderr(capsys):
    console = Console()
    console.info("reading")
    console.warn("old data")
    console.error("no data", 2)
    console.result({"a": 1}, "one")
    captured = capsys.readouterr()
    assert captured.out == "one\n"
    lines = captured.err.splitlines()
    assert [re.sub(r"^[\d: -]+(?=\D)", "", line) for line in lines] == [
        "reading",
        "warning: old data",
        "error: no data",
    ]
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d reading", lines[0])


def test_quiet_leaves_warnings_errors_and_the_result(capsys):
    console = Console(quiet=True)
    console.info("reading")
    with console.progress("work", total=2) as progress:
        progress.advance(2)
    console.warn("old data")
    console.result({}, "one")
    captured = capsys.readouterr()
    assert captured.out == "one\n"
    assert "reading" not in captured.err
    assert "work" not in captured.err
    assert "old data" in captured.err


def test_a_terminal_shows_what_takes_its_time_and_nothing_of_it_is_left(monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", terminal)
    with contextlib.suppress(KeyError), Console().waiting("loading ..."):
        assert terminal.getvalue() == "loading ..."
        raise KeyError
    assert terminal.getvalue() == "loading ...\r\x1b[2K"


@pytest.mark.parametrize("quiet", [True, False])
def test_a_log_has_no_line_of_it_and_neither_has_a_quiet_terminal(monkeypatch, quiet):
    stream = io.StringIO()
    stream.isatty = lambda: quiet
    monkeypatch.setattr("sys.stderr", stream)
    with Console(quiet=quiet).waiting("loading ..."):
        pass
    assert stream.getvalue() == ""


def test_json_is_the_only_thing_on_stdout(capsys):
    console = Console(as_json=True)
    console.info("reading")
    console.result({"a": [1, None]}, "one")
    assert json.loads(capsys.readouterr().out) == {"a": [1, None]}


def test_json_refuses_what_is_not_json(capsys):
    with pytest.raises(ValueError, match="Out of range float"):
        Console(as_json=True).result({"a": float("nan")}, "one")


HISTORY = ("run", "started", "GAP", "outcome")
RUNS = [
    ("20260301-030000-000000", "2026-03-01 03:00", "0.7012", "pushed version 12"),
    ("20260302-030000-000000", "2026-03-02 03:00", "", "failed: ExampleGen found a damaged shard"),
]


@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_table_stays_within_the_terminal_and_loses_no_cell(width):
    table = text_table(HISTORY, RUNS, width)
    assert max(map(len, table.splitlines())) <= width
    words = table.split()
    for row in [HISTORY, *RUNS]:
        assert set(" ".join(row).split()) <= set(words)


def test_on_a_narrow_terminal_the_widest_column_is_wrapped_or_rows_become_blocks():
    wrapped = text_table(("key", "meaning"), [("a", "one two three four five six")], width=25)
    assert wrapped.splitlines() == [
        "key  meaning",
        "---  --------------------",
        "a    one two three four",
        "     five six",
    ]
    blocks = text_table(HISTORY, RUNS, width=30)
    assert blocks.splitlines()[:5] == [
        "run      20260301-030000-000000",
        "started  2026-03-01 03:00",
        "GAP      0.7012",
        "outcome  pushed version 12",
        "",
    ]


def test_table_is_aligned():
    table = Console().table(("name", "n"), [("x", 10), ("longer", 2)])
    assert table.splitlines() == ["name    n", "------  --", "x       10", "longer  2"]


def test_progress_writes_plain_lines_where_there_is_no_terminal(capsys):
    with Progress("verify", total=3, unit="shards") as progress:
        progress.advance()
        progress.advance(2, note="loss 3.2")
    err = capsys.readouterr().err
    assert re.search(r"^\d{4}-\d\d-\d\d [\d:]+ verify: 3/3 shards in [\d.]+ s, ", err)
    assert err.endswith("loss 3.2\n")
    assert "\x1b" not in err


def test_progress_of_work_that_was_done_before_says_nothing(capsys):
    with Progress("labels", total=3, unit="shards"):
        pass
    with Progress("train", total=4, unit="steps", done=4) as progress:
        progress.advance(0)
    assert capsys.readouterr().err == ""


def test_progress_can_be_switched_off_in_a_process(capsys):
    with without_progress(), Progress("verify", total=3) as progress:
        progress.advance(3)
    assert capsys.readouterr().err == ""
    with Progress("verify", total=3) as progress:
        progress.advance(3)
    assert "verify: 3/3" in capsys.readouterr().err


def test_progress_tells_the_pace_and_the_time_left_of_work_that_is_taken_up_again(
    capsys, monkeypatch
):
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    with Progress("train", total=200, unit="steps", done=100) as progress:
        now += 10
        progress.advance(20)
        now += 10
        progress.advance(20, note="loss 3.2")
        now += 10
    _, first, last = capsys.readouterr().err.splitlines()
    assert first.endswith("train: 140/200 steps in 20.0 s, 2.0/s, 30 s left, loss 3.2")
    assert last.endswith("train: 140/200 steps in 30.0 s, 1.0/s, 60 s left, loss 3.2")


def test_progress_draws_a_bar_on_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with Progress("verify", total=3, unit="shards") as progress:
        progress.advance(3, note="loss 3.2")
    assert "\x1b" in terminal.getvalue()
    assert "3/3" in terminal.getvalue()
    assert "loss 3.2" in terminal.getvalue()


def test_progress_says_nothing_at_the_end_of_a_failure(capsys):
    def fail():
        with Progress("verify") as progress:
            progress.advance()
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        fail()
    assert capsys.readouterr().err == ""


def test_time_left_does_not_count_what_the_first_unit_carries(capsys, monkeypatch):
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    with Progress("train", total=100, unit="steps") as progress:
        now += 60  # compiling
        progress.advance()
        now += 9
        progress.advance(9)
        now += 1
        progress.advance(1)
    assert "11/100 steps in 70.0 s, 1.0/s, 89 s left" in capsys.readouterr().err.splitlines()[-1]


def test_whoever_asked_hears_of_progress_even_where_it_is_hidden(monkeypatch):
    now, heard = 100.0, []
    monkeypatch.setattr("time.monotonic", lambda: now)
    with progress_heard_by(heard.append), Progress("train", total=9, hidden=True) as progress:
        for _ in range(4):
            now += 0.6
            progress.advance(note="loss 3.2")
    assert [text.partition(" ")[0] for text in heard] == ["2/9", "4/9"]
    assert heard[0].endswith("loss 3.2")
