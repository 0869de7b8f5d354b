"""The gate's thresholds one by one, each as one limit on one plain number.

A bound of an interval is a number of its own (`gap_lower`, `gap_diff_lower`, ...), because TFMA's
validator compares plain numbers only.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from yt8m.components.artifacts.decision import GateMode
from yt8m.components.evaluator.config import GateConfig, Threshold

EXAMPLE_COUNT = "example_count"


class Kind(enum.Enum):
    """What is limited, and from which side."""

    AT_LEAST = ">="
    AT_MOST = "<="
    CHANGE_AT_LEAST = "change >="
    CHANGE_AT_MOST = "change <="
    RELATIVE_CHANGE_AT_LEAST = "relative change >="


CHANGES = (Kind.CHANGE_AT_LEAST, Kind.CHANGE_AT_MOST, Kind.RELATIVE_CHANGE_AT_LEAST)


@dataclass(frozen=True, kw_only=True)
class GateLimit:
    """One limit. `number` is the name that TFMA knows the number by."""

    metric: str
    number: str
    kind: Kind
    limit: float
    slice: str = ""
    needs_baseline: bool = False

    @property
    def is_change(self) -> bool:
        """Whether TFMA's change thresholds express it; bounds of changes are values to TFMA."""
        return self.kind in CHANGES and self.number == self.metric

    @property
    def text(self) -> str:
        """For people."""
        what = "evaluated examples" if self.metric == EXAMPLE_COUNT else self.metric
        if self.kind in CHANGES:
            against = "relative change" if self.kind is Kind.RELATIVE_CHANGE_AT_LEAST else "change"
            what = f"{against} of {what} against the baseline"
        if self.number != self.metric:
            what = f"lower bound of {what}"
        sign = "<=" if self.kind in (Kind.AT_MOST, Kind.CHANGE_AT_MOST) else ">="
        return f"{what} {sign} {self.limit:g}"


def expand_thresholds(gate: GateConfig) -> list[GateLimit]:
    """Every limit of `gate`, the number of examples first; none where the gate is off."""
    if gate.mode is GateMode.NONE:
        return []
    count = GateLimit(
        metric=EXAMPLE_COUNT, number=EXAMPLE_COUNT, kind=Kind.AT_LEAST, limit=gate.min_examples
    )
    return [count, *(limit for t in gate.all_thresholds for limit in _limits(t))]


def _limits(threshold: Threshold) -> Iterator[GateLimit]:
    metric = threshold.metric
    sure = threshold.confident
    rows = (
        (threshold.minimum, Kind.AT_LEAST, f"{metric}_lower"),
        (threshold.maximum, Kind.AT_MOST, metric),
        (threshold.min_change, Kind.CHANGE_AT_LEAST, f"{metric}_diff_lower"),
        (threshold.max_change, Kind.CHANGE_AT_MOST, metric),
        (
            threshold.min_relative_change,
            Kind.RELATIVE_CHANGE_AT_LEAST,
            f"{metric}_relative_diff_lower",
        ),
    )
    for limit, kind, bound in rows:
        if limit is not None:
            yield GateLimit(
                metric=metric,
                number=bound if sure else metric,
                kind=kind,
                limit=limit,
                slice=threshold.slice,
                needs_baseline=kind in CHANGES,
            )
