"""Action of `yt8m config explain`."""

from __future__ import annotations

import dataclasses
import difflib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from yt8m.cli.arguments.config import ConfigExplainArguments
from yt8m.components.console.console import Console
from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.presets import preset_values
from yt8m.schemas.config_docs import NODE, FieldDoc, NodeDoc, describe, find
from yt8m.schemas.errors import UserError


def run(args: ConfigExplainArguments, console: Console) -> None:
    """Print what is known of the path."""
    documented = describe(PipelineConfig)
    fields, nodes = find(documented, args.path)
    if not fields and not nodes:
        raise UserError(f"{args.path}: unknown key{_nearest(args.path, documented)}")
    values = [
        (field, choices, _presets(field.path, choices)) for field, choices in _grouped(fields)
    ]
    blocks = [_explanation(*value) for value in values]
    blocks += [_listing(node, console, heading=len(nodes) > 1) for node in nodes]
    plain = [
        {**dataclasses.asdict(field), "choice": choices, "presets": presets}
        for field, choices, presets in values
    ]
    answer = {"path": args.path, "values": plain, "nodes": list(map(dataclasses.asdict, nodes))}
    console.result(answer, "\n\n".join(blocks))


def _nearest(path: str, documented: Sequence[NodeDoc]) -> str:
    known = [field.path for node in documented for field in node.fields]
    key = path.rpartition(".")[2]
    elsewhere = [place for place in known if place.rpartition(".")[2] == key]
    close = elsewhere or difflib.get_close_matches(path, known, n=1, cutoff=0.5)
    if not close:  # of a path that is the beginning or the end of one
        words = (place for place in known if key in place.rpartition(".")[2].split("_"))
        close = sorted(words, key=lambda place: (place.count("."), len(place)))
    if not close:  # of a path that is short beside those that are known
        by_key = {place.rpartition(".")[2]: place for place in reversed(known)}
        close = [by_key[key] for key in difflib.get_close_matches(key, by_key, n=1)]
    return f"; did you mean {close[0]}?" if close else "; `yt8m config explain` lists the nodes"


def _grouped(fields: Sequence[tuple[str, FieldDoc]]) -> list[tuple[FieldDoc, list[str]]]:
    """Fields that are the same but for the choice that they belong to, with these choices."""
    groups: list[tuple[FieldDoc, list[str]]] = []
    for choice, field in fields:
        same = next((choices for other, choices in groups if other == field), None)
        if same is None:
            groups.append((field, [choice] if choice else []))
        else:
            same.append(choice)
    return groups


def _presets(path: str, choices: Sequence[str]) -> dict[str, Any]:
    """The presets that set the value, with what they set it to."""
    *above, key = path.split(".")
    by_preset = {}
    for preset, values in preset_values().items():
        node: Any = values
        for part in above:
            node = node.get(part, {}) if isinstance(node, Mapping) else {}
        if isinstance(node, Mapping) and key in node:
            chosen = node.get("name")
            if not choices or chosen is None or chosen in choices:
                by_preset[preset] = node[key]
    return by_preset


def _explanation(field: FieldDoc, choices: Sequence[str], presets: Mapping[str, Any]) -> str:
    title = f"{field.path}  ({', '.join(choices)})" if choices else field.path
    if field.type == NODE:
        return f"{title}\n  {field.meaning}"
    shown = {
        "type": field.type,
        "default": field.default_text,
        "limits": field.limits,
        "role": field.role,
        "choices": _aligned(field.choices) if any(field.choices.values()) else "",
        "presets": _aligned({preset: json.dumps(value) for preset, value in presets.items()}),
    }
    lines = [title, f"  {field.meaning}", ""]
    for name, text in shown.items():
        if text:
            first, *rest = text.split("\n")
            lines += [f"  {name:<8} {first}", *(f"  {'':<8} {line}" for line in rest)]
    return "\n".join(lines)


def _listing(node: NodeDoc, console: Console, *, heading: bool) -> str:
    columns = ("key", "type", "default", "limits", "meaning")
    rows = [
        (
            field.path.rpartition(".")[2],
            field.type,
            field.default_text,
            field.limits,
            field.meaning,
        )
        for field in node.fields
    ]
    title = f"{node.path}, name: {node.choice}" if node.choice else node.path
    above = f"{title}: {node.meaning}\n\n" if heading else ""
    return above + console.table(columns, rows)


def _aligned(texts: Mapping[str, str]) -> str:
    width = max(map(len, texts), default=0)
    return "\n".join(f"{name:<{width}}  {text}".rstrip() for name, text in texts.items())
