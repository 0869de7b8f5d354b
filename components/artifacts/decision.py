"""The gate's decision: each threshold, what was observed, and what follows, as data and text.

`decision.json` in the blessing artifact is `Decision` as JSON:

    blessed            true or false
    reason             one sentence
    mode               enforce or none
    model_digest       SHA-256 of the files of the model that was scored; Pusher pushes no others
    baseline           what the candidate was compared with; null where there was none
    videos, examples   evaluated; examples are rows: segments at segment level, else videos
    spans              that the evaluated data are of; empty where data have none
    metrics            name -> {value, lower, upper} of the candidate (null where undefined)
    baseline_metrics   the same of the baseline, {} without one
    differences        candidate - baseline, by name, {value, lower, upper}
    checks             a list of {metric, slice, needed, observed, lower, upper, videos,
                       videos_needed, passed, applied, note}; `applied` is false for a limit on a
                       change where there is no baseline; `videos_needed` is about how many
                       videos tell what was observed from the limit, null where none can
    notes              what a reader must know (intervals of a sample, unlike class counts, ...)
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from yt8m.components.artifacts.estimate import Estimate, estimate_text
from yt8m.schemas.json_file import JsonFile
from yt8m.schemas.metric_names import GAP

FILE_NAME = "decision.json"


class GateMode(enum.Enum):
    """Whether there is a gate."""

    ENFORCE = "enforce"
    NONE = "none"  # every model that can be scored is blessed; has to be written out


@dataclass(frozen=True, kw_only=True)
class Check:
    """One threshold and its result."""

    metric: str
    needed: str  # e.g. "gap >= 0.7", for people
    slice: str = ""
    threshold: float | None = None
    observed: float | None = None
    lower: float | None = None
    upper: float | None = None
    videos: int = 0  # that it was observed on
    videos_needed: int | None = None
    passed: bool = False
    applied: bool = True
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Decision(JsonFile):
    """Whether the model may be pushed, and why."""

    blessed: bool
    reason: str
    mode: GateMode = GateMode.ENFORCE
    model_digest: str = ""  # filled in by the Evaluator
    baseline: str | None = None
    is_baseline: bool = False  # the model is the very one in service; filled in by the Evaluator
    videos: int = 0
    examples: int = 0
    spans: tuple[int, ...] = ()
    metrics: dict[str, Estimate] = field(default_factory=dict)
    baseline_metrics: dict[str, Estimate] = field(default_factory=dict)
    differences: dict[str, Estimate] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_below_baseline(self) -> bool:
        """Whether the candidate's GAP is lower than that of what it was compared with."""
        change = self.differences.get(GAP, Estimate()).value
        return change is not None and change < 0


def decision_text(decision: Decision) -> str:
    """The decision as a person reads it."""
    rows = "segments" if decision.examples != decision.videos else ""
    among = f" ({decision.examples:,} {rows})" if rows else ""
    several = "spans" if len(decision.spans) > 1 else "span"
    of = f" of {several} {', '.join(map(str, decision.spans))}" if decision.spans else ""
    lines = [
        f"{'BLESSED' if decision.blessed else 'NOT BLESSED'}: {decision.reason}",
        f"  evaluated: {decision.videos:,} videos{among}{of}; "
        f"baseline: {decision.baseline or 'none'}",
    ]
    lines += [f"  {_metric_line(decision, name)}" for name in decision.metrics]
    lines += [f"  {_check_line(check)}" for check in decision.checks]
    return "\n".join([*lines, *(f"  note: {note}" for note in decision.notes)])


def _metric_line(decision: Decision, name: str) -> str:
    text = f"{name:<9} {estimate_text(decision.metrics[name])}"
    if name in decision.baseline_metrics:
        text += f", baseline {estimate_text(decision.baseline_metrics[name])}"
    if name in decision.differences:
        text += f", difference {estimate_text(decision.differences[name], sign='+')}"
    return text


def _check_line(check: Check) -> str:
    state = "passed" if check.passed else "FAILED"
    if not check.applied:
        return f"not applicable  {check.needed}: {check.note}"
    on = f" on {check.slice}" if check.slice else ""
    found = "undefined" if check.observed is None else f"{check.observed:.6g}"
    notes = [text for text in (check.note, evidence_text(check)) if text]
    beside = f" ({'; '.join(notes)})" if notes else ""
    return f"{state:<9} {check.needed}{on}: {found}{beside}"


def evidence_text(check: Check) -> str:
    """How many videos the check had, and how many tell what was observed from the limit."""
    if check.videos_needed is None:
        return ""
    had, needed = f"{check.videos:,} videos", f"about {check.videos_needed:,}"
    if check.videos_needed <= check.videos:
        return f"decided by {had}, {needed} are enough"
    return f"undecided by {had}, {needed} would decide"
