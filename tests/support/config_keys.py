"""Every key of the configuration, each with other values than its default, made from its type."""

from __future__ import annotations

import dataclasses
import enum
import functools
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import yaml

from yt8m.pipeline.config import PipelineConfig
from yt8m.schemas.config_layers import overlay
from yt8m.schemas.config_tree import bare, from_dict, members_by_tag, to_dict, type_hints
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.roles import KeyRole, role_of

_KNOWN = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
_TYPES = {"bool": bool, "int": int, "float": float, "str": str, "any": Any}
CANDIDATES: dict[Any, list[Any]] = {_TYPES[k]: v for k, v in _KNOWN["candidates"].items()}
BESIDE: dict[str, dict[str, Any]] = _KNOWN["beside"]
VALUES: dict[str, Any] = _KNOWN["values"]
REQUIRED: dict[str, dict[str, Any]] = _KNOWN["required"]
FIRST: dict[str, list[Any]] = _KNOWN["first"]
FIXED: set[str] = set(_KNOWN["fixed"])
# Of a mapping to nodes: what is always there, and the key of the node that changes.
MAPPINGS = {"roles": ({"chief": {}}, "worker"), "space": ({}, "trainer.batch_size")}


@dataclasses.dataclass(frozen=True, eq=False)
class Key:
    """A key that may be set, and the role that it or a node above it has."""

    path: str
    role: KeyRole | None
    hint: Any
    place: Callable[[Mapping[str, Any]], Any]  # the tree with these values beside the key's
    default: Mapping[str, Any]  # the same without the key

    def trees(self) -> Iterator[dict[str, Any]]:
        """The tree without the key, then those with values for it."""
        yield self.place(self.default)
        known = [VALUES[self.path]] if self.path in VALUES else []
        for value in [*known, *candidates(self.hint)]:
            yield self.place({**self.default, self.path.rpartition(".")[2]: value})


def keys(cls: type, role: KeyRole | None, path: str, place: Callable[[Any], Any]) -> Iterator[Key]:
    for name, hint in type_hints(cls).items():
        if name == "name" and typing.get_origin(hint) is Literal:
            continue
        here, own = f"{path}.{name}" if path else name, role_of(hint, KeyRole) or role
        default = required(cls)
        if not dataclasses.is_dataclass(bare(hint)):
            yield Key(here, own, hint, place, default)
        for below, inner in nodes(hint, name):
            yield from keys(below, own, here, _within(place, default, name, inner))


def _within(
    place: Callable[[Any], Any], others: Mapping[str, Any], name: str, inner: Callable[[Any], Any]
) -> Callable[[Any], Any]:
    return lambda values: place({**others, name: inner(values)})


def nodes(hint: Any, name: str) -> Iterator[tuple[type, Callable[[Any], Any]]]:
    hint = bare(hint)
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        yield hint, lambda values: values
    elif members := members_by_tag(hint):
        for tag, member in members.items():
            yield member, lambda values, tag=tag: {"name": tag, **values}
    elif origin is tuple:
        for cls, inner in nodes(args[0], name):
            first = FIRST.get(cls.__name__, [])
            yield cls, lambda values, inner=inner, first=first: [*first, inner(values)]
    elif origin is dict:
        for cls, inner in nodes(args[1], name):
            others, key = MAPPINGS[name]
            yield cls, _within(lambda values: values, others, key, inner)
    elif origin in (typing.Union, types.UnionType):
        for part in args:
            yield from nodes(part, name)


def required(cls: type) -> dict[str, Any]:
    if cls.__name__ in REQUIRED:
        return REQUIRED[cls.__name__]
    hints = type_hints(cls)
    return {
        field.name: next(candidates(hints[field.name]))
        for field in dataclasses.fields(cls)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }


def candidates(hint: Any) -> Iterator[Any]:
    hint = bare(hint)
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if members := members_by_tag(hint):
        yield from ({"name": tag, **required(cls)} for tag, cls in members.items())
    elif origin is Literal:
        yield from args
    elif origin is tuple:
        yield from ([value] for value in candidates(args[0]))
        yield []
    elif origin is dict:
        yield from ({name: value} for value in candidates(args[1]) for name in ("chief", "train"))
    elif origin in (typing.Union, types.UnionType):
        for part in args:
            yield from candidates(part) if part is not type(None) else [None]
    elif isinstance(hint, type) and issubclass(hint, enum.Enum):
        yield from (member.value for member in hint)
    elif isinstance(hint, type) and dataclasses.is_dataclass(hint):
        yield required(hint)
    else:
        yield from CANDIDATES[hint]


def beside(path: str) -> dict[str, Any]:
    """What the key at `path` needs in other places."""
    found = [place for place in sorted(BESIDE) if path.startswith(place)]
    return BESIDE[found[-1]] if found else {}


@functools.cache  # by the key itself
def pair(key: Key) -> tuple[PipelineConfig, PipelineConfig] | None:
    """Two configurations that differ in `key` alone."""
    made: list[PipelineConfig] = []
    for tree in key.trees():
        try:
            made.append(from_dict(PipelineConfig, overlay(PipelineConfig, beside(key.path), tree)))
        except ConfigError:
            continue
        if to_dict(made[0]) != to_dict(made[-1]):
            return made[0], made[-1]
    return None


def all_keys() -> list[Key]:
    return [*keys(PipelineConfig, None, "", lambda values: values)]


KEYS = all_keys()
