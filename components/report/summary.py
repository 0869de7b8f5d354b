"""`report.json`: what the page shows, for scripts."""

from __future__ import annotations

from typing import Any

from yt8m.components.report.evaluation_views import (
    best_and_worst,
    calibration_curves,
    calibration_errors,
    gained_and_lost,
    gap_by_slice,
    metric_rows,
    precision_recall_curves,
)
from yt8m.components.report.model import DataSummary, RunReport
from yt8m.schemas.config_tree import to_dict
from yt8m.schemas.json_file import to_text

_CHECK_KEYS = ("metric", "needed", "observed", "passed", "applied", "note")


def summary_json(report: RunReport) -> str:
    """The report as JSON."""
    values = to_dict(report)
    del values["decision"], values["shown"]
    values |= {"evaluation": _evaluation(report), "data": _data(report.data)}
    return to_text(values)


def _evaluation(report: RunReport) -> dict[str, Any]:
    evaluated, evaluation, decision = report.evaluated, report.evaluation, report.decision
    best, worst = best_and_worst(report)
    gained, lost = gained_and_lost(report)
    rows = metric_rows(report.overall)
    slices = [
        {
            "name": row.name,
            "examples": part.examples,
            "candidate": to_dict(row.candidate),
            "baseline": to_dict(row.baseline),
        }
        for part, row in gap_by_slice(evaluation)
    ]
    return {
        "videos": evaluated.videos if evaluated else 0,
        "examples": evaluated.examples if evaluated else 0,
        "spans": to_dict(evaluated.spans if evaluated else ()),
        "confidence": evaluation.confidence if evaluation else None,
        "notes": to_dict(evaluated.notes if evaluated else ()),
        "metrics": [{key: to_dict(value) for key, value in row._asdict().items()} for row in rows],
        "checks": [
            {**{key: getattr(check, key) for key in _CHECK_KEYS}, "slice_name": check.slice}
            for check in (decision.checks if decision else ())
        ],
        "slices": slices,
        "gained_classes": to_dict(gained),
        "lost_classes": to_dict(lost),
        "worst_videos": to_dict(evaluation.worst_videos if evaluation else ()),
        "confusions": to_dict(evaluation.confusions if evaluation else ()),
        "best_classes": to_dict(best),
        "worst_classes": to_dict(worst),
        "classes": len(evaluation.classes) if evaluation else 0,
        "precision_recall": to_dict(precision_recall_curves(evaluation)),
        "calibration": to_dict(calibration_curves(evaluation)),
        "calibration_error": calibration_errors(evaluation),
        "operating_points": to_dict(evaluation.operating_points if evaluation else ()),
    }


def _data(data: DataSummary) -> dict[str, Any]:
    values: dict[str, Any] = to_dict(data)
    return values | values.pop("comparisons")
