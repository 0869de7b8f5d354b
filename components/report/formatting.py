"""Numbers as people read them, and axes that end on round ones."""

from __future__ import annotations

import math

from yt8m.components.artifacts.estimate import Estimate

MINUS = "−"
NONE = "–"
_FLAT = 1e-9  # a smaller range, relative to the values, is none


def metric(value: float | None, digits: int = 4) -> str:
    """A value between 0 and 1 (or a loss)."""
    return NONE if value is None else f"{value:.{digits}f}".replace("-", MINUS)


def observed(value: float | None) -> str:
    """Of any quantity: counts as such, the rest to four digits."""
    return count(value) if value is not None and value >= 10 else metric(value)


def signed(value: float | None, digits: int = 4) -> str:
    """A difference, with its sign."""
    return NONE if value is None else f"{value:+.{digits}f}".replace("-", MINUS)


def interval(estimate: Estimate, *, sign: bool = False) -> str:
    """`0.7012 to 0.7080`, or nothing."""
    if estimate.lower is None or estimate.upper is None:
        return ""
    show = signed if sign else metric
    return f"{show(estimate.lower)} to {show(estimate.upper)}"


def count(value: float) -> str:
    """A whole number with separators."""
    return f"{value:,.0f}"


def percent(share: float) -> str:
    """A share for a style sheet: `12.5%`, between 0 and 100."""
    return f"{100 * min(max(share, 0.0), 1.0):.1f}%"


def setting(value: object) -> str:
    """A value of the configuration."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def short(value: float) -> str:
    """For an axis: 1.5k, 20M, 0.25, 1e-05."""
    size = abs(value)
    if size >= 1e6:
        return f"{value / 1e6:g}M".replace("-", MINUS)
    if size >= 1e4:
        return f"{value / 1e3:g}k".replace("-", MINUS)
    if 0 < size < 1e-3:
        return f"{value:.0e}".replace("e-0", "e-").replace("-", MINUS)
    return f"{round(value, 6):g}".replace("-", MINUS)


def size(count_: float) -> str:
    """Bytes in the unit that fits."""
    for unit in ("B", "KB", "MB", "GB"):
        if count_ < 1000:
            return f"{count_:.0f} {unit}" if unit == "B" else f"{count_:.3g} {unit}"
        count_ /= 1000
    return f"{count_:.3g} TB"


def duration(seconds: float) -> str:
    """`850 ms`, `12.4 s`, `3 min 20 s`, `2 h 05 min`."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def ticks(low: float, high: float, *, wanted: int = 5, whole: bool = False) -> list[float]:
    """Round numbers that span [low, high], about `wanted` of them; `whole`: integers only."""
    if high - low <= _FLAT * max(abs(low), abs(high), 1e-3):
        half = max(abs(low), abs(high)) * 0.1 or 0.5
        low, high = low - half, high + half
    step = _round_step((high - low) / max(wanted - 1, 1))
    if whole:
        step = max(1.0, math.ceil(step))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [float(f"{index * step:.12g}") for index in range(first, max(last, first + 1) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten that span [low, high]."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    step = max(1, math.ceil((last - first) / 5))
    return [10.0**power for power in range(first, max(last, first + 1) + step, step)]


def _round_step(step: float) -> float:
    magnitude = 10.0 ** math.floor(math.log10(step))
    for factor in (1, 2, 2.5, 5):
        if step <= factor * magnitude * (1 + 1e-9):
            return factor * magnitude
    return 10 * magnitude
