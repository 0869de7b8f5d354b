"""SVG from Python: everything that is not markup already is escaped."""

from __future__ import annotations

from markupsafe import Markup, escape

_VOID = frozenset({"circle", "line", "polyline", "polygon", "rect"})


def element(name: str, /, *children: object, **attributes: object) -> Markup:
    """`<name attribute="...">children</name>`; `class_` is class, `_` in a name is `-`."""
    shown = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{shown}/>")
    return Markup(f"<{name}{shown}>{join(*children)}</{name}>")


def join(*children: object) -> Markup:
    """Join the children, which are text unless they are markup; None vanishes."""
    return Markup().join(escape(child) for child in children if child is not None)
