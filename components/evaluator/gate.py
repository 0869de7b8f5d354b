"""What the gate asks, checked before anything runs."""

from __future__ import annotations

import dataclasses

from yt8m.components.artifacts.decision import GateMode
from yt8m.components.evaluator.config import EvaluatorConfig, GateConfig
from yt8m.schemas.errors import ConfigError

KNOWN_METRICS = ("gap", "map", "perr", "hit_at_1", "loss")


def check_gate(gate: GateConfig, evaluator: EvaluatorConfig | None = None) -> list[str]:
    """Everything that is wrong with the gate, a line each; an empty list lets the run start.

    With the evaluator's node, metrics and slices that will not exist are found as well.
    """
    problems = _unguarded(gate)
    if evaluator is None:
        return problems
    columns = {part.column for part in evaluator.slices}
    for i, threshold in enumerate(gate.thresholds):
        where = f"gate.thresholds[{i}]"
        if threshold.metric not in KNOWN_METRICS and not evaluator.eval_config:
            problems.append(
                f"{where}.metric = {threshold.metric!r}: must be one of "
                f"{', '.join(KNOWN_METRICS)}, or a metric that evaluator.eval_config adds"
            )
        if threshold.slice and threshold.slice.partition("=")[0] not in columns:
            problems.append(
                f"{where}.slice = {threshold.slice!r}: evaluator.slices has no such slice; "
                f"known: {', '.join(sorted(columns)) or 'none'}"
            )
    if not evaluator.bootstrap.replicates and any(t.confident for t in gate.all_thresholds):
        problems.append(
            "gate.confident = True: there is no interval without a bootstrap; set "
            "evaluator.bootstrap.replicates to 200"
        )
    return problems


def _unguarded(gate: GateConfig) -> list[str]:
    if gate.mode is GateMode.NONE or any(t.asks_value and not t.slice for t in gate.all_thresholds):
        return []
    changes = any(True for _ in gate.all_thresholds)
    because = (
        "a change is not measured where there is no baseline, so anything would pass the first time"
        if changes
        else "nothing would hold a bad model back"
    )
    return [
        f"gate.gap_threshold = None: the gate needs a minimum on all data ({because}); set "
        "gate.gap_threshold, or write gate.mode: none to ship whatever is trained"
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
