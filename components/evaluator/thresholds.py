"""The gate's thresholds: checked before anything runs, replaced by an operator's, made limits."""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Iterable, Iterator, Mapping

from yt8m.components.artifacts.decision import GateMode
from yt8m.components.evaluator.config import EvaluatorConfig, GateConfig, Threshold
from yt8m.components.evaluator.gate import EXAMPLE_COUNT, GateLimit, Quantity
from yt8m.components.metrics.catalogue import METRICS, Metric
from yt8m.components.metrics.own import with_own
from yt8m.schemas.code_digest import module_of
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.metric_names import GAP, LOSS
from yt8m.schemas.own_code import missing_module

_TENSORFLOW_MB = 500  # of a process that has imported it, about


def limits_of(gate: GateConfig) -> tuple[GateLimit, ...]:
    """Every limit of `gate`, the number of examples first; none where the gate is off."""
    if gate.mode is GateMode.NONE:
        return ()
    count = GateLimit(metric=EXAMPLE_COUNT, bound=gate.min_examples)
    return (
        count,
        *(limit for t in gate.all_thresholds for limit in _limits(t)),
        *_champion_limits(gate),
    )


def _champion_limits(gate: GateConfig) -> Iterator[GateLimit]:
    """How far below the best version so far: half as far as below the newest.

    The other half is for what an evaluation cannot tell, so that a series of small losses stays
    within it too (benchmarks/champion.py).
    """
    if gate.gap_change_threshold is not None:
        yield GateLimit(
            metric=GAP,
            bound=min(gate.gap_change_threshold, 0.0) / 2,
            quantity=Quantity.CHAMPION_CHANGE,
        )


def _limits(threshold: Threshold) -> Iterator[GateLimit]:
    rows = (
        (threshold.minimum, Quantity.VALUE, False),
        (threshold.maximum, Quantity.VALUE, True),
        (threshold.min_change, Quantity.CHANGE, False),
        (threshold.max_change, Quantity.CHANGE, True),
        (threshold.min_relative_change, Quantity.RELATIVE_CHANGE, False),
    )
    for bound, quantity, is_maximum in rows:
        if bound is not None:
            yield GateLimit(
                metric=threshold.metric,
                bound=bound,
                quantity=quantity,
                is_maximum=is_maximum,
                confident=threshold.confident,
                slice=threshold.slice,
            )


def check_gate(gate: GateConfig, evaluator: EvaluatorConfig | None = None) -> list[str]:
    """Everything that is wrong with the gate, one line each; an empty list lets the run start.

    With the evaluator's node, metrics and slices that will not exist are found as well.
    """
    problems = [*_unguarded(gate), *_futile_on_gap(gate), *_unservable(gate)]
    if evaluator is None:
        return problems
    try:
        own = with_own(_importable(evaluator.metrics), "evaluator.metrics")
        metrics = {metric.name: metric for metric in own}
    except ConfigError as error:
        return [*problems, str(error)]
    columns = {part.column for part in evaluator.slices}
    for i, threshold in enumerate(gate.thresholds):
        where = f"gate.thresholds[{i}]"
        problems += (f"{where}.{p}" for p in _metric_problems(threshold, metrics, evaluator))
        if threshold.slice and threshold.slice.partition("=")[0] not in columns:
            problems.append(
                f"{where}.slice = {threshold.slice!r}: evaluator.slices has no such slice; "
                f"known: {', '.join(sorted(columns)) or 'none'}"
            )
    if not evaluator.intervals.enabled and any(t.confident for t in gate.all_thresholds):
        problems.append(
            "gate.confident = True: needs confidence intervals, which evaluator.intervals.enabled "
            "= False turns off"
        )
    return problems


def nearest(name: str, names: Iterable[str]) -> str:
    """`; did you mean NAME?`; empty where none of `names` is like `name`."""
    close = difflib.get_close_matches(name, names, n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _metric_problems(
    threshold: Threshold, metrics: Mapping[str, Metric], evaluator: EvaluatorConfig
) -> Iterator[str]:
    """Problems of the threshold, as far as its metric goes."""
    name, metric = threshold.metric, metrics.get(threshold.metric)
    if metric is None and _importable(evaluator.metrics) == evaluator.metrics:
        if not evaluator.eval_config:
            yield (
                f"metric = {name!r}: must be one of {', '.join(metrics)}, or a metric that "
                f"evaluator.metrics or evaluator.eval_config adds{nearest(name, metrics)}"
            )
        elif threshold.confident:
            yield (
                f"confident = True: {name} has no interval, because TFMA computes it; leave "
                "confident out, or make it a metric of evaluator.metrics"
            )
    if metric is not None and metric.left_out is None and threshold.confident:
        yield (
            f"confident = True: {name} has no interval; leave confident out, or give the Metric "
            "its left_out"
        )
    if metric is not None:
        yield from (f"{field} = {problem}" for field, problem in _futile(threshold, metric))


def _importable(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Those whose module is here; an image may have the others."""
    return tuple(path for path in paths if not missing_module(module_of(path)))


def _futile(threshold: Threshold, metric: Metric) -> Iterator[tuple[str, str]]:
    """Limits that every model keeps, or none, by field: what they were meant for they do not do."""
    if not metric.is_share and metric.name != LOSS:  # whatever its range is
        return
    best = 1.0 if metric.is_share else math.inf
    name = threshold.metric
    rows = (
        ("minimum", threshold.minimum, name, (0.0, best)),
        ("maximum", threshold.maximum, name, (0.0, best)),
        ("min_change", threshold.min_change, f"a change of {name}", (-best, best)),
        ("max_change", threshold.max_change, f"a change of {name}", (-best, best)),
        (
            "min_relative_change",
            threshold.min_relative_change,
            f"a relative change of {name}",
            (-1.0, math.inf),
        ),
    )
    for field, bound, subject, (low, high) in rows:
        if bound is None:
            continue
        is_minimum = field.startswith("min")
        if (bound <= low) if is_minimum else (bound >= high):
            what, remedy = "every model passes", "; leave it out"
        elif (bound > high) if is_minimum else (bound < low):
            what, remedy = "no model passes", ""
        else:
            continue
        if metric.lower_is_better and field == "minimum":
            remedy = "; ask for a maximum"
        yield field, f"{bound:g}: {what}, for {subject} is from {low:g} to {high:g}{remedy}"


# The thresholds on GAP that have keys of their own, and what to write where all models may pass.
_GAP_KEYS = {
    "minimum": ("gap_threshold", "set the least that is good enough, or gate.mode: none"),
    "min_change": ("gap_change_threshold", "null allows any loss"),
    "min_relative_change": ("gap_relative_change_threshold", "leave it out"),
}


def _futile_on_gap(gate: GateConfig) -> Iterator[str]:
    [gap] = (metric for metric in METRICS if metric.name == GAP)
    for threshold in gate.all_thresholds[: len(gate.all_thresholds) - len(gate.thresholds)]:
        for field, problem in _futile(threshold, gap):
            key, remedy = _GAP_KEYS[field]
            yield f"gate.{key} = {problem.removesuffix('; leave it out')}; {remedy}"


def _unservable(gate: GateConfig) -> Iterator[str]:
    limit = gate.max_memory_mb
    if limit is not None and limit < _TENSORFLOW_MB:
        yield (
            f"gate.max_memory_mb = {limit:g}: no model can pass, because a process needs about "
            f"{_TENSORFLOW_MB} MB before it loads one"
        )
    given = {"max_latency_ms": gate.max_latency_ms, "max_memory_mb": limit}
    for name, value in given.items():
        if value is not None and gate.mode is GateMode.NONE:
            yield (
                f"gate.{name} = {value:g}: gate.mode = none disables every limit; leave one of "
                "them out"
            )


def _unguarded(gate: GateConfig) -> list[str]:
    if gate.mode is GateMode.NONE or any(
        t.binds_without_baseline and not t.slice for t in gate.all_thresholds
    ):
        return []
    changes = any(True for _ in gate.all_thresholds)
    because = (
        "without a baseline no change is measured, so the first model would always pass"
        if changes
        else "no threshold would reject a bad model"
    )
    return [
        f"gate.gap_threshold = None: the gate needs a minimum on all data ({because}); set "
        "gate.gap_threshold, or write gate.mode: none to push every model"
    ]


def resolve_gate(
    gate: GateConfig, *, gap_threshold: str = "", gap_change_threshold: str = ""
) -> GateConfig:
    """`gate` with the thresholds that an operator gave for this run; "" is as configured."""
    given = {
        "gap_threshold": gap_threshold,
        "gap_change_threshold": gap_change_threshold,
    }
    changes = {name: _number(name, text) for name, text in given.items() if text.strip()}
    try:
        return dataclasses.replace(gate, **changes)  # type: ignore[arg-type]
    except ConfigError:
        raise
    except Exception as error:  # the node's own check, which knows no path
        raise ConfigError(f"gate.{error}") from error


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ConfigError(f"gate.{name} = {text!r}: must be a number, e.g. 0.7") from error
