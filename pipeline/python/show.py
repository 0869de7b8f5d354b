"""How objects show themselves in a notebook: parts of the report, in a frame of their own style."""

from __future__ import annotations

import html

from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.report.parts.markup import Markup, element
from yt8m.components.report.style import STYLE


def frame(*parts: object, height: int = 420) -> str:
    """The parts as a document in a frame, so that neither its style nor the notebook's leaks."""
    body = element("body", element("main", *parts))
    page = element("html", element("head", element("style", Markup(STYLE))), body, lang="en")
    return (
        f'<iframe srcdoc="{html.escape(page, quote=True)}" '
        f'style="width:100%;height:{height}px;border:0"></iframe>'
    )


def estimate_columns(estimate: Estimate | None, name: str = "value") -> dict[str, float | None]:
    """A row's cells: the value, and its bounds under names of their own."""
    bounds = ("lower", "upper") if name == "value" else (f"{name}_lower", f"{name}_upper")
    values = vars(estimate).values() if estimate else ()
    return dict(zip((name, *bounds), values, strict=False))
