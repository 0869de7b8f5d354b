"""JSON files that yt8m keeps: each says its format, so that one of a newer yt8m is recognised."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from yt8m.schemas.config_tree import from_dict, to_dict
from yt8m.schemas.errors import UserError

T = TypeVar("T")
FORMAT = 1  # raised by a change after which an older yt8m would misread a file
_KEY = "format"


class NewerFormatError(UserError):
    """A file that a newer yt8m has written: it is not damaged, and not ours to judge."""


class JsonFile:
    """Base of dataclasses that are kept as JSON, in a file or on the way to another process."""

    def to_json(self) -> str:
        return to_text(to_dict(self))

    @classmethod
    def from_json(cls: type[T], text: str) -> T:
        """The inverse of `to_json`; ConfigError says what is wrong with values or keys."""
        return from_dict(cls, fields_of(text))


def to_text(fields: Mapping[str, Any]) -> str:
    """The text of a file with these fields."""
    return json.dumps({_KEY: FORMAT, **fields}, indent=1, allow_nan=False)


def fields_of(text: str) -> dict[str, Any]:
    """The inverse of `to_text`; ValueError where it is no JSON object."""
    data = json.loads(text)
    if not isinstance(data, Mapping):
        raise ValueError("it is not a JSON object")
    fields = dict(data)
    form = fields.pop(_KEY, FORMAT)  # a file that somebody wrote by hand has none
    if not isinstance(form, int) or form > FORMAT:
        raise NewerFormatError(
            f"a newer yt8m wrote it (format {form!r}, this yt8m reads {FORMAT}); update yt8m"
        )
    return fields
