"""A configuration's values explained for people: type, default, limits and meaning of each.

The meaning of a field is the comment beside its declaration, or right above it; a field that is
created in code has it in its metadata. Of a node or of a choice the meaning is the first paragraph
of the docstring. Comments are read from the source, which a wheel
holds too: docs/decisions/0012-meanings-are-comments.md.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import functools
import inspect
import io
import json
import re
import sys
import tokenize
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from yt8m.schemas.config_tree import bare, members_by_tag, nodes_of, to_dict, type_hints
from yt8m.schemas.limits import Limit
from yt8m.schemas.roles import KeyRole, role_of

NODE = "mapping"  # the type of a value that is a node
_TAG = "name"
MEANING = "meaning"  # its key in the metadata of a field that is created in code


@dataclass(frozen=True)
class FieldDoc:
    """One value that can be set."""

    path: str  # `[]` stands for any place in a list, `*` for any key of a mapping
    type: str
    required: bool
    default: Any  # in its plain form; None where it is required
    limits: str
    meaning: str
    choices: Mapping[str, str]  # what may be chosen, each with its meaning
    role: str  # its own or its node's, as in roles.py; empty for what changes the weights

    @property
    def default_text(self) -> str:
        """In one line; nothing for a node, whose values have defaults of their own."""
        if self.required:
            return "(required)"
        if isinstance(self.default, Mapping) and self.choices:
            return f"name: {self.default[_TAG]}"
        return "" if self.type == NODE else json.dumps(self.default, ensure_ascii=False)


@dataclass(frozen=True)
class NodeDoc:
    """The values below one path; where `name` chooses among nodes, those of one choice."""

    path: str
    choice: str
    meaning: str
    fields: tuple[FieldDoc, ...]


def describe(cls: type) -> list[NodeDoc]:
    """Every node of a configuration, those above before those below."""
    documented: dict[tuple[str, type], NodeDoc] = {}
    for path, choice, node, role in _walk(cls, "", "", ""):
        if (
            path,
            node,
        ) not in documented:  # below each of several models there is the same classifier
            fields = _fields(node, path, role)
            documented[path, node] = NodeDoc(path, choice, _first_paragraph(node), fields)
    return list(documented.values())


def _walk(cls: type, path: str, choice: str, role: str) -> Iterator[tuple[str, str, type, str]]:
    yield path, choice, cls, role
    for name, hint in type_hints(cls).items():
        for node, place, chosen in nodes_of(hint, f"{path}.{name}" if path else name):
            yield from _walk(node, place, chosen, _role_text(hint) or role)


def _role_text(hint: Any) -> str:
    role = role_of(hint, KeyRole)
    return role.label if role else ""


def _fields(cls: type, path: str, role: str) -> tuple[FieldDoc, ...]:
    hints = type_hints(cls)
    meanings = comments(cls)
    return tuple(
        FieldDoc(
            path=f"{path}.{field.name}" if path else field.name,
            type=type_text(hints[field.name]),
            required=_default(field) is dataclasses.MISSING,
            default=_plain_default(field),
            limits=limits_text(hints[field.name]),
            meaning=field.metadata.get(MEANING)
            or meanings.get(field.name)
            or _implied_meaning(cls, field, hints[field.name]),
            choices=_choices(hints[field.name]),
            role=_role_text(hints[field.name]) or role,
        )
        for field in dataclasses.fields(cls)
    )


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def _plain_default(field: dataclasses.Field[Any]) -> Any:
    default = _default(field)
    return None if default is dataclasses.MISSING else to_dict(default)


def _implied_meaning(cls: type, field: dataclasses.Field[Any], hint: Any) -> str:
    """Take the meaning of a field without a comment from its type."""
    if field.name == _TAG and typing.get_origin(hint) is Literal:
        return _first_paragraph(cls)
    hint = bare(hint)
    if isinstance(hint, type) and hint.__module__ != "builtins":
        return _first_paragraph(hint)
    named = next(filter(None, map(_named_type, typing.get_args(hint))), None)
    if named is not None and not members_by_tag(hint):
        return _first_paragraph(named)
    return ""


def _named_type(hint: Any) -> type | None:
    known = isinstance(hint, type) and (
        dataclasses.is_dataclass(hint) or issubclass(hint, enum.Enum)
    )
    return hint if known else None


def _first_paragraph(cls: type) -> str:
    return " ".join((inspect.getdoc(cls) or "").partition("\n\n")[0].split())


def type_text(hint: Any) -> str:
    """A type as a person writes YAML: `int or null`, `list of string`, `one of a, b`."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return type_text(args[0])
    if members_by_tag(hint):
        return "mapping chosen by name"
    if origin in (typing.Union, types.UnionType):
        return " or ".join(map(type_text, args))
    if origin is tuple:
        return f"list of {type_text(args[0])}"
    if origin is dict:
        return f"mapping of string to {type_text(args[1])}"
    if names := list(_choices(hint)):
        return f"one of {', '.join(name or '(empty)' for name in names)}"
    if origin is Literal:
        return str(args[0])
    if dataclasses.is_dataclass(hint):
        return NODE
    return {str: "string", type(None): "null", Any: "anything"}.get(
        hint, getattr(hint, "__name__", str(hint))
    )


def limits_text(hint: Any) -> str:
    """Describe what `Annotated` allows, also within lists and mappings; empty for anything."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        own = [marker.allowed for marker in args[1:] if isinstance(marker, Limit)]
        return " and ".join(filter(None, [*own, limits_text(args[0])]))
    texts = [text for part in args if (text := limits_text(part))]
    each = "each " if texts and origin in (tuple, dict) else ""
    return each + ", or ".join(texts)


def _choices(hint: Any) -> dict[str, str]:
    """List the choices of an enum, of texts, or of a `name`, each with its meaning."""
    if members := members_by_tag(hint):
        return {name: _first_paragraph(member) for name, member in members.items()}
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        meanings = comments(hint)
        return {str(member.value): meanings.get(member.name, "") for member in hint}
    if typing.get_origin(hint) is Literal:
        texts = typing.get_args(hint)
        return {str(text): "" for text in texts} if texts[1:] else {}
    return {name: text for part in typing.get_args(hint) for name, text in _choices(part).items()}


@functools.cache
def comments(cls: type) -> dict[str, str]:
    """The comments of a class's fields or of an enum's members, inherited ones too."""
    texts: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        texts.update(_declared(base) or {})
    return texts


def _declared(cls: type) -> dict[str, str] | None:
    """The comments within one class; None for one that is not written out anywhere."""
    if cls.__module__ == "builtins":
        return None
    return _comments_by_class(cls.__module__).get(cls.__name__)


@functools.cache
def _comments_by_class(module: str) -> dict[str, dict[str, str]]:
    source = inspect.getsource(sys.modules[module])
    beside: dict[int, str] = {}
    above: dict[int, str] = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            alone = token.line.lstrip().startswith("#")
            (above if alone else beside)[token.start[0]] = token.string.lstrip("# ")
    return {
        statement.name: {
            target.id: _comment(part, above, beside)
            for part in statement.body
            if isinstance(part, ast.AnnAssign | ast.Assign)
            for target in (part.targets if isinstance(part, ast.Assign) else [part.target])
            if isinstance(target, ast.Name)
        }
        for statement in ast.parse(source).body
        if isinstance(statement, ast.ClassDef)
    }


def _comment(part: ast.stmt, above: Mapping[int, str], beside: Mapping[int, str]) -> str:
    first = part.lineno
    while first - 1 in above:
        first -= 1
    last = part.end_lineno or part.lineno
    texts = [above[line] for line in range(first, part.lineno)]
    texts += [beside[line] for line in range(part.lineno, last + 1) if line in beside]
    return " ".join(texts)


def find(
    documented: Sequence[NodeDoc], path: str
) -> tuple[list[tuple[str, FieldDoc]], list[NodeDoc]]:
    """Find the values that a path names, each with its choice, and the nodes at it.

    Places in a list and keys of a mapping may be given or left as `[]` and `*`.
    """
    wanted = _segments(path)
    values = [
        (node.choice, field)
        for node in documented
        for field in node.fields
        if path and _names(field.path, wanted)
    ]
    return values, [node for node in documented if _names(node.path, wanted)]


def _segments(path: str) -> list[str]:
    return re.sub(r"\[\d*\]", "", path).split(".")


def _names(path: str, wanted: Sequence[str]) -> bool:
    own = _segments(path)
    return len(own) == len(wanted) and all(
        key in ("*", part) for key, part in zip(own, wanted, strict=True)
    )
