"""A metric's value with its confidence interval, wherever one is kept or shown."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A number with its interval; None where undefined or not worked out."""

    value: float | None = None
    lower: float | None = None
    upper: float | None = None


def estimate_of(value: float | None) -> Estimate:
    """The estimate without an interval; undefined where `value` is no number."""
    return Estimate(value=value if value is not None and math.isfinite(value) else None)


def paired_difference(one: Estimate, other: Estimate) -> Estimate:
    """`one` minus `other`, without an interval."""
    if one.value is None or other.value is None:
        return Estimate()
    return Estimate(value=one.value - other.value)


def estimate_columns(estimate: Estimate | None, name: str = "value") -> dict[str, float | None]:
    """A row's cells: the value, and its bounds under names of their own; none without estimate."""
    bounds = ("lower", "upper") if name == "value" else (f"{name}_lower", f"{name}_upper")
    values = vars(estimate).values() if estimate else ()
    return dict(zip((name, *bounds), values, strict=False))


def estimate_text(estimate: Estimate, *, sign: str = "") -> str:
    """`0.7012 [0.6950, 0.7071]`."""
    if estimate.value is None:
        return "undefined"
    text = f"{estimate.value:{sign}.4f}"
    if estimate.lower is not None and estimate.upper is not None:
        text += f" [{estimate.lower:{sign}.4f}, {estimate.upper:{sign}.4f}]"
    return text
