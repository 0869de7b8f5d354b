"""The gate's decision: each threshold, the observed value and the result, as data and text.

`decision.json` in the blessing artifact is `Decision` as JSON:

    blessed            true or false
    reason             one sentence
    mode               enforce or none
    model_digest       SHA-256 of the files of the model that was scored; Pusher pushes no others
    baseline           what the candidate was compared with; null where there was none
    videos, examples   evaluated; examples are rows: segments at segment level, else videos
    spans              that the evaluated data are of; empty where data have none
    dated              whether every span is a date
    metrics            name -> {value, lower, upper} of the candidate (null where undefined)
    baseline_metrics   the same of the baseline, {} without one
    differences        candidate - baseline, by name, {value, lower, upper}
    champion           {name, digest, when_pushed, metrics, differences} of the best version so far:
                       metrics on these videos and when it was pushed, candidate - champion; null
                       where there is none, or it has retired
    champion_retired   why it has retired; empty where it has not
    not_compared       what is wrong with each version that should have been compared with
    vocabulary_digest  of the classes' names; empty without a vocabulary
    checks             a list of {metric, slice, needed, threshold, is_maximum, observed,
                       lower, upper, videos, videos_needed, passed, applied, note}; `applied` is
                       false for a limit on a
                       change where there is no baseline; `videos_needed` is about how many
                       videos tell what was observed from the limit, null where none can
    notes              what a reader must know (intervals of a sample, unlike class counts, ...)
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, field

from yt8m.components.artifacts.estimate import Estimate, estimate_text, paired_difference
from yt8m.components.artifacts.spans import spans_text
from yt8m.schemas.json_file import JsonFile
from yt8m.schemas.metric_names import GAP

FILE_NAME = "decision.json"


class GateMode(enum.Enum):
    """Mode of the gate."""

    ENFORCE = "enforce"
    NONE = "none"  # bless every model that can be scored; never the default


@dataclass(frozen=True, kw_only=True)
class Check:
    """One threshold and its result."""

    metric: str
    needed: str  # e.g. "gap >= 0.7", for people
    slice: str = ""
    threshold: float | None = None
    is_maximum: bool = False  # of the threshold
    observed: float | None = None
    lower: float | None = None
    upper: float | None = None
    videos: int = 0  # that it was observed on
    videos_needed: int | None = None
    passed: bool = False
    applied: bool = True
    note: str = ""

    @property
    def margin(self) -> Estimate:
        """The distance of the observed value from the threshold, positive on the allowed side."""
        if self.threshold is None:
            return Estimate()
        sign = -1.0 if self.is_maximum else 1.0
        value, *bounds = (
            None if observed is None else sign * (observed - self.threshold)
            for observed in (self.observed, self.lower, self.upper)
        )
        lower, upper = bounds if sign > 0 else reversed(bounds)
        return Estimate(value=value, lower=lower, upper=upper)


@dataclass(frozen=True, kw_only=True)
class Champion:
    """The best version so far, on the videos that the candidate was judged by."""

    name: str
    digest: str  # of its model
    when_pushed: dict[str, Estimate] = field(default_factory=dict)  # on the videos of that time
    metrics: dict[str, Estimate] = field(default_factory=dict)
    differences: dict[str, Estimate] = field(default_factory=dict)  # candidate - champion

    @property
    def is_beaten(self) -> bool:
        """Whether the candidate is better beyond doubt; by the value alone without intervals."""
        change = self.differences.get(GAP, Estimate())
        least = change.value if change.lower is None else change.lower
        return least is not None and least > 0

    @property
    def drift(self) -> Estimate:
        """How much GAP these videos changed: of one model now, and when it was pushed.

        Other videos, so the two are independent; the interval has the length that follows.
        """
        now, then = self.metrics.get(GAP, Estimate()), self.when_pushed.get(GAP, Estimate())
        change = paired_difference(now, then)
        bounds = (now.value, now.lower, now.upper, then.value, then.lower, then.upper)
        known = [bound for bound in bounds if bound is not None]
        if change.value is None or len(known) < len(bounds):
            return change
        value, lower, upper, its_value, its_lower, its_upper = known
        return Estimate(
            value=change.value,
            lower=change.value - math.hypot(value - lower, its_upper - its_value),
            upper=change.value + math.hypot(upper - value, its_value - its_lower),
        )


@dataclass(frozen=True, kw_only=True)
class Decision(JsonFile):
    """Whether the model may be pushed, and why."""

    blessed: bool
    reason: str
    mode: GateMode = GateMode.ENFORCE
    model_digest: str = ""  # filled in by the Evaluator
    baseline: str | None = None
    is_baseline: bool = False  # the model in service is the same; filled in by the Evaluator
    videos: int = 0
    examples: int = 0
    spans: tuple[int, ...] = ()
    dated: bool = False
    metrics: dict[str, Estimate] = field(default_factory=dict)
    baseline_metrics: dict[str, Estimate] = field(default_factory=dict)
    differences: dict[str, Estimate] = field(default_factory=dict)
    champion: Champion | None = None
    champion_retired: str = ""
    not_compared: tuple[str, ...] = ()
    vocabulary_digest: str = ""
    checks: tuple[Check, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def champion_digest(self) -> str:
        """Of the best model so far, should this one be pushed; empty where no other is known."""
        if self.champion is not None and not self.champion.is_beaten:
            return self.champion.digest
        return self.model_digest if self.champion is not None or self.champion_retired else ""

    @property
    def is_below_baseline(self) -> bool:
        """Whether the candidate's GAP is lower than that of what it was compared with."""
        change = self.differences.get(GAP, Estimate()).value
        return change is not None and change < 0


def decision_text(decision: Decision) -> str:
    """The decision as a person reads it."""
    rows = "segments" if decision.examples != decision.videos else ""
    among = f" ({decision.examples:,} {rows})" if rows else ""
    of = f" of {spans_text(decision.spans, dated=decision.dated)}" if decision.spans else ""
    lines = [
        f"{'BLESSED' if decision.blessed else 'NOT BLESSED'}: {decision.reason}",
        f"  evaluated: {decision.videos:,} videos{among}{of}; "
        f"baseline: {decision.baseline or 'none'}",
    ]
    lines += [f"  {_metric_line(decision, name)}" for name in decision.metrics]
    lines += [f"  {line}" for line in champion_lines(decision)]
    lines += [f"  {_check_line(check)}" for check in decision.checks]
    return "\n".join([*lines, *(f"  note: {note}" for note in decision.notes)])


def _metric_line(decision: Decision, name: str) -> str:
    text = f"{name:<9} {estimate_text(decision.metrics[name])}"
    if name in decision.baseline_metrics:
        text += f", baseline {estimate_text(decision.baseline_metrics[name])}"
    if name in decision.differences:
        text += f", difference {estimate_text(decision.differences[name], sign='+')}"
    return text


def champion_lines(decision: Decision) -> list[str]:
    """The candidate against the champion, and what of a change is the data's."""
    champion = decision.champion
    if champion is None:
        return [decision.champion_retired] if decision.champion_retired else []
    change = champion.differences.get(GAP, Estimate())
    lines = [
        f"the model: GAP {estimate_text(change, sign='+')} against {champion.name}, the champion, "
        "on the same videos"
    ]
    if champion.drift.value is not None:
        lines.append(
            f"the data: {champion.name} has GAP {estimate_text(champion.metrics[GAP])} on these "
            f"videos, and had {estimate_text(champion.when_pushed[GAP])} when it was pushed: "
            f"{estimate_text(champion.drift, sign='+')}"
        )
    return lines


def _check_line(check: Check) -> str:
    state = "passed" if check.passed else "FAILED"
    if not check.applied:
        return f"not applicable  {check.needed}: {check.note}"
    on = f" on {check.slice}" if check.slice else ""
    observed = "undefined" if check.observed is None else f"{check.observed:.6g}"
    notes = [text for text in (check.note, evidence_text(check)) if text]
    beside = f" ({'; '.join(notes)})" if notes else ""
    return f"{state:<9} {check.needed}{on}: {observed}{beside}"


def evidence_text(check: Check) -> str:
    """How many videos the check had, and how many tell what was observed from the limit."""
    if check.videos_needed is None:
        return ""
    had, needed = f"{check.videos:,} videos", f"about {check.videos_needed:,}"
    if check.videos_needed <= check.videos:
        return f"significant with {had}, {needed} are enough"
    return f"not significant with {had}, {needed} are needed"
