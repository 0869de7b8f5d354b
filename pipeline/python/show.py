"""Objects in a notebook: parts of the report, in a frame of their own style."""

from __future__ import annotations

from markupsafe import Markup

from yt8m.components.report.rendering import render

_FRAME = Markup('<iframe srcdoc="{}" style="width:100%;height:{}px;border:0"></iframe>')


def frame(*parts: Markup, height: int = 420) -> str:
    """The parts as a document in a frame, so that neither its style nor the notebook's leaks."""
    return str(_FRAME.format(str(render("fragment.html", parts=parts)), height))
