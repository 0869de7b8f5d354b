"""Plain configuration values laid over one another: defaults, then files, then `--set`."""

from __future__ import annotations

import dataclasses
import json
import os
import typing
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from yt8m.schemas.config_tree import bare, is_union, members_by_tag, to_dict, type_hints
from yt8m.schemas.errors import ConfigError

_TAG = "name"
_DEEPEST = 50
_MOST_VALUES = 100_000


def overlay(hint: Any, base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the values of `over` on top, both in the plain form of the type `hint`.

    Mappings merge key by key and lists are replaced. Where `over` names another member of a union
    (another model, say), the keys below are those of that member, and nothing of `base` stays.
    """
    hint = bare(hint)
    members = members_by_tag(hint)
    if members:
        tag = over.get(_TAG, base.get(_TAG))
        if tag != base.get(_TAG):
            return dict(over)
        hint = members.get(str(tag))
    hints = _hints(hint)
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            value = overlay(hints.get(str(key)), below, value)
        merged[key] = value
    return merged


def difference(hint: Any, base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of `over` that are not those of `base`; both are complete.

    Laid over `base` they give `over` again, once the defaults of the type `hint` are filled in.
    """
    hint = bare(hint)
    members = members_by_tag(hint)
    another = bool(members) and over[_TAG] != base.get(_TAG)
    if members:
        hint = members[over[_TAG]]
        if another:
            base = _defaults(hint)
            del base[_TAG]
    elif not base:
        base = _defaults(_node_of(hint))
    hints = _hints(hint)
    changes: dict[str, Any] = {}
    for key, value in over.items():
        below = base.get(key)
        if key in base and below == value:
            continue
        if isinstance(value, Mapping) and value:
            below = dict(below) if isinstance(below, Mapping) else {}
            if another:  # nothing is there that would say which member it is
                below.pop(_TAG, None)
            value = difference(hints.get(key), below, value)
        changes[key] = value
    return changes


def _defaults(node: Any) -> dict[str, Any]:
    """The plain defaults of a dataclass's fields; none for any other type."""
    if not _is_node(node):
        return {}
    defaults = {}
    for field in dataclasses.fields(node):
        if field.default_factory is not dataclasses.MISSING:
            defaults[field.name] = to_dict(field.default_factory())
        elif field.default is not dataclasses.MISSING:
            defaults[field.name] = to_dict(field.default)
    return defaults


def parse_overrides(settings: Iterable[str]) -> dict[str, Any]:
    """A nested dictionary from `a.b=value` texts; values are read as YAML, the last one counts."""
    tree: dict[str, Any] = {}
    for setting in settings:
        path, equals, text = setting.partition("=")
        keys = path.strip().split(".")
        if not equals or not all(keys):
            raise ConfigError(f"--set {setting}: write it as a.b=value, e.g. trainer.max_steps=200")
        value: Any = parse_yaml(text, source=f"--set {setting}")
        for key in reversed(keys):
            value = {key: value}
        tree = overlay(None, tree, value)
    return tree


def has_closed_brackets(setting: str) -> bool:
    """Whether the value of `a.b=value` is whole, and not what the shell has left of it."""
    text = setting.partition("=")[2]
    if sum(map(text.count, "[{")) <= sum(map(text.count, "]}")):
        return True
    try:
        yaml.load(text, Loader=_NoDoubles)
    except yaml.YAMLError:
        return False
    return True  # a bracket within quotes


def overrides_of(values: Mapping[str, Any]) -> list[str]:
    """The texts for `parse_overrides` that set these values, by path; JSON is YAML.

    ConfigError where a value has no such text.
    """
    texts = []
    for path, value in values.items():
        try:
            texts.append(f"{path}={json.dumps(value, default=_plain)}")
        except (TypeError, ValueError) as error:
            raise ConfigError(
                f"{path}: {error}; give numbers, texts, lists and dictionaries of them"
            ) from error
    return texts


def _plain(value: Any) -> Any:
    """What JSON does not know: a path, and numpy's numbers and arrays, as searches give them."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"no value of a configuration is of the type {type(value).__name__}")


def parse_yaml(text: str, *, source: str) -> Any:
    """The value of a YAML text; ConfigError names `source` and the line."""
    try:
        value = yaml.load(text, Loader=_NoDoubles)
        _check_depth(value, source)
        return value
    except RecursionError as error:
        raise ConfigError(f"{source}: nested deeper than {_DEEPEST} levels") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = f", line {mark.line + 1}" if mark and "\n" in text.strip() else ""
        raise ConfigError(f"{source}{line}: {error.problem or error}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{source}: not YAML ({error})") from error


def _check_depth(value: Any, source: str) -> None:
    """ConfigError where values are nested without end, or too many."""
    level, depth, seen = [value], 0, 0
    while level:
        depth, seen = depth + 1, seen + len(level)
        if depth > _DEEPEST:
            raise ConfigError(f"{source}: nested deeper than {_DEEPEST} levels, or in itself")
        if seen > _MOST_VALUES:
            raise ConfigError(f"{source}: more than {_MOST_VALUES:,} values, aliases counted")
        level = [
            below
            for one in level
            if isinstance(one, Mapping | list)
            for below in (one.values() if isinstance(one, Mapping) else one)
        ]


def _hints(hint: Any) -> dict[str, Any]:
    """The types of a dataclass's fields; `X | None` counts as X."""
    cls = _node_of(hint)
    return type_hints(cls) if _is_node(cls) else {}


def _node_of(hint: Any) -> Any:
    """The dataclass of `X | None`; any other type as it is."""
    options = [o for o in typing.get_args(hint) if _is_node(o)] if is_union(hint) else []
    return options[0] if len(options) == 1 else hint


def _is_node(hint: Any) -> bool:
    """Whether it is a dataclass, and no instance of one."""
    return isinstance(hint, type) and dataclasses.is_dataclass(hint)


class _NoDoubles(yaml.SafeLoader):
    """YAML's safe loader, which refuses a key given twice instead of dropping the first."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, str) and key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} is given twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)
