"""The role of a configuration value, as part of its field's type.

`network: Annotated[str, OwnCode()]` stands beside the limits of `limits.py`. A key without a role
changes the weights that a training ends with; each role says what a key does instead. The role of a
node is the role of all keys below it. Cache keys, pre-flight checks and the agreement between
processes ask `fields_with` and `without`; no other list of keys exists.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Generic, TypeVar

from yt8m.schemas.code_digest import module_of
from yt8m.schemas.config_tree import nodes_of, to_dict, type_hints

T = TypeVar("T")
R = TypeVar("R", bound="KeyRole")


@dataclass(frozen=True)
class KeyRole:
    """Base of the roles. `label` is what people read."""

    label: ClassVar[str] = ""


@dataclass(frozen=True)
class FilePath(KeyRole):
    """A path, which must mean the same from every working directory."""


class Content(enum.Enum):
    """Kind of a source path's content, which decides how the content is compared."""

    RECORDS = "records"  # files below it, by patterns
    FILE = "file"
    DIRECTORY = "directory"
    WEIGHTS = "weights"  # an export or a checkpoint
    MODEL = "model"  # a SavedModel or a push directory


@dataclass(frozen=True)
class SourcePath(FilePath):
    """Input from outside: its content counts, and not its path. It must exist before a run."""

    label = "source path"

    content: Content


@dataclass(frozen=True)
class OutputPath(FilePath):
    """A path that a run writes to."""

    label = "output path"


@dataclass(frozen=True)
class KeyFile(FilePath):
    """The file of a cryptographic key or certificate. No result depends on it."""

    label = "key file"


def _path(path: str) -> tuple[str, ...]:
    return (path,) if path else ()


@dataclass(frozen=True)
class OwnCode(KeyRole):
    """Dotted paths of the user's own code: the code counts too.

    `paths` finds them in the value; `module.*` is any code of a module. `called_with` names the
    arguments of the function; None where it is no function or may be any. `subclass_of` names the
    base of a class.
    """

    label = "own code"

    paths: Callable[[Any], tuple[str, ...]] = _path
    called_with: tuple[str, ...] | None = None
    subclass_of: str = ""

    def modules(self, value: Any) -> tuple[str, ...]:
        """List the modules of the paths."""
        return tuple(map(module_of, self.paths(value)))


@dataclass(frozen=True)
class ResultNeutral(KeyRole):
    """Base of what changes nothing of the result but, at most, its rounding.

    `in_step`: processes that train in step must have the same value, for it decides when they meet.
    """

    in_step: bool = False


@dataclass(frozen=True)
class Bookkeeping(ResultNeutral):
    """A key about what is saved, logged, kept or reported along the way."""

    label = "bookkeeping"


@dataclass(frozen=True)
class Placement(ResultNeutral):
    """A key about where something runs, and with what resources.

    It may change in which order numbers are added up, and so their rounding: a GPU does, and so
    does a reader that averages frames in place of the device. The training is the same one all the
    same: to begin it anew for a rounding would cost days, and give no other model.
    """

    label = "placement"


@dataclass(frozen=True)
class OfExport(KeyRole):
    """A key about the export of the trained weights; the weights are the same."""

    label = "export"


@dataclass(frozen=True)
class Judging(KeyRole):
    """A key of a step that judges the data or the model; the model is the same."""

    label = "judging"


@dataclass(frozen=True)
class AfterGate(Judging):
    """A key of a step after the gate; whether the model is blessed does not depend on it."""


@dataclass(frozen=True)
class SecretArguments(Bookkeeping):
    """A command with a secret in its arguments; records and reports have its first word alone."""


@dataclass(frozen=True)
class RoleField(Generic[R]):
    """A field of a configuration with a role."""

    path: str  # dotted
    value: Any
    role: R


def fields_with(
    node: Any, role: type[R], *, outside: tuple[type[KeyRole], ...] = ()
) -> Iterator[RoleField[R]]:
    """The fields of `node`, and of the nodes below it, that have `role`.

    Below a node with a role of `outside` none is looked for.
    """
    key_roles = _roles(node, KeyRole)
    for name, marker in _roles(node, role).items():
        value = getattr(node, name)
        if marker is not None:
            yield RoleField(name, value, marker)
        elif not isinstance(key_roles[name], outside):
            for path, below in _nodes(value, name):
                for field in fields_with(below, role, outside=outside):
                    yield dataclasses.replace(field, path=f"{path}.{field.path}")


def declared_with(cls: type, role: type[R], *, path: str = "") -> Iterator[tuple[str, R]]:
    """The keys below `cls`, of every choice, whose type says `role`, each with what it says."""
    for name, hint in type_hints(cls).items():
        below = f"{path}.{name}" if path else name
        if (marker := role_of(hint, role)) is not None:
            yield below, marker
            continue
        for node, place, _ in nodes_of(hint, below):
            yield from declared_with(node, role, path=place)


def is_below(path: str, key: str) -> bool:
    """Whether `path` is the key or one below it."""
    return path == key or path.startswith(f"{key}.")


def own_modules(node: Any, *, outside: tuple[type[KeyRole], ...] = ()) -> list[str]:
    """List the modules of the user's own code that a configuration names."""
    return [
        module
        for code in fields_with(node, OwnCode, outside=outside)
        for module in code.role.modules(code.value)
    ]


def role_of(hint: Any, role: type[R]) -> R | None:
    """The role that a field's type says, if it is `role`."""
    markers = typing.get_args(hint)[1:] if typing.get_origin(hint) is Annotated else ()
    return next((marker for marker in markers if isinstance(marker, role)), None)


def without(node: Any, *roles: type[KeyRole], keep_in_step: bool = False) -> dict[str, Any]:
    """The plain form of `node`, as of `to_dict`, without the fields that have one of `roles`.

    With `keep_in_step` those in which processes must agree stay.
    """

    def plain(below: Any) -> dict[str, Any]:
        return without(below, *roles, keep_in_step=keep_in_step)

    return {
        name: to_dict(_changed(getattr(node, name), plain))
        for name, role in _roles(node, KeyRole).items()
        if not isinstance(role, roles)
        or (keep_in_step and isinstance(role, ResultNeutral) and role.in_step)
    }


def replaced(node: T, role: type[KeyRole], replacement: Callable[[Any], Any]) -> T:
    """`node` with `replacement(value)` for each value of `role`."""

    def below(value: Any) -> Any:
        return replaced(value, role, replacement)

    changes = {
        name: replacement(value) if marker else _changed(value, below)
        for name, marker in _roles(node, role).items()
        for value in [getattr(node, name)]
    }
    return typing.cast(T, dataclasses.replace(typing.cast(Any, node), **changes))


def on_record(node: Any) -> dict[str, Any]:
    """The plain form of `node` for files and logs, without secrets."""
    return to_dict(replaced(node, SecretArguments, _masked))


def _masked(command: tuple[str, ...]) -> tuple[str, ...]:
    return (command[0], *("***" for _ in command[1:])) if command else command


def _roles(node: Any, role: type[R]) -> dict[str, R | None]:
    """The role of each field, if it is `role`; constants of the class are no fields."""
    cls: type = type(node)
    kind: type = role
    return _roles_of(cls, kind)


@functools.cache
def _roles_of(cls: type, role: type) -> dict[str, Any]:
    hints = type_hints(cls)
    return {field.name: role_of(hints[field.name], role) for field in dataclasses.fields(cls)}


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


def _changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """`value` with `change(node)` in place of each node that it is or holds."""
    if dataclasses.is_dataclass(value):
        return change(value)
    if isinstance(value, Mapping):
        return {key: _changed(below, change) for key, below in value.items()}
    if isinstance(value, tuple):
        return tuple(_changed(below, change) for below in value)
    return value
