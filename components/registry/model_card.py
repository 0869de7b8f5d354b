"""The model card of a version: `README.md` in Hugging Face's form, filled from the record."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from yt8m.components.artifacts.decision import Decision
from yt8m.components.artifacts.estimate import Estimate, estimate_text
from yt8m.components.artifacts.infra_check import Serving
from yt8m.components.artifacts.spans import are_dates, span_names, spans_text
from yt8m.components.artifacts.version_record import (
    RECORD_FILE,
    Origin,
    VersionRecord,
)
from yt8m.components.metrics.catalogue import METRICS
from yt8m.schemas.config_tree import from_dict, known_keys
from yt8m.schemas.errors import ConfigError

TASK = "video-classification"
_TEMPLATES = Path(__file__).parent / "templates"
_TITLES = {metric.name: metric.title for metric in METRICS}
_ESCAPED = str.maketrans({char: f"\\{char}" for char in "\\`*_{}[]<#|"})


def model_card(record: VersionRecord) -> str:
    """The text of the card."""
    title = f"{_name(record)}, version {record.version}"
    decision = _part(Decision, record.decision)
    dated = are_dates(record.configuration)
    sliced = {name for part in record.slices.values() for name in part.metrics}
    return (
        _environment()
        .get_template("model_card.md")
        .render(
            head=yaml.safe_dump(_head(record, title), sort_keys=False, allow_unicode=True),
            title=_line(title),
            record=record,
            titles=_TITLES,
            columns=[name for name in record.metrics if name in sliced],
            spans=span_names(record.data.spans, dated=dated),
            evaluated=_evaluated(decision, dated=dated) if decision else "",
            checks=[check for check in decision.checks if check.applied] if decision else [],
            serving=_part(Serving, record.infra_check.get("serving") or {}),
            limits=[*_limits(record, decision)],
            origin=_origin(record),
            record_file=RECORD_FILE,
        )
    )


def _head(record: VersionRecord, title: str) -> dict[str, Any]:
    """The fields that Hugging Face reads; what is not known is left out."""
    licence = {"license": record.license} if record.license else {}
    head: dict[str, Any] = {
        **licence,
        "library_name": "tensorflow",
        "pipeline_tag": TASK,
        "tags": ["youtube-8m", "savedmodel", *([record.data.level] if record.data.level else [])],
    }
    defined = {name: e.value for name, e in record.metrics.items() if e.value is not None}
    if not defined:
        return head
    spans = record.decision.get("spans", ())
    of = f" of {spans_text(spans, dated=are_dates(record.configuration))}" if spans else ""
    result = {
        "task": {"type": TASK, "name": "Multi-label classification of videos"},
        "dataset": {
            "type": "youtube-8m",
            "name": f"Evaluation records{of}",
        },
        "metrics": [
            {"type": name, "name": _TITLES.get(name, name), "value": value}
            for name, value in defined.items()
        ],
    }
    return {**head, "model-index": [{"name": title, "results": [result]}]}


def _name(record: VersionRecord) -> str:
    match record.configuration.get("trainer"):
        case {"model": {"name": str(name)}} | {"starter_code": {"model": str(name)}}:
            return f"YouTube-8M {name}"
        case {"ensemble": [*members]}:
            return f"YouTube-8M ensemble of {len(members)} models"
    return "YouTube-8M model"


def _part(cls: Any, fields: Mapping[str, Any]) -> Any:
    """The record's part about one step; None where it is missing, or of another form."""
    try:
        return from_dict(cls, known_keys(cls, fields)) if fields else None
    except ConfigError:
        return None


def _evaluated(decision: Decision, *, dated: bool) -> str:
    rows = decision.examples != decision.videos
    among = f" ({decision.examples:,} segments)" if rows else ""
    of = f", of {spans_text(decision.spans, dated=dated)}" if decision.spans else ""
    return f"On {decision.videos:,} videos{among}{of}."


def _limits(record: VersionRecord, decision: Decision | None) -> Iterator[str]:
    features = record.configuration.get("features")
    if isinstance(features, Mapping) and "num_classes" in features:
        yield f"It knows {features['num_classes']} classes, and scores every record among them."
    yield "It takes records of YouTube-8M's features, and no video files."
    if not record.blessed:
        yield "It was not blessed by a gate."
    if not record.metrics:
        yield "Its quality was not measured."
    if record.metrics and all(e.lower is None for e in record.metrics.values()):
        yield "Its metrics have no intervals."
    if not record.infra_check:
        yield "Its latency and memory were not measured."
    yield from decision.notes if decision else ()
    if not record.license:
        yield "Its licence is not recorded."
    yield (
        "YouTube-8M is published under CC BY 4.0; whether these records are part of it is not "
        "recorded."
    )


def _origin(record: VersionRecord) -> str:
    match record.origin:
        case Origin.ROLLBACK:
            return f"the files of version {record.origin_version} again"
        case Origin.IMPORT:
            return f"imported from {record.origin_path}"
        case Origin.PUSH:
            return "pushed by a run of the pipeline"


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=False,  # Markdown: the filters escape
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
    environment.filters.update(
        line=_line, cell=_line, number=_number, interval=_interval, estimate=estimate_text
    )
    environment.filters["result"] = lambda check: "passed" if check.passed else "failed"
    return environment


def _line(text: str) -> str:
    """One line of Markdown that reads as `text`, without its full stop."""
    return " ".join(str(text).split()).removesuffix(".").translate(_ESCAPED)


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.6g}"


def _interval(estimate: Estimate) -> str:
    if estimate.lower is None or estimate.upper is None:
        return ""
    return f"{estimate.lower:.6g} to {estimate.upper:.6g}"
