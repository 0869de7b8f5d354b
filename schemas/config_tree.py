"""Frozen dataclasses from plain dictionaries and back, with errors that name the dotted path.

Types understood: bool, int, float, str, Enum, Literal, X | None, tuple[X, ...], dict[str, X],
nested dataclasses, and unions of dataclasses told apart by their Literal field `name`.
"""

from __future__ import annotations

import dataclasses
import difflib
import enum
import functools
import math
import re
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from yt8m.schemas.errors import ConfigError

T = TypeVar("T")
_TAG = "name"
_UNIONS = (typing.Union, types.UnionType)
# YAML 1.1 reads 1e-3 as text, because it has no dot; people mean a number.
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")


class _InvalidError(ConfigError):
    """A value refused by a node's own check, before the path to that node is known."""

    def __init__(self, field: str, value: object, allowed: str) -> None:
        super().__init__(f"{field} = {value!r}: must be {allowed}")
        self.field, self.value, self.allowed = field, value, allowed


def require(condition: bool, field: str, value: object, allowed: str) -> None:
    """For `__post_init__`: refuse `value` of `field`, saying what is allowed."""
    if not condition:
        raise _InvalidError(field, value, allowed)


def from_dict(cls: type[T], data: Mapping[str, Any], *, path: str = "") -> T:
    """Build `cls` from `data`, or raise one ConfigError that lists every problem."""
    problems: list[str] = []
    value = _node(cls, data, path, problems)
    if problems:
        raise ConfigError(problems)
    return typing.cast(T, value)


def to_dict(node: Any) -> Any:
    """The plain JSON form of `node`; `from_dict` of it is equal to `node`."""
    if dataclasses.is_dataclass(node) and not isinstance(node, type):
        return {f.name: to_dict(getattr(node, f.name)) for f in dataclasses.fields(node)}
    if isinstance(node, enum.Enum):
        return node.value
    if isinstance(node, Mapping):
        return {str(key): to_dict(value) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [to_dict(value) for value in node]
    return node


def flatten(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """`{"a": {"b": 1}}` as `{"a.b": 1}`; empty mappings stay as values."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping) and value:
            flat.update(flatten(value, f"{path}."))
        else:
            flat[path] = value
    return flat


def _node(cls: type, data: Any, path: str, problems: list[str]) -> Any:
    if not isinstance(data, Mapping):
        problems.append(f"{_at(path)} = {data!r}: must be a mapping of {cls.__name__}'s keys")
        return None
    fields = {f.name: f for f in dataclasses.fields(cls)}
    hints = type_hints(cls)
    before = len(problems)
    for key in data:
        if key not in fields:
            problems.append(f"{_join(path, key)}: unknown key{_nearest(str(key), fields)}")
    values = {
        name: _value(hints[name], data[name], _join(path, name), problems)
        for name in fields
        if name in data
    }
    for name, field in fields.items():
        required = (
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        )
        if required and name not in data:
            problems.append(f"{_join(path, name)}: missing, and it has no default")
    if len(problems) > before:
        return None
    try:
        return cls(**values)
    except _InvalidError as error:
        where = _join(path, error.field)
        problems.append(f"{where} = {to_dict(error.value)!r}: must be {error.allowed}")
        return None


def _value(hint: Any, value: Any, path: str, problems: list[str]) -> Any:
    origin = typing.get_origin(hint)
    if origin in _UNIONS:
        return _union(hint, value, path, problems)
    if dataclasses.is_dataclass(hint):
        return _node(typing.cast(type, hint), value, path, problems)
    if origin is tuple:
        return _tuple(typing.get_args(hint), value, path, problems)
    if origin is dict:
        return _mapping(typing.get_args(hint)[1], value, path, problems)
    if hint is Any:
        return value
    allowed, converted = _scalar(hint, value)
    if allowed is not None:
        problems.append(f"{path} = {value!r}: must be {allowed}")
    return converted


@functools.cache
def type_hints(cls: type) -> dict[str, Any]:
    """The types of a dataclass's fields; worked out once, for they stand there as text."""
    return typing.get_type_hints(cls)


def members_by_tag(hint: Any) -> dict[str, type]:
    """The dataclasses of a union that `name` tells apart; empty for any other type."""
    options = typing.get_args(hint) if typing.get_origin(hint) in _UNIONS else ()
    found = [option for option in options if dataclasses.is_dataclass(option)]
    return {_tag(option): typing.cast(type, option) for option in found} if found[1:] else {}


def _union(hint: Any, value: Any, path: str, problems: list[str]) -> Any:
    options = typing.get_args(hint)
    if value is None and type(None) in options:
        return None
    options = tuple(option for option in options if option is not type(None))
    if len(options) == 1:
        return _value(options[0], value, path, problems)
    by_tag = members_by_tag(hint)
    if not by_tag:  # a union of scalars, e.g. int | float: the first that fits
        for option in options:
            allowed, converted = _scalar(option, value)
            if allowed is None:
                return converted
        problems.append(f"{path} = {value!r}: must be one of {options}")
        return None
    if not isinstance(value, Mapping) or _TAG not in value:
        problems.append(
            f"{path} = {value!r}: must be a mapping with the key `{_TAG}`, "
            f"one of {', '.join(sorted(by_tag))}"
        )
        return None
    if value[_TAG] not in by_tag:
        names = ", ".join(sorted(by_tag))
        hint = _nearest(str(value[_TAG]), by_tag, list_all=False)
        problems.append(f"{path}.{_TAG} = {value[_TAG]!r}: must be one of {names}{hint}")
        return None
    return _node(by_tag[value[_TAG]], value, path, problems)


def _tuple(args: tuple[Any, ...], value: Any, path: str, problems: list[str]) -> Any:
    if isinstance(value, str) or not isinstance(value, list | tuple):
        problems.append(f"{path} = {value!r}: must be a list, e.g. [a, b]")
        return None
    return tuple(_value(args[0], v, f"{path}[{i}]", problems) for i, v in enumerate(value))


def _mapping(hint: Any, value: Any, path: str, problems: list[str]) -> Any:
    if not isinstance(value, Mapping):
        problems.append(f"{path} = {value!r}: must be a mapping")
        return None
    return {str(k): _value(hint, v, _join(path, str(k)), problems) for k, v in value.items()}


def _scalar(hint: Any, value: Any) -> tuple[str | None, Any]:
    """What would be allowed (None when `value` fits), and the converted value."""
    if typing.get_origin(hint) is typing.Literal:
        return _choice(typing.get_args(hint), value)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        if isinstance(value, hint):
            return None, value
        allowed, chosen = _choice(tuple(member.value for member in hint), value)
        return (allowed, None) if allowed else (None, hint(chosen))
    if hint is bool:
        return (None if isinstance(value, bool) else "true or false"), value
    if hint is int:
        return _integer(value)
    if hint is float:
        return _float(value)
    if hint is str:
        return (None if isinstance(value, str) else "a text (quote it in YAML)"), value
    raise TypeError(f"config_tree does not understand the type {hint!r}")


def _choice(choices: tuple[Any, ...], value: Any) -> tuple[str | None, Any]:
    if isinstance(value, bool):  # YAML 1.1 reads on and off as true and false
        words = ("on", "yes", "true") if value else ("off", "no", "false")
        value = next((word for word in words if word in choices), value)
    return (None if value in choices else _choices(choices, value)), value


def _integer(value: Any) -> tuple[str | None, Any]:
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    fits = isinstance(value, int) and not isinstance(value, bool)
    return (None if fits else "a whole number"), value


def _float(value: Any) -> tuple[str | None, Any]:
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return "a finite number", None
    return None, float(value)


def _tag(cls: Any) -> str:
    return str(typing.get_args(type_hints(cls)[_TAG])[0])


def _choices(choices: Iterable[Any], value: Any) -> str:
    texts = [str(choice) for choice in choices]
    return f"one of {', '.join(texts)}{_nearest(str(value), texts, list_all=False)}"


def _nearest(key: str, keys: Iterable[str], *, list_all: bool = True) -> str:
    keys = list(keys)
    close = difflib.get_close_matches(key, keys, n=1, cutoff=0.5)
    if close:
        return f"; did you mean {close[0]}?"
    return f"; known: {', '.join(keys)}" if list_all else ""


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else str(key)


def _at(path: str) -> str:
    return path or "the configuration"
