"""HTML from the templates: everything that is not markup already is escaped, and text is plain.

A template gets its values from the caller, formats them by the filters, and may call the functions
of `plots` and `views`.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from yt8m.components.artifacts.decision import champion_lines, evidence_text
from yt8m.components.artifacts.spans import spans_text
from yt8m.components.report import evaluation_views as views
from yt8m.components.report import formatting, plots
from yt8m.schemas.config_tree import flatten
from yt8m.schemas.metric_names import LOSS
from yt8m.schemas.plain_text import plain

TEMPLATES = Path(__file__).parent / "templates"
_FILTERS = (
    champion_lines,
    evidence_text,
    spans_text,
    formatting.count,
    formatting.duration,
    formatting.interval,
    formatting.metric,
    formatting.observed,
    formatting.percent,
    formatting.setting,
    formatting.signed,
    formatting.size,
    views.class_name,
    views.direction,
    views.f1,
    views.gain,
    views.slice_size,
)


def render(template: str, /, *, folder: Path = TEMPLATES, **values: object) -> Markup:
    """The template with these values; one of another `folder` may extend and import ours."""
    return Markup(plain(_environment(folder).get_template(template).render(values)).strip())


@functools.cache
def _environment(folder: Path) -> Environment:
    environment = Environment(
        loader=FileSystemLoader([folder, TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    script = (TEMPLATES / "script.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment.filters |= {function.__name__: function for function in _FILTERS}
    environment.globals |= {
        "LOSS": LOSS,
        "dash": formatting.NONE,
        "flatten": flatten,
        "plots": plots,
        "views": views,
        "script": Markup(script),
        "script_hash": Markup(f"'sha256-{digest}'"),
        "style": Markup((TEMPLATES / "style.css").read_text(encoding="utf-8")),
    }
    return environment
