"""The plain numbers of one part of the data, by the names that TFMA and the gate use.

`gap`, `map`, `perr`, `hit_at_1`, `loss`, `example_count`; bounds of GAP's interval as `gap_lower`
and `gap_upper`, of the paired difference as `gap_diff_lower` and `gap_diff_upper`, and of the
difference relative to the baseline's GAP as `gap_relative_diff_lower` and `..._upper`. What is
undefined is NaN, which passes no threshold.
"""

from __future__ import annotations

import math

from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.artifacts.evaluation import SliceMetrics
from yt8m.components.evaluator.config import GAP
from yt8m.components.evaluator.thresholds import EXAMPLE_COUNT


def candidate_numbers(part: SliceMetrics) -> dict[str, float]:
    """All numbers of the candidate."""
    numbers = _model_numbers(part.candidate, part.examples)
    if part.baseline:
        difference = part.difference.get(GAP, Estimate())
        theirs = _number(part.baseline[GAP].value)
        for side, bound in (("lower", difference.lower), ("upper", difference.upper)):
            numbers[f"{GAP}_diff_{side}"] = _number(bound)
            numbers[f"{GAP}_relative_diff_{side}"] = (
                _number(bound) / theirs if theirs > 0 else math.nan
            )
    return numbers


def baseline_numbers(part: SliceMetrics) -> dict[str, float]:
    """The numbers of the baseline; none without one."""
    return _model_numbers(part.baseline, part.examples) if part.baseline else {}


def difference_numbers(part: SliceMetrics) -> dict[str, float]:
    """Candidate minus baseline, by metric; none without a baseline."""
    ours, theirs = candidate_numbers(part), baseline_numbers(part)
    return {name: ours[name] - theirs[name] for name in theirs}


def _model_numbers(estimates: dict[str, Estimate], examples: int) -> dict[str, float]:
    numbers = {name: _number(estimate.value) for name, estimate in estimates.items()}
    numbers[f"{GAP}_lower"] = _number(estimates[GAP].lower)
    numbers[f"{GAP}_upper"] = _number(estimates[GAP].upper)
    numbers[EXAMPLE_COUNT] = float(examples)
    return numbers


def _number(value: float | None) -> float:
    return math.nan if value is None else value
