"""Tables, meters and lists of the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from yt8m.components.report.parts.markup import Markup, element


@dataclass(frozen=True, kw_only=True)
class Column:
    """The head of a column. Optional ones are left out on a phone."""

    title: str
    numeric: bool = False
    optional: bool = False

    @property
    def classes(self) -> str | None:
        names = [n for n, on in (("number", self.numeric), ("optional", self.optional)) if on]
        return " ".join(names) or None


def table(
    columns: Sequence[Column],
    rows: Iterable[Sequence[object]],
    *,
    caption: str = "",
    bars: bool = False,
    tools: bool = False,
) -> Markup:
    """Rows below the heads of `columns`; the first cell of a row is its head.

    `bars` says that the first cells have meters, which need a width that names do not change.
    `tools` lets the reader sort and search it; on paper such a table ends early.
    """
    head = [element("th", c.title, scope="col", class_=c.classes) for c in columns]
    body = []
    for row in rows:
        cells = [
            element("th", cell, scope="row", class_=column.classes)
            if index == 0
            else element("td", cell, class_=column.classes)
            for index, (column, cell) in enumerate(zip(columns, row, strict=True))
        ]
        body.append(element("tr", *cells))
    return element(
        "table",
        element("caption", caption) if caption else None,
        element("thead", element("tr", *head)),
        element("tbody", *body),
        class_=" ".join(n for n, on in (("bars", bars), ("sortable", tools)) if on) or None,
    )


def meter(share: float, *, mark: float | None = None) -> Markup:
    """A bar that is `share` of its width long; `mark` is a tick on it."""
    filled = element("i", style=f"width:{_percent(share)}")
    tick = None if mark is None else element("b", style=f"left:{_percent(mark)}")
    return element("span", filled, tick, class_="meter", aria_hidden="true")


def details(summary: str, *content: Markup) -> Markup:
    """Content that is shown on request, and on paper."""
    return element("details", element("summary", summary), *content)


def description_list(items: Mapping[str, object]) -> Markup:
    """Terms and their descriptions."""
    parts = []
    for name, value in items.items():
        parts += [element("dt", name), element("dd", value)]
    return element("dl", *parts)


def notes(lines: Sequence[str]) -> Markup | None:
    """Remarks, one per line."""
    items = [element("li", line) for line in lines]
    return element("ul", *items, class_="notes") if items else None


def _percent(share: float) -> str:
    return f"{100 * min(max(share, 0.0), 1.0):.1f}%"
