"""What a benchmark's turns say of its goal: it is reached, it is missed, or they do not say.

A turn is a ratio: ours over what it is compared with, both measured right after each other. The
machine is seldom equally fast for long, so turns that spread are not a measurement, and one
measurement is no miss: what is not reached is measured a second time, and that one counts.
"""

from __future__ import annotations

import enum
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any

MAX_SPREAD = 0.05  # the largest turn less the smallest, of the median


class Verdict(enum.IntEnum):
    """Each is an exit code; 2 is that of wrong arguments."""

    REACHED = 0
    BELOW = 1
    NOT_MEASURED = 3

    @property
    def text(self) -> str:
        return _TEXTS.get(self, "goals reached")


_TEXTS = {Verdict.BELOW: "below a goal", Verdict.NOT_MEASURED: "not measured: the turns differ"}


def judged(turns: Sequence[float], goal: float) -> dict[str, Any]:
    """The figures of a row: the median of the turns, how far they spread, and the verdict."""
    ratio = statistics.median(turns)
    spread = (max(turns) - min(turns)) / ratio
    verdict = Verdict.REACHED
    if spread > MAX_SPREAD and goal:
        verdict = Verdict.NOT_MEASURED
    elif max(turns) < goal:  # a goal that lies between the turns is reached by chance or not
        verdict = Verdict.BELOW
    return {
        "ratio": round(ratio, 3),
        "spread": round(spread, 3),
        "goal": round(goal, 3),
        "verdict": verdict.name,
    }


def measured(measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The row that `measure` finds; what has not reached its goal is measured again."""
    row = measure()
    return row if row["verdict"] == Verdict.REACHED.name else measure()


def verdict_of(rows: Iterable[dict[str, Any]]) -> Verdict:
    """The verdict on a whole benchmark: a miss counts for more than what is not known."""
    found = {Verdict[row["verdict"]] for row in rows}
    order = (Verdict.BELOW, Verdict.NOT_MEASURED)
    return next((verdict for verdict in order if verdict in found), Verdict.REACHED)
