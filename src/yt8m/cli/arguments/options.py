"""Command-line options from a dataclass: its fields' types, limits and comments say everything.

A field is the option of its name; without a default it is required. A bool is a switch, a tuple an
option that may be repeated, an enum or a Literal a choice. The comment beside the field, or above
it, is its help, as for the configuration's values; limits are those of `schemas.limits`.
"""

from __future__ import annotations

import argparse
import dataclasses
import enum
import types
import typing
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from yt8m.schemas.config_docs import comments
from yt8m.schemas.config_tree import type_hints
from yt8m.schemas.errors import UserError
from yt8m.schemas.limits import Limit

_CONFIG = "config"  # the argument that names the configuration of which others set values
_SIMPLE = {str: "a text", int: "a whole number", float: "a number"}


@dataclass(frozen=True)
class Written:
    """Form of a value on the command line, where its type does not determine it."""

    metavar: str | None = None
    parse: Callable[[str], Any] | None = None  # raises ArgumentTypeError
    choices: Collection[Any] = ()
    is_positional: bool = False
    is_list: bool = False  # `--models A B`, not `--set A --set B`
    option: str = ""  # name of the option, where it is not the field's
    # Says why a text of the right form is no use here, e.g. a file that is missing; "" where it is.
    problem: Callable[[str], str] | None = None


@dataclass(frozen=True)
class Sets:
    """The path of the configuration that the option sets."""

    path: str


def positional(metavar: str, problem: Callable[[str], str] | None = None) -> Written:
    return Written(metavar, is_positional=True, problem=problem)


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Arguments of every command; a subclass's docstring is the help of its command."""

    GROUP: ClassVar[str] = "general"  # the heading of the fields that a class declares itself
    LOADS_TENSORFLOW: ClassVar[bool] = False

    quiet: bool = False  # Print only errors and the result
    json: bool = False  # Print the result as one JSON object
    debug: bool = False  # Print a traceback with every error

    def check(self) -> None:
        """Raise UserError for values that are no use, before the command's module is loaded."""
        problems = [
            f"{'' if option.written.is_positional else option.flag + ' '}{text}: {problem}"
            for option in _options(type(self))
            if (problem_of := option.written.problem) and (value := getattr(self, option.name))
            for text in (value if option.is_several else (value,))
            if (problem := problem_of(text))
        ]
        if problems:
            raise UserError("\n".join(problems))


_A = TypeVar("_A", bound=Arguments)


@dataclass(frozen=True)
class _Option:
    """One field, as argparse needs it."""

    name: str
    type: Any
    is_several: bool
    default: Any  # MISSING where it is required
    written: Written
    limits: tuple[Limit, ...]
    sets: str
    choices: Mapping[str, Any] = field(default_factory=dict)  # by what is typed

    @property
    def flag(self) -> str:
        return f"--{self.written.option or self.name.replace('_', '-')}"

    def parse(self, text: str) -> Any:
        """One value, for argparse; a message says what it must be."""
        if self.choices:
            return text  # argparse compares it
        if self.written.parse:
            return self.written.parse(text)
        must_be = ", ".join([_SIMPLE[self.type], *(limit.allowed for limit in self.limits)])
        try:
            value = self.type(text)
        except ValueError:
            value = None
        if value is None or not all(limit.holds(value) for limit in self.limits):
            raise argparse.ArgumentTypeError(f"{text}: must be {must_be}")
        return value

    def value(self, parsed: Any) -> Any:
        """The field's value of what argparse made."""
        if self.is_several:
            return tuple(parsed or ())
        return self.choices.get(parsed, parsed) if self.choices else parsed


def add_options(parser: argparse.ArgumentParser, cls: type) -> None:
    """Give `parser` the fields of `cls`; those of a class with a GROUP are below that heading."""
    groups: dict[type, argparse._ArgumentGroup] = {}
    meanings = comments(cls)
    options = _options(cls)
    takes_config = any(option.name == _CONFIG for option in options)
    for option in options:
        owner = next(base for base in cls.__mro__ if option.name in base.__annotations__)
        place: Any = parser
        if heading := owner.__dict__.get("GROUP"):
            if owner not in groups:
                groups[owner] = parser.add_argument_group(heading)
            place = groups[owner]
        path = option.sets if takes_config else ""
        _add(place, option, _help(option, meanings.get(option.name, ""), path))


def build(cls: type[_A], parsed: argparse.Namespace) -> _A:
    """The arguments that argparse read, with the types that the fields name."""
    return cls(**{o.name: o.value(getattr(parsed, o.name)) for o in _options(cls)})


def settings_of(arguments: Arguments) -> dict[str, Any]:
    """The configuration's values that options were given for, by path."""
    values = {o.sets: getattr(arguments, o.name) for o in _options(type(arguments)) if o.sets}
    return {
        path: value.value if isinstance(value, enum.Enum) else value
        for path, value in values.items()
        if value not in (None, ())
    }


def words_of(arguments: Arguments) -> list[str]:
    """The command line that gives these arguments."""
    words = []
    for option in _options(type(arguments)):
        value = getattr(arguments, option.name)
        if value == option.default:
            continue
        for each in value if option.is_several else (value,):
            text = str(each.value if isinstance(each, enum.Enum) else each)
            if option.written.is_positional:
                words.append(text)
            else:
                words.append(option.flag if each is True else f"{option.flag}={text}")
    return words


def _options(cls: type) -> tuple[_Option, ...]:
    hints = type_hints(cls)
    return tuple(_option(f, hints[f.name]) for f in dataclasses.fields(cls))


def _option(field: dataclasses.Field[Any], hint: Any) -> _Option:
    kind, markers = _unwrapped(hint)
    written = next((mark for mark in markers if isinstance(mark, Written)), Written())
    is_several = typing.get_origin(kind) is tuple and written.parse is None
    if is_several:
        kind, inner = _unwrapped(typing.get_args(kind)[0])
        markers += inner
    return _Option(
        name=field.name,
        type=kind,
        is_several=is_several,
        default=field.default,
        written=written,
        limits=tuple(mark for mark in markers if isinstance(mark, Limit)),
        sets=next((mark.path for mark in markers if isinstance(mark, Sets)), ""),
        choices={_text(value): value for value in written.choices or _values(kind)},
    )


def _unwrapped(hint: Any) -> tuple[Any, list[Any]]:
    """A type without `Annotated` and `| None`, and what was annotated."""
    markers: list[Any] = []
    while True:
        origin, args = typing.get_origin(hint), typing.get_args(hint)
        if origin is Annotated:
            hint, markers = args[0], [*markers, *args[1:]]
        elif origin in (typing.Union, types.UnionType):
            (hint,) = (arg for arg in args if arg is not type(None))
        else:
            return hint, markers


def _values(kind: Any) -> Collection[Any]:
    if typing.get_origin(kind) is Literal:
        return typing.get_args(kind)
    return tuple(kind) if isinstance(kind, type) and issubclass(kind, enum.Enum) else ()


def _text(value: Any) -> str:
    return str(value.value if isinstance(value, enum.Enum) else value)


def _add(place: Any, option: _Option, text: str) -> None:
    is_required = option.default is dataclasses.MISSING
    if option.type is bool:
        place.add_argument(option.flag, action="store_true", help=text)
        return
    values: dict[str, Any] = {
        "help": text,
        "type": option.parse,
        "default": None if is_required or option.is_several else _typed(option.default),
    }
    if option.choices:
        values["choices"] = list(option.choices)
    if option.written.metavar:
        values["metavar"] = option.written.metavar
    if option.written.is_positional:
        count = ("+" if is_required else "*") if option.is_several else None if is_required else "?"
        place.add_argument(option.name, **values, **({"nargs": count} if count else {}))
        return
    if option.is_several:
        values |= {"nargs": "+"} if option.written.is_list else {"action": "append"}
    place.add_argument(option.flag, **values, dest=option.name, required=is_required)


def _typed(default: Any) -> Any:
    """A default as if it had been typed; argparse would otherwise convert a text."""
    return _text(default) if isinstance(default, enum.Enum) else default


def _help(option: _Option, meaning: str, path: str) -> str:
    """The comment, the path of the configuration's value that is set, and the default."""
    meaning = meaning.removesuffix(".")
    notes = [path] if path else []
    default = option.default
    if isinstance(default, float):
        notes.append(f"default: {default:g}")
    elif isinstance(default, str | int | enum.Enum) and default not in ("", True, False):
        notes.append(f"default: {_text(default)}")
    return (f"{meaning} ({'; '.join(notes)})" if notes else meaning).replace("%", "%%")
