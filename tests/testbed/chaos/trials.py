"""What was tried, and what was lost by it; kept as lines of JSON, told as tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from yt8m_runs import COMPONENTS

KILL, TERM, INT, FULL_DISK = "kill -9", "SIGTERM", "Ctrl-C", "disk full"
OUTSIDE = "before, between, after"
_DAMAGE = "damage"
OUTCOMES = "outcomes"
RUN_BLOWS = (KILL, TERM, INT, FULL_DISK)


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


def _whole_runs(runs: Sequence[Trial]) -> str:
    header = ("component", *RUN_BLOWS, "slowest end after a signal", "lost")
    named = [(name, [t for t in runs if t.part == name]) for name in (*COMPONENTS, OUTSIDE)]
    rest = sorted({t.part for t in runs} - {*COMPONENTS, OUTSIDE})
    named += [(name, [t for t in runs if t.part == name]) for name in rest]
    rows = [(name, *_run_cells(found)) for name, found in named if found]
    return _table(header, [*rows, ("all", *_run_cells(runs))])


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
