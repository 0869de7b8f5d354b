"""The role of a configuration value, as part of its field's type.

`network: Annotated[str, OwnCode()]` stands beside the limits of `limits.py`. A key without a role
changes the weights that a training ends with; each role says what a key does instead. The role of a
node is the role of all keys below it. Cache keys, pre-flight checks and the agreement between
processes ask `fields_with` and `without`; no other list of keys exists.
"""

from __future__ import annotations

import dataclasses
import enum
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar

from yt8m.schemas.code_digest import module_of
from yt8m.schemas.config_tree import to_dict, type_hints

T = TypeVar("T")
R = TypeVar("R", bound="KeyRole")


@dataclass(frozen=True)
class KeyRole:
    """Base of the roles."""


@dataclass(frozen=True)
class FilePath(KeyRole):
    """A path, which must mean the same from every working directory."""


class Content(enum.Enum):
    """What a source path leads to, and so how its content is compared."""

    RECORDS = "records"  # files below it, by patterns
    FILE = "file"
    DIRECTORY = "directory"
    WEIGHTS = "weights"  # an export or a checkpoint
    MODEL = "model"  # a SavedModel or a push directory


@dataclass(frozen=True)
class SourcePath(FilePath):
    """Input from outside: its content counts, and not its path. It must exist before a run."""

    content: Content


@dataclass(frozen=True)
class OutputPath(FilePath):
    """A path that a run writes to."""


def _module(path: str) -> tuple[str, ...]:
    return (module_of(path),) if path else ()


@dataclass(frozen=True)
class OwnCode(KeyRole):
    """Names of code of the user's own: the code counts too. `modules` finds them in the value."""

    modules: Callable[[Any], tuple[str, ...]] = _module


@dataclass(frozen=True)
class ResultNeutral(KeyRole):
    """Base of what changes nothing of the result.

    `in_step`: processes that train in step must have the same value, for it decides when they meet.
    """

    in_step: bool = False


@dataclass(frozen=True)
class Bookkeeping(ResultNeutral):
    """What is saved, logged, kept or reported along the way."""


@dataclass(frozen=True)
class Placement(ResultNeutral):
    """Where it runs, and with what resources."""


@dataclass(frozen=True)
class OfExport(KeyRole):
    """What is exported of the trained weights; the weights are the same."""


@dataclass(frozen=True)
class Judging(KeyRole):
    """What judges the data or the model, or is done with it; the model is the same."""


@dataclass(frozen=True)
class AfterGate(Judging):
    """What is done with a judged model; whether it is blessed does not depend on it."""


@dataclass(frozen=True)
class RoleField(Generic[R]):
    """A field of a configuration with a role."""

    path: str  # dotted
    value: Any
    role: R


def fields_with(node: Any, role: type[R]) -> Iterator[RoleField[R]]:
    """The fields of `node`, and of the nodes below it, that have `role`."""
    for name, hint in _hints(node).items():
        value = getattr(node, name)
        marker = role_of(hint, role)
        if marker is not None:
            yield RoleField(name, value, marker)
            continue
        for path, below in _nodes(value, name):
            for field in fields_with(below, role):
                yield dataclasses.replace(field, path=f"{path}.{field.path}")


def role_of(hint: Any, role: type[R]) -> R | None:
    """The role that a field's type says, if it is `role`."""
    markers = typing.get_args(hint)[1:] if typing.get_origin(hint) is Annotated else ()
    return next((marker for marker in markers if isinstance(marker, role)), None)


def without(node: Any, *roles: type[KeyRole]) -> dict[str, Any]:
    """The plain form of `node`, as of `to_dict`, without the fields that have one of `roles`."""
    return {
        name: _without(getattr(node, name), roles)
        for name, hint in _hints(node).items()
        if not isinstance(role_of(hint, KeyRole), roles)
    }


def replaced(node: T, role: type[KeyRole], replacement: Callable[[Any], Any]) -> T:
    """`node` with `replacement(value)` for each value of `role`."""
    changes = {
        name: replacement(value) if role_of(hint, role) else _replaced(value, role, replacement)
        for name, hint in _hints(node).items()
        for value in [getattr(node, name)]
    }
    return typing.cast(T, dataclasses.replace(typing.cast(Any, node), **changes))


def _hints(node: Any) -> dict[str, Any]:
    cls: type = type(node)
    return type_hints(cls)


def _nodes(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The nodes that a value is or holds."""
    if dataclasses.is_dataclass(value):
        yield path, value
    elif isinstance(value, Mapping):
        for key, below in value.items():
            yield from _nodes(below, f"{path}.{key}")
    elif isinstance(value, tuple):
        for place, below in enumerate(value):
            yield from _nodes(below, f"{path}[{place}]")


def _without(value: Any, roles: tuple[type[KeyRole], ...]) -> Any:
    if dataclasses.is_dataclass(value):
        return without(value, *roles)
    if isinstance(value, Mapping):
        return {str(key): _without(below, roles) for key, below in value.items()}
    if isinstance(value, tuple):
        return [_without(below, roles) for below in value]
    return to_dict(value)


def _replaced(value: Any, role: type[KeyRole], replacement: Callable[[Any], Any]) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return replaced(value, role, replacement)
    if isinstance(value, Mapping):
        return {key: _replaced(below, role, replacement) for key, below in value.items()}
    if isinstance(value, tuple):
        return tuple(_replaced(below, role, replacement) for below in value)
    return value
