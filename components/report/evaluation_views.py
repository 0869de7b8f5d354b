"""Views of an evaluation for page and summary: rows, ranked classes, curves."""

from __future__ import annotations

from collections.abc import Iterable

from yt8m.components.artifacts.evaluation import ClassMetrics, Evaluation, SliceMetrics
from yt8m.components.metrics.catalogue import MetricInfo
from yt8m.components.metrics.curves import CalibrationBin, CurvePoint, calibration_error
from yt8m.components.report import formatting
from yt8m.components.report.model import Curve, MetricRow, RunReport
from yt8m.schemas.metric_names import GAP

_DRAWN = 6  # classes
_FEW_VIDEOS = 100
_MODELS = ("candidate", "baseline")


def metric_rows(part: SliceMetrics) -> list[MetricRow]:
    """Every metric, in its order."""
    return [
        MetricRow(name, estimate, part.baseline.get(name), part.difference.get(name))
        for name, estimate in part.candidate.items()
    ]


def direction(row: MetricRow, info: MetricInfo) -> str:
    """Whether the candidate is better (`up`) or worse (`down`) than the baseline."""
    change = row.difference.value if row.difference else None
    if not change or info.lower_is_better is None:
        return ""
    return "up" if (change > 0) != info.lower_is_better else "down"


def gap_by_slice(evaluation: Evaluation | None) -> list[tuple[SliceMetrics, MetricRow]]:
    """Each slice whose GAP is known, with a row named after it."""
    slices = evaluation.slices if evaluation else ()
    return [
        (
            part,
            MetricRow(f"{part.column} = {part.value}", part.candidate[GAP], part.baseline.get(GAP)),
        )
        for part in slices
        if GAP in part.candidate
    ]


def slice_size(part: SliceMetrics) -> str:
    """The examples of a slice, and whether they are too few to tell much."""
    few = part.videos < _FEW_VIDEOS
    return f"{formatting.count(part.examples)}{', few' if few else ''}"


def class_name(one: ClassMetrics) -> str:
    """The class as people call it."""
    return one.name if one.name and one.name != str(one.class_id) else f"class {one.class_id}"


def best_and_worst(report: RunReport) -> tuple[list[ClassMetrics], list[ClassMetrics]]:
    """Classes by average precision, best first and worst first; none is in both."""
    key = lambda one: (-one.candidate, -one.positives, one.class_id)  # noqa: E731
    return _ends(sorted(supported(report), key=key), report.shown.classes)


def gained_and_lost(report: RunReport) -> tuple[list[ClassMetrics], list[ClassMetrics]]:
    """Classes by what they gained over the baseline; none that lost is among the first."""
    known = [one for one in supported(report) if one.baseline is not None]
    first, last = _ends(
        sorted(known, key=lambda one: (-gain(one), one.class_id)), report.shown.classes
    )
    return [one for one in first if gain(one) > 0], [one for one in last if gain(one) < 0]


def gain(one: ClassMetrics) -> float:
    """Over the baseline; 0 where it does not know the class."""
    return 0.0 if one.baseline is None else one.candidate - one.baseline


def supported(report: RunReport) -> list[ClassMetrics]:
    """Classes that enough videos tell about."""
    classes = report.evaluation.classes if report.evaluation else ()
    return [one for one in classes if one.positives >= report.shown.support]


def drawn_classes(report: RunReport) -> list[ClassMetrics]:
    """Those that were asked for, else the most frequent, as far as they have thresholds."""
    if report.evaluation is None:
        return []
    known = [one for one in report.evaluation.classes if str(one.class_id) in _thresholds(report)]
    wanted = report.shown.curves
    if wanted:
        return [one for one in known if one.name in wanted or str(one.class_id) in wanted]
    return sorted(known, key=lambda one: -one.positives)[:_DRAWN]


def _thresholds(report: RunReport) -> dict[str, tuple[CurvePoint, ...]]:
    return report.evaluation.thresholds if report.evaluation else {}


def f1(point: CurvePoint) -> float:
    """The harmonic mean of precision and recall."""
    both = point.precision + point.recall
    return 2 * point.precision * point.recall / both if both else 0.0


def _ends(ranked: list[ClassMetrics], most: int) -> tuple[list[ClassMetrics], list[ClassMetrics]]:
    """The first and the last, those first; none is in both."""
    shown = min(most, (len(ranked) + 1) // 2)
    last = ranked[len(ranked) - min(shown, len(ranked) - shown) :]
    return ranked[:shown], last[::-1]


def precision_recall_curves(evaluation: Evaluation | None) -> dict[str, Curve]:
    """Precision over recall, by model."""
    by_model = evaluation.precision_recall if evaluation else {}
    return _curves({m: [(p.recall, p.precision) for p in by_model.get(m, ())] for m in _MODELS})


def calibration_curves(evaluation: Evaluation | None) -> dict[str, Curve]:
    """Observed hit rate over mean score, by model; empty bins are no points."""
    by_model = evaluation.calibration if evaluation else {}
    return _curves({m: [(b.mean_score, b.hit_rate) for b in by_model.get(m, ())] for m in _MODELS})


def calibration_errors(evaluation: Evaluation | None) -> dict[str, float]:
    """The expected calibration error, by model."""
    by_model = evaluation.calibration if evaluation else {}
    errors = {model: calibration_error(by_model[model]) for model in _MODELS if model in by_model}
    return {model: error for model, error in errors.items() if error is not None}


def reliability_rows(evaluation: Evaluation) -> list[tuple[CalibrationBin, CalibrationBin | None]]:
    """The candidate's bins of scores that have predictions, with the baseline's, highest first."""
    candidate, baseline = (evaluation.calibration.get(model, ()) for model in _MODELS)
    rows = [(one, baseline[i] if baseline else None) for i, one in enumerate(candidate)]
    return [(one, other) for one, other in reversed(rows) if one.count]


def _curves(by_model: dict[str, list[tuple[float | None, float | None]]]) -> dict[str, Curve]:
    curves = {model: _curve(points) for model, points in by_model.items()}
    return {model: curve for model, curve in curves.items() if curve.x}


def _curve(points: Iterable[tuple[float | None, float | None]]) -> Curve:
    known = [(x, y) for x, y in points if x is not None and y is not None]
    return Curve(x=tuple(x for x, _ in known), y=tuple(y for _, y in known))
