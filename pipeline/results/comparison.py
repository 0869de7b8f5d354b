"""Comparison of two runs or versions: their settings and their results."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from yt8m.components.artifacts.estimate import Estimate, estimate_text
from yt8m.components.artifacts.evaluation import ClassMetrics
from yt8m.components.artifacts.spans import are_dates, spans_text
from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.results.model_results import ModelResults
from yt8m.schemas.config_tree import flatten, to_dict
from yt8m.schemas.roles import (
    AfterGate,
    KeyRole,
    OutputPath,
    ResultNeutral,
    declared_with,
    is_below,
)

# Where things lie, how they are done and what is done afterwards make no model better.
_SAME_MODEL: tuple[type[KeyRole], ...] = (OutputPath, ResultNeutral, AfterGate)


@dataclass(frozen=True, kw_only=True)
class MetricComparison:
    """One metric of both; `difference` is the second's minus the first's."""

    name: str
    a: Estimate
    b: Estimate
    difference: Estimate


@dataclass(frozen=True, kw_only=True)
class ClassComparison:
    """The average precision of one class in both."""

    class_id: int
    name: str
    videos: int
    a: float
    b: float

    @property
    def gain(self) -> float:
        return self.b - self.a


@dataclass(frozen=True, kw_only=True)
class ResultsComparison:
    """Whatever both have. Classes: the most gained first."""

    a: ModelResults
    b: ModelResults
    settings: Mapping[str, tuple[Any, Any]]  # configured values that differ, by dotted path
    metrics: tuple[MetricComparison, ...]
    classes: tuple[ClassComparison, ...]
    notes: tuple[str, ...]

    @property
    def is_paired(self) -> bool:
        """Whether the differences were measured video by video."""
        return bool(_paired(self.a, self.b))

    @property
    def conclusion(self) -> str:
        """The better one by GAP, or no significant difference; "" where neither has one."""
        difference = next((m.difference for m in self.metrics if m.name == "gap"), None)
        if difference is None or difference.value is None:
            return ""
        gap = f"GAP {estimate_text(difference, sign='+')}"
        if difference.lower is None or difference.upper is None:
            return f"{gap}, without an interval"
        if difference.lower <= 0 <= difference.upper:
            who = "these videos" if self.is_paired else "evaluations of each alone"
            return f"{who} show no significant difference: {gap}, an interval that contains zero"
        return f"b is {'better' if difference.value > 0 else 'worse'} than a: {gap}"

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "conclusion": self.conclusion,
            "a": self.a.name,
            "b": self.b.name,
            "settings": {key: {"a": a, "b": b} for key, (a, b) in self.settings.items()},
            "metrics": [to_dict(metric) for metric in self.metrics],
            "classes": [{**to_dict(one), "gain": one.gain} for one in self.classes],
            "notes": list(self.notes),
        }


def compare(a: ModelResults, b: ModelResults, *, support: int = 1) -> ResultsComparison:
    """`b` against `a`; classes of at least `support` videos."""
    return ResultsComparison(
        a=a,
        b=b,
        settings=changed_settings(a.configuration, b.configuration),
        metrics=tuple(_metrics(a, b)),
        classes=_classes(a, b, support),
        notes=tuple(_notes(a, b)),
    )


def changed_settings(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The values that make the model and differ, by dotted path."""
    then, now = flatten(a), flatten(b)
    changed = [key for key in dict.fromkeys([*then, *now]) if then.get(key) != now.get(key)]
    neutral = [key for role in _SAME_MODEL for key, _ in declared_with(PipelineConfig, role)]
    return {
        key: (then.get(key), now.get(key))
        for key in changed
        if not any(is_below(key, other) for other in neutral)
    }


def _metrics(a: ModelResults, b: ModelResults) -> list[MetricComparison]:
    paired = _paired(a, b)
    return [
        MetricComparison(
            name=name,
            a=one,
            b=b.metrics[name],
            difference=paired.get(name) or _minus(b.metrics[name], one),
        )
        for name, one in a.metrics.items()
        if name in b.metrics
    ]


def _paired(a: ModelResults, b: ModelResults) -> Mapping[str, Estimate]:
    """The differences that b's gate has measured video by video, where `a` was its baseline."""
    decision = b.outputs.decision
    was_baseline = decision and a.version and decision.baseline == f"version {a.version}"
    return decision.differences if decision and was_baseline else {}


def _minus(b: Estimate, a: Estimate) -> Estimate:
    """As of two independent measurements."""
    if a.value is None or b.value is None:
        return Estimate()
    value = b.value - a.value
    if a.lower is None or a.upper is None or b.lower is None or b.upper is None:
        return Estimate(value=value)
    down = math.hypot(b.value - b.lower, a.upper - a.value)
    up = math.hypot(b.upper - b.value, a.value - a.lower)
    return Estimate(value=value, lower=value - down, upper=value + up)


def _classes(a: ModelResults, b: ModelResults, support: int) -> tuple[ClassComparison, ...]:
    first: dict[int, ClassMetrics] = {c.class_id: c for c in _evaluated(a)}
    compared = [
        ClassComparison(
            class_id=c.class_id,
            name=c.name or f"class {c.class_id}",  # as the published vocabulary has some without
            videos=c.positives,
            a=first[c.class_id].candidate,
            b=c.candidate,
        )
        for c in _evaluated(b)
        if c.class_id in first and min(c.positives, first[c.class_id].positives) >= support
    ]
    return tuple(sorted(compared, key=lambda one: (-one.gain, one.class_id)))


def _evaluated(one: ModelResults) -> tuple[ClassMetrics, ...]:
    return evaluation.classes if (evaluation := one.outputs.evaluation) else ()


def _spans(one: ModelResults) -> str:
    return spans_text(one.spans, dated=are_dates(one.configuration))


def _model(one: ModelResults, otherwise: str) -> str:
    return one.outputs.uri("model") or otherwise


def _notes(a: ModelResults, b: ModelResults) -> list[str]:
    notes = []
    if a.spans and b.spans and a.spans != b.spans:
        notes.append(
            f"a was made from {_spans(a)} of the data and b from {_spans(b)}: the data differ as "
            "well as the settings"
        )
        if _paired(a, b):
            notes.append(
                "each column is of that model's own evaluation; the differences are of both models "
                "on the videos of b's, where a was the baseline"
            )
    videos = [e.videos if (e := one.outputs.evaluation) else None for one in (a, b)]
    if None not in videos and videos[0] != videos[1]:
        notes.append(
            f"they were evaluated on {videos[0]:,} and {videos[1]:,} videos: metrics on different "
            "data are harder to compare"
        )
    notes += [
        f"{one.name}: its evaluation no longer exists, so classes cannot be compared"
        for one in (a, b)
        if one.outputs.evaluation is None
    ]
    if not _paired(a, b):
        notes.append(
            "the differences' intervals assume independent measurements and are therefore too "
            f"wide: `yt8m evaluate --model {_model(b, 'B')} --baseline {_model(a, 'A')} --data "
            "DIR` pairs them by video"
        )
    return notes
