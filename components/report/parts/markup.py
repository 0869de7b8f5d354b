"""HTML and SVG from Python: every text is escaped unless it was made here."""

from __future__ import annotations

import html


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


VOID = frozenset({"meta", "br", "circle", "line", "path", "rect", "polyline", "polygon"})


def element(name: str, /, *children: object, **attributes: object) -> Markup:
    """`<name attribute="...">children</name>`; `class_` is class, `_` in a name is `-`."""
    shown = "".join(
        f' {_attribute(key)}="{html.escape(str(value), quote=True)}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in VOID:
        return Markup(f"<{name}{shown}/>")
    return Markup(f"<{name}{shown}>{join(*children)}</{name}>")


def join(*children: object) -> Markup:
    """Children one after the other; None and empty texts vanish."""
    return Markup("".join(_text(child) for child in children if child is not None))


def _text(child: object) -> str:
    return child if isinstance(child, Markup) else html.escape(str(child), quote=False)


def _attribute(name: str) -> str:
    # SVG's camel case (viewBox) passes as it is.
    return name.rstrip("_").replace("_", "-")
