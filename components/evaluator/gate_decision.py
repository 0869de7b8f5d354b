"""From TFMA's verdict to the decision: each limit with what was observed, and one sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tensorflow_model_analysis.proto import validation_result_pb2

from yt8m.components.artifacts.decision import Check, Decision, GateMode, evidence_text
from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.artifacts.evaluation import Evaluation, SliceMetrics
from yt8m.components.evaluator.config import GateConfig
from yt8m.components.evaluator.tfma_gate import baseline_numbers, candidate_numbers
from yt8m.components.evaluator.thresholds import EXAMPLE_COUNT, GateLimit, LimitKind
from yt8m.components.metrics.catalogue import GAP
from yt8m.components.metrics.intervals import Interval, videos_to_decide

_NO_BASELINE = "there is no baseline, so changes do not apply"


def decide(
    evaluation: Evaluation,
    gate: GateConfig,
    limits: Sequence[GateLimit],
    verdict: validation_result_pb2.ValidationResult,
    *,
    baseline: str | None,
) -> Decision:
    """The decision; TFMA's verdict makes it, and the checks explain it."""
    parts = {f"{p.column}={p.value}" if p.column else "": p for p in _all_parts(evaluation)}
    failures = _failures(verdict)
    checks = [_check(limit, parts, failures, baseline is not None) for limit in limits]
    checks += _user_checks(failures, limits)
    enforced = gate.mode is not GateMode.NONE
    blessed = bool(verdict.validation_ok) if enforced else not evaluation.broken
    overall = evaluation.overall
    return Decision(
        blessed=blessed,
        reason=_reason(evaluation, gate, checks, blessed=blessed, baseline=baseline),
        mode=gate.mode,
        baseline=baseline,
        videos=evaluation.videos,
        examples=evaluation.examples,
        spans=evaluation.spans,
        metrics=dict(overall.candidate),
        baseline_metrics=dict(overall.baseline),
        differences=dict(overall.difference),
        checks=tuple(checks),
        notes=evaluation.notes,
    )


def _all_parts(evaluation: Evaluation) -> list[SliceMetrics]:
    return [evaluation.overall, *evaluation.slices]


_Failure = tuple[str, bool, str]  # number, is a difference, slice


def _failures(verdict: validation_result_pb2.ValidationResult) -> dict[_Failure, list[str]]:
    """TFMA's failures, each with its thresholds and message."""
    found: dict[_Failure, list[str]] = {}
    for part in verdict.metric_validations_per_slice:
        keys = part.slice_key.single_slice_keys
        name = ",".join(f"{k.column}={k.bytes_value.decode()}" for k in keys)
        for failure in part.failures:
            key = (failure.metric_key.name, failure.metric_key.is_diff, name)
            found.setdefault(key, []).append(_described(failure))
    return found


def _described(failure: validation_result_pb2.ValidationFailure) -> str:
    needed = str(failure.metric_threshold).replace("\n", " ").strip()
    found = failure.metric_value.double_value.value if failure.HasField("metric_value") else None
    return f"needs {needed}, found {'nothing' if found is None else f'{found:.6g}'}"


def _check(
    limit: GateLimit,
    parts: Mapping[str, SliceMetrics],
    failures: Mapping[_Failure, list[str]],
    has_baseline: bool,
) -> Check:
    part = parts.get(limit.slice)
    applied = has_baseline or not limit.needs_baseline
    observed = None if part is None or not applied else _observed(limit, part)
    failed = (limit.number, limit.is_change, limit.slice) in failures
    if part is None:
        note = "no evaluated example is in this slice"
    elif not applied:
        note = _NO_BASELINE
    else:
        note = ""
    interval = Estimate() if part is None else _interval(limit, part)
    return Check(
        metric=limit.metric,
        needed=limit.text,
        slice=limit.slice,
        threshold=limit.limit,
        observed=observed,
        lower=interval.lower,
        upper=interval.upper,
        videos=0 if part is None else part.videos,
        videos_needed=None if part is None else _videos_needed(limit, part, interval),
        # A number may have several limits; which of them failed, the number tells.
        passed=not applied
        or (observed is not None and not (failed and not _meets(limit, observed))),
        applied=applied,
        note=note,
    )


def _observed(limit: GateLimit, part: SliceMetrics) -> float | None:
    value = candidate_numbers(part).get(limit.number, math.nan)
    if limit.is_change:
        theirs = baseline_numbers(part).get(limit.number, math.nan)
        value -= theirs
        if limit.kind is LimitKind.RELATIVE_CHANGE_AT_LEAST:
            value = value / theirs if theirs else math.nan
    return None if math.isnan(value) else value


def _meets(limit: GateLimit, observed: float) -> bool:
    if limit.kind in (LimitKind.AT_MOST, LimitKind.CHANGE_AT_MOST):
        return observed <= limit.limit
    return observed >= limit.limit


def _interval(limit: GateLimit, part: SliceMetrics) -> Estimate:
    source = part.difference if limit.needs_baseline else part.candidate
    return source.get(limit.metric, Estimate())


def _videos_needed(limit: GateLimit, part: SliceMetrics, found: Estimate) -> int | None:
    """How many videos tell the value, or the difference, from the limit."""
    bound = limit.limit
    if limit.kind is LimitKind.RELATIVE_CHANGE_AT_LEAST:
        theirs = part.baseline.get(limit.metric, Estimate()).value
        bound *= theirs or math.nan
    if found.value is None or found.lower is None or found.upper is None or math.isnan(bound):
        return None
    interval = Interval(lower=found.lower, upper=found.upper)
    return videos_to_decide(part.videos, interval, value=found.value, limit=bound)


def _user_checks(
    failures: Mapping[_Failure, list[str]], limits: Sequence[GateLimit]
) -> list[Check]:
    """Failures of thresholds in the user's own eval config."""
    ours = {(limit.number, limit.is_change, limit.slice) for limit in limits}
    return [
        Check(metric=name, needed=f"{name} as evaluator.eval_config requires", slice=part, note=why)
        for (name, is_diff, part), reasons in failures.items()
        if (name, is_diff, part) not in ours
        for why in reasons
    ]


def _reason(
    evaluation: Evaluation,
    gate: GateConfig,
    checks: Sequence[Check],
    *,
    blessed: bool,
    baseline: str | None,
) -> str:
    if evaluation.broken:
        return next(iter(evaluation.broken.values()))
    if gate.mode is GateMode.NONE:
        return "gate.mode is none: every model is pushed"
    if evaluation.examples == 0:
        return "no example was evaluated"
    if not blessed:
        failed = [check for check in checks if check.applied and not check.passed]
        return "; ".join(_sentence(check) for check in failed) or "TFMA's validator rejected it"
    gap = evaluation.overall.candidate[GAP].value
    against = (
        "no baseline yet: value thresholds alone decided"
        if baseline is None
        else f"GAP {evaluation.overall.difference[GAP].value:+.4f} against the baseline"
    )
    return f"GAP {gap:.4f} clears every threshold ({against})"


def _sentence(check: Check) -> str:
    on = f" on {check.slice}" if check.slice else ""
    if check.threshold is None:  # a threshold of the user's own, which TFMA describes
        return f"{check.needed}{on}: {check.note}"
    if check.metric == EXAMPLE_COUNT:
        found = 0 if check.observed is None else int(check.observed)
        return f"{found:,} examples were evaluated, gate.min_examples is {check.threshold:,.0f}"
    if check.observed is not None:
        evidence = evidence_text(check)
        because = f" ({evidence})" if evidence else ""
        return f"{check.needed} is needed{on}, it is {check.observed:.6g}{because}"
    return f"{check.needed} is needed{on}, and it is undefined" + (
        f": {check.note}" if check.note else ""
    )
