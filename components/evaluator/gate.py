"""The gate: limits, observed values, and the resulting decision.

The decision is made here and nowhere else. `tfma_output.py` writes it down in TFMA's terms.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from yt8m.components.artifacts.decision import Champion, Check, Decision, GateMode, evidence_text
from yt8m.components.artifacts.estimate import Estimate, estimate_text
from yt8m.components.artifacts.evaluation import Evaluation, SliceMetrics
from yt8m.components.metrics.intervals import Interval, videos_to_decide
from yt8m.schemas.metric_names import GAP

EXAMPLE_COUNT = "example_count"


class Quantity(enum.Enum):
    """The number that a limit bounds."""

    VALUE = "value"
    CHANGE = "change"  # candidate - baseline
    RELATIVE_CHANGE = "relative change"  # the same as a share of the baseline's value
    CHAMPION_CHANGE = "change against the champion"  # candidate - the best version so far


@dataclass(frozen=True, kw_only=True)
class GateLimit:
    """A bound on one metric, on all data or on one slice."""

    metric: str
    bound: float
    quantity: Quantity = Quantity.VALUE
    is_maximum: bool = False
    confident: bool = False  # the lower bound of the interval is compared, not the value
    slice: str = ""  # as `SliceMetrics.name`

    @property
    def needs_baseline(self) -> bool:
        """Whether it bounds a change from the baseline."""
        return self.quantity in (Quantity.CHANGE, Quantity.RELATIVE_CHANGE)

    @property
    def needs_champion(self) -> bool:
        """Whether it bounds a change from the best version so far."""
        return self.quantity is Quantity.CHAMPION_CHANGE

    @property
    def text(self) -> str:
        """The limit for people: `gap >= 0.7`."""
        subject = "evaluated examples" if self.metric == EXAMPLE_COUNT else self.metric
        if self.needs_baseline:
            subject = f"{self.quantity.value} of {subject} against the baseline"
        if self.needs_champion:
            subject = f"change of {subject} against the champion"
        if self.confident:
            subject = f"lower bound of {subject}"
        return f"{subject} {'<=' if self.is_maximum else '>='} {self.bound:g}"

    def is_kept_by(self, observed: float | None) -> bool:
        """Whether `observed` is within the bound; an undefined number (None, NaN) never is."""
        if observed is None:
            return False
        return observed <= self.bound if self.is_maximum else observed >= self.bound


def decide(
    evaluation: Evaluation,
    limits: Sequence[GateLimit],
    *,
    mode: GateMode = GateMode.ENFORCE,
    baseline: str | None = None,
    champion: Champion | None = None,
    more: Sequence[Check] = (),
) -> Decision:
    """Bless the candidate if it keeps every limit.

    `baseline` is the name of what the candidate was compared with, `champion` what is known of the
    best version so far; its metrics are the evaluation's. `more` are checks made elsewhere, which
    count like those of the limits.
    """
    parts = {part.name: part for part in evaluation.parts}
    known = _Compared(baseline=baseline is not None, champion=champion is not None)
    checks = [*(_check(limit, parts.get(limit.slice), known) for limit in limits), *more]
    overall = evaluation.overall
    if champion is not None:
        champion = replace(
            champion, metrics=overall.champion, differences=overall.champion_difference
        )
    if mode is GateMode.NONE:
        blessed = not evaluation.broken
    else:  # no checks, no blessing
        passed = bool(checks) and all(check.passed for check in checks)
        blessed = passed and not evaluation.broken
    return Decision(
        blessed=blessed,
        reason=_reason(evaluation, checks, mode=mode, blessed=blessed, baseline=baseline),
        mode=mode,
        baseline=baseline,
        videos=evaluation.videos,
        examples=evaluation.examples,
        spans=evaluation.spans,
        dated=evaluation.dated,
        metrics=dict(overall.candidate),
        baseline_metrics=dict(overall.baseline),
        differences=dict(overall.difference),
        champion=champion,
        checks=tuple(checks),
        notes=evaluation.notes,
    )


@dataclass(frozen=True, kw_only=True)
class _Compared:
    """A version that the candidate was compared with."""

    baseline: bool
    champion: bool

    def missing_for(self, limit: GateLimit) -> str:
        """Why `limit` does not apply; empty where it does."""
        if limit.needs_baseline and not self.baseline:
            return "there is no baseline, so changes do not apply"
        if limit.needs_champion and not self.champion:
            return "there is no champion to compare with"
        return ""


def _check(limit: GateLimit, part: SliceMetrics | None, compared: _Compared) -> Check:
    note = compared.missing_for(limit)
    applied = not note
    estimate = Estimate() if part is None or not applied else _observe(limit, part)
    observed = estimate.lower if limit.confident else estimate.value
    return Check(
        metric=limit.metric,
        needed=limit.text,
        slice=limit.slice,
        threshold=limit.bound,
        is_maximum=limit.is_maximum,
        observed=observed,
        lower=estimate.lower,
        upper=estimate.upper,
        videos=0 if part is None else part.videos,
        videos_needed=None if part is None else _videos_needed(limit, part, estimate),
        passed=not applied or limit.is_kept_by(observed),
        applied=applied,
        note="no evaluated example is in this slice" if part is None else note,
    )


def _observe(limit: GateLimit, part: SliceMetrics) -> Estimate:
    """The number that `limit` bounds, with its interval."""
    if limit.needs_champion:
        return part.champion_difference.get(limit.metric, Estimate())
    if not limit.needs_baseline:
        counted = {EXAMPLE_COUNT: Estimate(value=float(part.examples))}
        return (part.candidate | counted).get(limit.metric, Estimate())
    change = part.difference.get(limit.metric, Estimate())
    if limit.quantity is Quantity.CHANGE:
        return change
    theirs = part.baseline.get(limit.metric, Estimate()).value
    if change.value is None or not theirs:
        return Estimate()
    relative = Estimate(value=change.value / theirs)
    if change.lower is None or change.upper is None:
        return relative
    lower, upper = sorted((change.lower / theirs, change.upper / theirs))
    return Estimate(value=relative.value, lower=lower, upper=upper)


def _videos_needed(limit: GateLimit, part: SliceMetrics, estimate: Estimate) -> int | None:
    """How many videos would tell the observed value from the bound."""
    if estimate.value is None or estimate.lower is None or estimate.upper is None:
        return None
    interval = Interval(lower=estimate.lower, upper=estimate.upper)
    return videos_to_decide(part.videos, interval, value=estimate.value, limit=limit.bound)


def _reason(
    evaluation: Evaluation,
    checks: Sequence[Check],
    *,
    mode: GateMode,
    blessed: bool,
    baseline: str | None,
) -> str:
    if evaluation.broken:
        return next(iter(evaluation.broken.values()))
    if mode is GateMode.NONE:
        return "gate.mode is none: every model is pushed"
    if evaluation.examples == 0:
        return "no example was evaluated"
    if not blessed:
        failed = [_sentence(check) for check in checks if not check.passed]
        return "; ".join(failed) or "the gate has no limits; gate.mode=none pushes every model"
    overall = evaluation.overall
    against = "no baseline yet: only the limits on values apply"
    if baseline is not None:
        against = f"GAP {_value_text(overall.difference, sign='+')} against the baseline"
    return f"GAP {_value_text(overall.candidate)} clears every threshold ({against})"


def _value_text(estimates: Mapping[str, Estimate], *, sign: str = "") -> str:
    return estimate_text(Estimate(value=estimates.get(GAP, Estimate()).value), sign=sign)


def _sentence(check: Check) -> str:
    on = f" on {check.slice}" if check.slice else ""
    if check.threshold is None:  # made elsewhere, where it was described
        return f"{check.needed}{on}: {check.note}"
    if check.metric == EXAMPLE_COUNT:
        observed = 0 if check.observed is None else int(check.observed)
        return f"{observed:,} examples were evaluated, gate.min_examples is {check.threshold:,.0f}"
    if check.observed is not None:
        evidence = evidence_text(check)
        because = f" ({evidence})" if evidence else ""
        return f"{check.needed} is needed{on}, it is {check.observed:.6g}{because}"
    because = f": {check.note}" if check.note else ""
    return f"{check.needed} is needed{on}, and it is undefined{because}"
