"""Frozen dataclasses from plain dictionaries and back, with errors that name the dotted path.

Types understood: bool, int, float, str, Enum, Literal, X | None, tuple[X, ...], dict[str, X],
nested dataclasses, unions of dataclasses distinguished by their Literal field `name`, and any of
these as `Annotated[X, limit, ...]` with the limits of `schemas/limits.py` and the roles of
`schemas/roles.py`.
"""

from __future__ import annotations

import dataclasses
import difflib
import enum
import json
import math
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Annotated, Any, ClassVar, TypeVar

from yt8m.schemas.errors import ConfigError
from yt8m.schemas.limits import Limit

T = TypeVar("T")
_TAG = "name"
_PLAIN = (str, int, float, bool, types.NoneType)  # most values are, and need no look at types
_UNIONS = (typing.Union, types.UnionType)
# YAML 1.1 reads 1e-3 as text, because it has no dot; people mean a number.
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")


class ConfigNode:
    """Base of every node: its fields' limits hold, for one made in code as for one read.

    A node that overrides `__post_init__`, to `require` what holds between its fields, calls this
    one first.
    """

    RENAMED: ClassVar[Mapping[str, str]] = {}  # former names of keys, for the message

    def __post_init__(self) -> None:
        problems: list[str] = []
        cls: type = type(self)
        for name, read in _readers(cls).items():
            read(getattr(self, name), name, problems)
        if problems:
            raise ConfigError(problems)


def require(condition: bool, field: str, value: object, allowed: str) -> None:
    """For `__post_init__`: refuse `value` of `field`, saying what is allowed."""
    if not condition:
        raise ConfigError(f"{field} = {to_dict(value)!r}: must be {allowed}")


def from_dict(cls: type[T], data: Mapping[str, Any], *, path: str = "") -> T:
    """Build `cls` from `data`, or raise one ConfigError that lists every problem."""
    problems: list[str] = []
    value = _node(cls, data, path, problems)
    if problems:
        raise ConfigError(problems)
    return typing.cast(T, value)


def known_keys(hint: Any, value: Any) -> Any:
    """`value`, which is of type `hint`, without the keys that a newer yt8m has added to records.

    What a person writes has none of these: in a ConfigNode every key stays, and is checked.
    """
    if type(value) in _PLAIN:
        return value
    if typing.get_origin(hint) is Annotated:
        return known_keys(typing.get_args(hint)[0], value)
    if is_union(hint):
        hint = next(filter(dataclasses.is_dataclass, typing.get_args(hint)), None)
    if isinstance(value, Mapping) and typing.get_origin(hint) is dict:
        return {key: known_keys(typing.get_args(hint)[1], below) for key, below in value.items()}
    if isinstance(value, list) and typing.get_origin(hint) is tuple:
        return [known_keys(typing.get_args(hint)[0], below) for below in value]
    if not isinstance(value, Mapping) or not isinstance(hint, type):
        return value
    if not dataclasses.is_dataclass(hint) or issubclass(hint, ConfigNode):
        return value
    hints = type_hints(hint)
    fields = [field.name for field in dataclasses.fields(hint) if field.name in value]
    return {name: known_keys(hints[name], value[name]) for name in fields}


def to_dict(node: Any) -> Any:
    """The plain JSON form of `node`; `from_dict` of it is equal to `node`."""
    if type(node) in _PLAIN:
        return node
    if dataclasses.is_dataclass(node) and not isinstance(node, type):
        return {f.name: to_dict(getattr(node, f.name)) for f in dataclasses.fields(node)}
    if isinstance(node, enum.Enum):
        return node.value
    if isinstance(node, Mapping):
        return {str(key): to_dict(value) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [to_dict(value) for value in node]
    return node


def to_parameter(value: Any) -> str:
    """Write a value as TFX's execution parameter: a text as it is, a node or mapping as JSON.

    Equal values have the same text, and so one cache key.
    """
    plain = to_dict(value)
    return plain if isinstance(plain, str) else json.dumps(plain, sort_keys=True)


def from_parameter(cls: type[T], text: str, *, path: str) -> T:
    """The inverse of `to_parameter`; `path` is where the node stands in the configuration."""
    return from_dict(cls, json.loads(text), path=path)


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
    fields = _fields(cls)
    before = len(problems)
    for key in data:
        if key not in fields:
            problems.append(f"{_join(path, key)}: unknown key{_hint(cls, str(key), fields)}")
    values = {
        name: read(data[name], _join(path, name), problems)
        for name, read in _readers(cls).items()
        if name in data
    }
    for name, is_required in fields.items():
        if is_required and name not in data:
            problems.append(f"{_join(path, name)}: missing, and it has no default")
    if len(problems) > before:
        return None
    try:
        return cls(**values)
    except ConfigError as error:  # by the node's own rules, with paths that begin at the node
        problems.extend(_join(path, problem) for problem in error.problems)
        return None


@cache
def _fields(cls: type) -> dict[str, bool]:
    """Whether each field has no default."""
    missing = dataclasses.MISSING
    return {
        field.name: field.default is missing and field.default_factory is missing
        for field in dataclasses.fields(cls)
    }


# Takes a value, its path, and the problems to add to; gives the converted value.
_Reader = Callable[[Any, str, list[str]], Any]


@cache
def _readers(cls: type) -> dict[str, _Reader]:
    """How the fields of a dataclass are read; worked out once, for all values of a type."""
    return {name: _reader(hint) for name, hint in type_hints(cls).items()}


def _reader(hint: Any) -> _Reader:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        limits = [marker for marker in args[1:] if isinstance(marker, Limit)]
        return partial(_limited, _reader(args[0]), limits) if limits else _reader(args[0])
    if by_tag := members_by_tag(hint):
        return partial(_tagged, by_tag, type(None) in args)
    if is_union(hint):
        options = [None if option is type(None) else _reader(option) for option in args]
        return partial(_first_that_fits, options)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return partial(_nested, hint)
    if origin is tuple:
        return partial(_tuple, _reader(args[0]))
    if origin is dict:
        return partial(_mapping, _reader(args[1]))
    if hint is Any:
        return lambda value, path, problems: _with_numbers(value)
    return partial(_single, _scalar_of(hint))


def _with_numbers(value: Any) -> Any:
    """A value of no declared type; what YAML took for text because of its exponent is a number."""
    if isinstance(value, Mapping):
        return {key: _with_numbers(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_with_numbers(part) for part in value)
    is_number = isinstance(value, str) and "e" in value.lower() and _NUMBER.fullmatch(value)
    return float(value) if is_number else value


def _single(scalar: _Scalar, value: Any, path: str, problems: list[str]) -> Any:
    allowed, converted = scalar(value)
    if allowed is not None:
        problems.append(f"{path} = {value!r}: must be {allowed}")
    return converted


def _nested(cls: type, value: Any, path: str, problems: list[str]) -> Any:
    return value if isinstance(value, cls) else _node(cls, value, path, problems)


@cache
def type_hints(cls: type) -> dict[str, Any]:
    """The types of a dataclass's fields; computed once, for they stand there as text."""
    hints = typing.get_type_hints(cls, include_extras=True)
    return {name: hint for name, hint in hints.items() if typing.get_origin(hint) is not ClassVar}


def bare(hint: Any) -> Any:
    """A type without its limits and roles."""
    return typing.get_args(hint)[0] if typing.get_origin(hint) is Annotated else hint


def is_union(hint: Any) -> bool:
    """Whether it is X | Y, however that is written."""
    return typing.get_origin(hint) in _UNIONS


def members_by_tag(hint: Any) -> dict[str, type]:
    """The dataclasses of a union that `name` tells apart; empty for any other type."""
    options = typing.get_args(hint) if is_union(hint) else ()
    nodes = [option for option in options if dataclasses.is_dataclass(option)]
    return {_tag(option): typing.cast(type, option) for option in nodes} if nodes[1:] else {}


def nodes_of(hint: Any, path: str) -> Iterator[tuple[type, str, str]]:
    """The dataclasses that a type names: class, path, and the `name` that chooses it.

    `[]` stands for any place in a list, `*` for any key of a mapping.
    """
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        yield hint, path, ""
        return
    if members := members_by_tag(hint):
        yield from ((member, path, name) for name, member in members.items())
        return
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        args = args[:1]
    place = f"{path}[]" if origin is tuple else f"{path}.*" if origin is dict else path
    for part in args:
        yield from nodes_of(part, place)


def _limited(
    read: _Reader, limits: Sequence[Limit], value: Any, path: str, problems: list[str]
) -> Any:
    before = len(problems)
    converted = read(value, path, problems)
    if len(problems) == before and not all(limit.holds(converted) for limit in limits):
        allowed = " and ".join(limit.allowed for limit in limits)
        problems.append(f"{path} = {to_dict(converted)!r}: must be {allowed}")
    return converted


def _tagged(
    by_tag: Mapping[str, type], takes_none: bool, value: Any, path: str, problems: list[str]
) -> Any:
    if value is None and takes_none:
        return None
    if isinstance(value, tuple(by_tag.values())):
        return value
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


def _first_that_fits(
    options: Iterable[_Reader | None], value: Any, path: str, problems: list[str]
) -> Any:
    """For `int | float`, `X | None`: the value as the first type that takes it."""
    shown, allowed = f"{path} = {value!r}", []
    if value is None and None in options:
        return None
    for read in options:
        if read is None:
            allowed.append("null")
            continue
        faults: list[str] = []
        converted = read(value, path, faults)
        if not faults:
            return converted
        if not faults[0].startswith(f"{path} = "):  # within a node or list: the type is right
            problems.extend(faults)
            return None
        shown, _, text = faults[0].partition(": must be ")
        allowed.append(text)
    problems.append(f"{shown}: must be {', or '.join(allowed)}")
    return None


def _tuple(read: _Reader, value: Any, path: str, problems: list[str]) -> Any:
    if isinstance(value, str) or not isinstance(value, list | tuple):
        problems.append(f"{path} = {value!r}: must be a list, e.g. [a, b]")
        return None
    return tuple(read(v, f"{path}[{i}]", problems) for i, v in enumerate(value))


def _mapping(read: _Reader, value: Any, path: str, problems: list[str]) -> Any:
    if not isinstance(value, Mapping):
        problems.append(f"{path} = {value!r}: must be a mapping")
        return None
    return {str(k): read(v, _join(path, str(k)), problems) for k, v in value.items()}


# The words for allowed values (None when the value fits), and the converted value.
_Scalar = Callable[[Any], tuple[str | None, Any]]


def _scalar_of(hint: Any) -> _Scalar:
    if typing.get_origin(hint) is typing.Literal:
        return partial(_choice, typing.get_args(hint))
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return partial(_member, hint)
    if hint in _SCALARS:
        return _SCALARS[hint]
    raise TypeError(f"config_tree does not understand the type {hint!r}")


def _member(cls: type[enum.Enum], value: Any) -> tuple[str | None, Any]:
    if isinstance(value, cls):
        return None, value
    allowed, chosen = _choice(tuple(member.value for member in cls), value)
    return (allowed, None) if allowed else (None, cls(chosen))


def _truth(value: Any) -> tuple[str | None, Any]:
    return (None if isinstance(value, bool) else "true or false"), value


def _text(value: Any) -> tuple[str | None, Any]:
    return (None if isinstance(value, str) else "a text (quote it in YAML)"), value


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


_SCALARS: dict[Any, _Scalar] = {bool: _truth, int: _integer, float: _float, str: _text}


def _tag(cls: Any) -> str:
    return str(typing.get_args(type_hints(cls)[_TAG])[0])


def _choices(choices: Iterable[Any], value: Any) -> str:
    texts = [str(choice) for choice in choices]
    if len(texts) == 1:
        return texts[0]
    return f"one of {', '.join(texts)}{_nearest(str(value), texts, list_all=False)}"


def _hint(cls: type, key: str, fields: Iterable[str]) -> str:
    if ":" in key:
        return "; write a space after the colon, and quote the whole value in a shell"
    renamed = cls.RENAMED.get(key) if issubclass(cls, ConfigNode) else None
    return f"; it is now called {renamed}" if renamed else _nearest(key, fields)


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
