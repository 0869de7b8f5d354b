"""What was tried, and what was lost by it; kept as lines of JSON, shown as tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from yt8m_runs import COMPONENTS

KILL, TERM, INT, HUP = "kill -9", "SIGTERM", "Ctrl-C", "SIGHUP"
FULL_DISK = "disk full"
OUTSIDE = "before, between, after"
_DAMAGE = "damage"
OUTCOMES = "outcomes"
SIGNALS = (TERM, INT, HUP)  # those that a run may answer
RUN_BLOWS = (KILL, *SIGNALS, FULL_DISK)
_SLOWEST = "slowest end after a signal"
# By a table's first heading: how many of a row's cells say what the row is of.
_KEY_CELLS = {"component": 1, "what was hit": 2, "change": 1}
_ALL = "all"


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One blow."""

    kind: str  # the module that dealt it
    part: str  # the component, writer or reader that it hit
    blow: str
    lost: Sequence[str] = ()
    seconds: float | None = None  # from a signal to the end of the process


class Trials:
    """The file of them: a long session can be had in pieces."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, trial: Trial) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as file:
            file.write(json.dumps(asdict(trial)) + "\n")

    def read(self) -> list[Trial]:
        lines = self._path.read_text().splitlines() if self._path.exists() else []
        return [Trial(**json.loads(line)) for line in lines]


def tables(trials: Sequence[Trial]) -> str:
    """Both tables in Markdown: whole runs by component, everything else by what was hit."""
    runs = [trial for trial in trials if trial.kind == "lives"]
    others = [trial for trial in trials if trial.kind not in ("lives", OUTCOMES)]
    parts = []
    if runs:
        parts += [_whole_runs(runs), ""]
    if others:
        parts += [_others(others), ""]
    return "\n".join(parts)


def outcomes_table(trials: Sequence[Trial]) -> str:
    """Of changes of a registry with failing calls: whether what was said was so."""
    rows = []
    found = [trial for trial in trials if trial.kind == OUTCOMES]
    for part in dict.fromkeys(trial.part for trial in found):
        here = [trial for trial in found if trial.part == part]
        blows = ", ".join(dict.fromkeys(trial.blow.partition(": ")[2] for trial in here))
        rows.append((part, blows, f"{len(here):,}", _lost(here)))
    return _table(("change", "one call fails with", "times", "said otherwise"), rows) + "\n"


def merged(old: str, new: str) -> str:
    """The tables of `old` with what `new` counted in its place; rows that `new` lacks stay."""
    found = {header[0]: (header, rows) for header, rows in _parsed(old)}
    for header, rows in _parsed(new):
        old_header, old_rows = found.get(header[0], (header, []))
        found[header[0]] = (header, _merged_rows(header, rows, old_header, old_rows))
    return "\n\n".join(_table(header, rows) for header, rows in found.values()) + "\n"


def _parsed(text: str) -> list[tuple[list[str], list[list[str]]]]:
    """The heading and the rows of each table."""
    tables = []
    for block in text.strip().split("\n\n"):
        lines = [line.strip("|").strip().split(" | ") for line in block.splitlines()]
        if lines != [[""]] and lines:
            tables.append((lines[0], lines[2:]))
    return tables


def _merged_rows(
    header: list[str], rows: list[list[str]], old_header: list[str], old_rows: list[list[str]]
) -> list[list[str]]:
    count = _KEY_CELLS[header[0]]
    found = {tuple(row[:count]): dict(zip(old_header, row, strict=True)) for row in old_rows}
    for row in rows:
        before = found.get(tuple(row[:count]), {})
        cells = dict(zip(header, row, strict=True))
        # Of a component only the blows that fell on it now are counted anew.
        tried = {name: cell for name, cell in cells.items() if cell not in ("0", "-")}
        slowest = max((before.get(_SLOWEST, "-"), cells.get(_SLOWEST, "-")), key=_seconds)
        found[tuple(row[:count])] = {**cells, **before, **tried, _SLOWEST: slowest}
    is_there = found.pop((_ALL,), None) is not None
    cells = [[row.get(name, "0") for name in header] for row in found.values()]
    return [*cells, _sum(header, cells)] if is_there else cells


def _sum(header: list[str], rows: list[list[str]]) -> list[str]:
    columns = dict(zip(header, zip(*rows, strict=True), strict=True))
    counts = [str(sum(map(int, columns[blow]))) for blow in RUN_BLOWS]
    lost = sum(int(cell.strip("*")) for cell in columns["lost"] if cell != "nothing")
    slowest = max(columns[_SLOWEST], key=_seconds)
    return [_ALL, *counts, slowest, f"**{lost}**" if lost else "nothing"]


def _seconds(cell: str) -> float:
    return float(cell.removesuffix(" s").replace("-", "0"))


def _whole_runs(runs: Sequence[Trial]) -> str:
    header = ("component", *RUN_BLOWS, _SLOWEST, "lost")
    named = [(name, [t for t in runs if t.part == name]) for name in (*COMPONENTS, OUTSIDE)]
    rest = sorted({t.part for t in runs} - {*COMPONENTS, OUTSIDE})
    named += [(name, [t for t in runs if t.part == name]) for name in rest]
    rows = [(name, *_run_cells(found)) for name, found in named if found]
    return _table(header, [*rows, (_ALL, *_run_cells(runs))])


def _run_cells(found: Sequence[Trial]) -> tuple[str, ...]:
    seconds = [t.seconds for t in found if t.seconds is not None]
    counts = [sum(t.blow == blow for t in found) for blow in RUN_BLOWS]
    return (*map(str, counts), f"{max(seconds):.1f} s" if seconds else "-", _lost(found))


def _others(trials: Sequence[Trial]) -> str:
    rows = []
    for part, blow in dict.fromkeys((t.part, _manner(t)) for t in trials):
        found = [t for t in trials if (t.part, _manner(t)) == (part, blow)]
        if blow == _DAMAGE:
            blow = f"{len({t.blow for t in found})} kinds of {_DAMAGE}"
        rows.append((part, blow, f"{len(found):,}", _lost(found)))
    return _table(("what was hit", "by", "times", "lost"), rows)


def _manner(trial: Trial) -> str:
    return _DAMAGE if trial.kind == _DAMAGE else trial.blow


def _lost(found: Iterable[Trial]) -> str:
    lost = sum(bool(trial.lost) for trial in found)
    return f"**{lost}**" if lost else "nothing"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
