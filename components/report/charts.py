"""Plots as inline SVG. Colours are classes, so that the page's style sheet decides them.

The drawing area is narrow on purpose: at 360 units its texts stay legible when a phone shows the
whole plot, and on a wide screen several plots are side by side.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.report import formatting
from yt8m.components.report.markup import element, join
from yt8m.components.report.model import Curve, MetricRow

WIDTH = 360
_HEIGHT = 230
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 20, 10, 38
_ROW = 40
# One for each of several runs; their colours and dashes are in the style sheet.
RUN_STYLES = tuple(f"run-{number}" for number in range(1, 9))
_INSET = 16
_MAX_POINTS = 400
_DAY_S = 86400.0


@dataclass(frozen=True, kw_only=True)
class Series:
    """One line or cloud of points; `style` is candidate, baseline, validation, plain or a run's."""

    name: str
    style: str
    curve: Curve
    line: bool = True
    dots: bool = False


@dataclass(frozen=True, kw_only=True)
class Period:
    """Something that lasted; both ends are seconds since 1970."""

    name: str
    start: float
    end: float


@dataclass(frozen=True, kw_only=True)
class Axis:
    """A labelled axis; without limits they come from the data."""

    label: str
    low: float | None = None
    high: float | None = None
    log: bool = False
    whole: bool = False  # of numbers that are counted, such as steps and runs


def line_chart(
    title: str, series: Sequence[Series], *, x: Axis, y: Axis, diagonal: bool = False
) -> Markup:
    """Lines over a grid, with a legend where there are several."""
    curves = [_finite(s.curve, log_x=x.log, log_y=y.log) for s in series]
    x_scale = _Scale(x, [v for c in curves for v in c.x], _LEFT, WIDTH - _RIGHT)
    y_scale = _Scale(y, [v for c in curves for v in c.y], _HEIGHT - _BOTTOM, _TOP)
    parts = [_grid(x_scale, y_scale, x, y)]
    if diagonal:
        low, high = x_scale.at(0), x_scale.at(1)
        parts.append(
            element("line", x1=low, y1=y_scale.at(0), x2=high, y2=y_scale.at(1), class_="reference")
        )
    for one, curve in zip(series, curves, strict=True):
        points = [(x_scale.at(a), y_scale.at(b)) for a, b in zip(curve.x, curve.y, strict=True)]
        parts.append(_drawn(one, points))
    described = f"{title}: {y.label} over {x.label}; " + "; ".join(
        f"{s.name}, {len(s.curve.x)} points, last {formatting.short(c.y[-1])}"
        for s, c in zip(series, curves, strict=True)
        if c.y
    )
    return _figure(title, described, _HEIGHT, parts, _legend(series))


def interval_chart(
    title: str, rows: Sequence[MetricRow], *, beside: Sequence[MetricRow] = ()
) -> Markup:
    """One row each: a dot with its interval for the candidate, and below for the baseline.

    `beside` are the rows of the other plots that this one is to be compared with by eye.
    """
    shown = [e for row in (*rows, *beside) for e in (row.candidate, row.baseline) if e is not None]
    values = [v for e in shown for v in (e.value, e.lower, e.upper) if v is not None]
    height = _ROW * len(rows) + 34
    scale = _Scale(Axis(label=""), values or [0.0, 1.0], _INSET, WIDTH - _INSET)
    parts: list[Markup] = []
    for tick in scale.ticks:
        at = _px(scale.at(tick))
        parts.append(element("line", x1=at, y1=6, x2=at, y2=height - 24, class_="grid"))
        parts.append(
            element("text", formatting.short(tick), x=at, y=height - 9, class_="tick middle")
        )
    for index, row in enumerate(rows):
        top = index * _ROW + 16
        parts.append(element("text", _clipped(row.name, 44), x=_INSET, y=top, class_="row-label"))
        parts.append(_interval(row.candidate, "candidate", scale, top + 9))
        if row.baseline is not None:
            parts.append(_interval(row.baseline, "baseline", scale, top + 18))
    described = f"{title}: " + "; ".join(
        f"{row.name} {formatting.metric(row.candidate.value)}" for row in rows
    )
    styles = ["candidate", *(["baseline"] if any(row.baseline for row in rows) else [])]
    legend = _legend_of([(style, style, True) for style in styles])
    return _figure(title, described, height, parts, legend)


def timeline(title: str, periods: Sequence[Period]) -> Markup:
    """A bar for each period over the dates, the newest at the top."""
    first, last = min(p.start for p in periods), max(p.end for p in periods)
    length = max(last - first, 1.0)
    form = "%H:%M" if length < 2 * _DAY_S else "%m-%d" if length < 300 * _DAY_S else "%Y-%m"
    height = _ROW * len(periods) + 34

    def at(moment: float) -> float:
        return _INSET + (moment - first) / length * (WIDTH - 2 * _INSET)

    parts: list[Markup] = []
    for place, style in ((0.0, ""), (0.5, " middle"), (1.0, " end")):
        moment = first + place * length
        label = time.strftime(form, time.localtime(moment))
        parts += [
            element("line", x1=at(moment), y1=6, x2=at(moment), y2=height - 24, class_="grid"),
            element("text", label, x=at(moment), y=height - 9, class_=f"tick{style}"),
        ]
    for row, period in enumerate(reversed(periods)):
        top, start, end = row * _ROW + 16, at(period.start), at(period.end)
        said = " to ".join(
            time.strftime("%Y-%m-%d %H:%M", time.localtime(moment))
            for moment in (period.start, period.end)
        )
        width = _px(max(end - start, 1.5))
        bar = element("rect", x=_px(start), y=top + 6, width=width, height=10, class_="bar")
        parts += [
            element("text", _clipped(period.name, 44), x=_INSET, y=top, class_="row-label"),
            element("g", element("title", f"{period.name}: {said}"), bar),
        ]
    described = f"{title}: " + "; ".join(period.name for period in reversed(periods))
    return _figure(title, described, height, parts, None)


class _Scale:
    """From values to units of the drawing."""

    def __init__(self, axis: Axis, values: Sequence[float], start: float, end: float) -> None:
        low = axis.low if axis.low is not None else min(values, default=0.0)
        high = axis.high if axis.high is not None else max(values, default=1.0)
        self.ticks = (
            formatting.log_ticks(low, high)
            if axis.log
            else formatting.ticks(low, high, whole=axis.whole)
        )
        self._of: Callable[[float], float] = math.log10 if axis.log else float
        self._low, self._high = self._of(self.ticks[0]), self._of(self.ticks[-1])
        self._start, self._end = start, end

    def at(self, value: float) -> float:
        share = (self._of(value) - self._low) / (self._high - self._low)
        return self._start + share * (self._end - self._start)


def _grid(x_scale: _Scale, y_scale: _Scale, x: Axis, y: Axis) -> Markup:
    bottom, parts = _HEIGHT - _BOTTOM, []
    for tick in y_scale.ticks:
        at = _px(y_scale.at(tick))
        parts.append(element("line", x1=_LEFT, y1=at, x2=WIDTH - _RIGHT, y2=at, class_="grid"))
        parts.append(
            element("text", formatting.short(tick), x=_LEFT - 6, y=at, dy=4, class_="tick end")
        )
    for tick in x_scale.ticks:
        at = _px(x_scale.at(tick))
        parts.append(element("line", x1=at, y1=bottom, x2=at, y2=bottom + 4, class_="axis"))
        parts.append(
            element("text", formatting.short(tick), x=at, y=bottom + 16, class_="tick middle")
        )
    parts.append(element("line", x1=_LEFT, y1=bottom, x2=WIDTH - _RIGHT, y2=bottom, class_="axis"))
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    parts.append(element("text", x.label, x=middle, y=_HEIGHT - 5, class_="label middle"))
    return join(*parts)


def _drawn(series: Series, points: list[tuple[float, float]]) -> Markup:
    shown = _thinned(points)
    parts = []
    if series.line and len(shown) > 1:
        path = " ".join(f"{_px(a)},{_px(b)}" for a, b in shown)
        parts.append(element("polyline", points=path, class_=f"line {series.style}"))
    if series.dots or len(shown) == 1:
        parts += [_mark(a, b, series.style) for a, b in shown]
    return join(*parts)


def _interval(estimate: Estimate, style: str, scale: _Scale, y: float) -> Markup:
    if estimate.value is None:
        return Markup("")
    parts = []
    if estimate.lower is not None and estimate.upper is not None:
        low, high = _px(scale.at(estimate.lower)), _px(scale.at(estimate.upper))
        parts.append(element("line", x1=low, y1=y, x2=high, y2=y, class_=f"interval {style}"))
    said = f"{style} {formatting.metric(estimate.value)} {formatting.interval(estimate)}"
    parts.append(_mark(scale.at(estimate.value), y, style))
    return element("g", element("title", said.strip()), *parts)


def _mark(x: float, y: float, style: str) -> Markup:
    """A disc, or for the baseline a hollow diamond: distinguishable without colour."""
    if style == "baseline":
        corners = ((x, y - 4.5), (x + 4.5, y), (x, y + 4.5), (x - 4.5, y))
        points = " ".join(f"{_px(a)},{_px(b)}" for a, b in corners)
        return element("polygon", points=points, class_="mark baseline")
    return element("circle", cx=_px(x), cy=_px(y), r=3.5, class_=f"mark {style}")


def _figure(
    title: str, described: str, height: float, parts: Sequence[Markup], legend: Markup | None
) -> Markup:
    drawing = element(
        "svg",
        element("title", title),
        element("desc", described),
        *parts,
        viewBox=f"0 0 {WIDTH} {height:g}",
        role="img",
        aria_label=described,
    )
    return element("figure", element("figcaption", title, legend), drawing)


def _legend(series: Sequence[Series]) -> Markup | None:
    return _legend_of([(s.name, s.style, s.dots) for s in series]) if len(series) > 1 else None


def _legend_of(entries: Sequence[tuple[str, str, bool]]) -> Markup:
    """A swatch for each name, style, and whether its points are marked."""
    keys = []
    for name, style, marked in entries:
        line = element("line", x1=0, y1=6, x2=22, y2=6, class_=f"line {style}")
        mark = _mark(11, 6, style) if marked else None
        swatch = element("svg", line, mark, viewBox="0 0 22 12", aria_hidden="true")
        keys.append(element("span", swatch, name, class_="key"))
    return element("span", *keys, class_="legend")


def _finite(curve: Curve, *, log_x: bool, log_y: bool) -> Curve:
    pairs = [
        (a, b)
        for a, b in zip(curve.x, curve.y, strict=True)
        if math.isfinite(a) and math.isfinite(b) and (a > 0 or not log_x) and (b > 0 or not log_y)
    ]
    return Curve(x=tuple(a for a, _ in pairs), y=tuple(b for _, b in pairs))


def _thinned(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """At most `_MAX_POINTS`, with the highest and lowest of each stretch, so that spikes stay."""
    if len(points) <= _MAX_POINTS:
        return points
    length = math.ceil(len(points) / (_MAX_POINTS // 2))
    kept = []
    for start in range(0, len(points), length):
        stretch = points[start : start + length]
        extremes = {min(stretch, key=lambda p: p[1]), max(stretch, key=lambda p: p[1])}
        kept += sorted(extremes)
    return kept


def _clipped(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _px(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
