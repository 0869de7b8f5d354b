"""The gate's decision, and the evaluator's curves, slices and classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yt8m.components.artifacts import decision as decision_file
from yt8m.components.artifacts import evaluation
from yt8m.components.report.collect_run import read_json
from yt8m.components.report.config import ReportConfig
from yt8m.components.report.inputs import Sources
from yt8m.components.report.model import (
    CheckFacts,
    ClassFacts,
    CurveFacts,
    Estimate,
    EvaluationFacts,
    MetricFacts,
    SliceFacts,
)

_GAP = "gap"
_ORDER = (_GAP, "hit_at_1", "perr", "map", "loss")
_MODELS = ("candidate", "baseline")


def collect_evaluation(sources: Sources, config: ReportConfig) -> EvaluationFacts:
    """What the evaluator found; empty where it did not run."""
    decision = read_json(sources.model_blessing, decision_file.FILE_NAME)
    found = read_json(sources.evaluation, evaluation.FILE_NAME)
    if not decision and not found:
        return EvaluationFacts()
    classes = [_class(row) for row in found.get("classes", ())]
    ranked = sorted(classes, key=lambda one: (-one.candidate, -one.positives, one.class_id))
    shown = min(config.classes, (len(ranked) + 1) // 2)
    return EvaluationFacts(
        videos=int(found.get("videos") or decision.get("videos", 0)),
        examples=int(found.get("examples") or decision.get("examples", 0)),
        spans=tuple(found.get("spans") or decision.get("spans", ())),
        confidence=found.get("confidence"),
        notes=tuple(decision.get("notes") or found.get("notes", ())),
        metrics=_metrics(decision or _as_decision(found)),
        checks=tuple(_check(check) for check in decision.get("checks", ())),
        slices=tuple(_slice(row) for row in found.get("slices", ()) if _GAP in row["candidate"]),
        best_classes=tuple(ranked[:shown]),
        worst_classes=tuple(reversed(ranked[len(ranked) - min(shown, len(ranked) - shown) :])),
        classes=len(ranked),
        precision_recall=_curves(found.get("precision_recall", {}), x="recall", y="precision"),
        calibration=_curves(found.get("calibration", {}), x="mean_score", y="hit_rate"),
    )


def _metrics(decision: Mapping[str, Any]) -> tuple[MetricFacts, ...]:
    candidate = decision.get("metrics", {})
    baseline = decision.get("baseline_metrics", {})
    difference = decision.get("differences", {})
    names = [*(n for n in _ORDER if n in candidate), *(n for n in candidate if n not in _ORDER)]
    return tuple(
        MetricFacts(
            name=name,
            candidate=_estimate(candidate[name]),
            baseline=_estimate(baseline[name]) if name in baseline else None,
            difference=_estimate(difference[name]) if name in difference else None,
        )
        for name in names
    )


def _estimate(parts: Mapping[str, Any]) -> Estimate:
    return Estimate(**{key: parts.get(key) for key in ("value", "lower", "upper")})


def _check(check: Mapping[str, Any]) -> CheckFacts:
    return CheckFacts(
        metric=check["metric"],
        needed=check["needed"],
        observed=check.get("observed"),
        passed=check["passed"],
        slice_name=check.get("slice", ""),
        applied=check.get("applied", True),
        note=check.get("note", ""),
    )


def _class(row: Mapping[str, Any]) -> ClassFacts:
    return ClassFacts(
        class_id=row["class_id"],
        name=row.get("name") or "",
        positives=row["positives"],
        candidate=row["candidate"],
        baseline=row.get("baseline"),
    )


def _slice(row: Mapping[str, Any]) -> SliceFacts:
    baseline = row.get("baseline") or {}
    return SliceFacts(
        name=f"{row['column']} = {row['value']}",
        examples=row["examples"],
        candidate=_estimate(row["candidate"][_GAP]),
        baseline=_estimate(baseline[_GAP]) if _GAP in baseline else None,
    )


def _as_decision(found: Mapping[str, Any]) -> dict[str, Any]:
    """The evaluator's own figures by the decision's names, where the gate did not get to one."""
    overall = found["overall"]
    return {
        "metrics": overall["candidate"],
        "baseline_metrics": overall["baseline"],
        "differences": overall["difference"],
    }


def _curves(by_model: Mapping[str, Any], *, x: str, y: str) -> dict[str, CurveFacts]:
    found = {}
    for model in _MODELS:
        rows = [r for r in by_model.get(model, ()) if r.get(x) is not None and r.get(y) is not None]
        if rows:
            found[model] = CurveFacts(
                x=tuple(float(row[x]) for row in rows), y=tuple(float(row[y]) for row in rows)
            )
    return found
