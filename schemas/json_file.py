"""JSON files that yt8m keeps: each names its format, and the yt8m that wrote it.

A format's number is raised by a change after which an older yt8m would misread the file. Keys are
added without: a reader passes over those that it does not know.
"""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any, ClassVar, TypeVar

from yt8m.schemas.config_tree import from_dict, known_keys, to_dict
from yt8m.schemas.errors import ConfigError, UserError

T = TypeVar("T", bound="JsonFile")
FORMAT = 1  # of a file that is as in 1.0
_FORMAT, _WRITER = "format", "yt8m"
_DISTRIBUTION = "yt8m-pipeline"


class NewerFormatError(UserError):
    """A file in a newer format than this yt8m reads: it is not damaged, and not ours to judge."""


class DamagedFileError(UserError):
    """A file that is empty, cut off, or not what yt8m wrote; `problem` says what is wrong."""

    def __init__(self, message: str, *, problem: str = "") -> None:
        super().__init__(message)  # alone, so that the error passes between processes
        self.problem = problem


class JsonFile:
    """Base of dataclasses that are kept as JSON, in a file or on the way to another process."""

    FORMAT: ClassVar[int] = FORMAT

    def to_json(self) -> str:
        return to_text(to_dict(self), self.FORMAT)

    @classmethod
    def from_json(cls: type[T], text: str) -> T:
        """The inverse of `to_json`; ConfigError says what is wrong with values."""
        return from_dict(cls, known_keys(cls, fields_of(text, cls.FORMAT)))


def to_text(fields: Mapping[str, Any], form: int = FORMAT) -> str:
    """The text of a file with these fields."""
    return json.dumps({**stamp(form), **fields}, indent=1, allow_nan=False)


def fields_of(text: str, form: int = FORMAT) -> dict[str, Any]:
    """The inverse of `to_text`; ValueError where it is no JSON object."""
    data = json.loads(text)
    if not isinstance(data, Mapping):
        raise ValueError("it is not a JSON object")
    check_stamp(data, form)
    return {key: value for key, value in data.items() if key not in (_FORMAT, _WRITER)}


def stamp(form: int = FORMAT) -> dict[str, Any]:
    """The entries by which a file says its format and its writer."""
    return {_FORMAT: form, _WRITER: own_version()}


def check_stamp(entries: Mapping[str, Any], form: int = FORMAT) -> None:
    """NewerFormatError where a file with these entries is in a newer format than `form`."""
    there = entries.get(_FORMAT, form)  # a file that somebody wrote by hand has none
    if not isinstance(there, int) or there > form:
        writer = f"yt8m {entries.get(_WRITER, 'of a newer version')}"
        raise NewerFormatError(
            f"{writer} wrote it, in format {there!r}; this yt8m {own_version()} reads format "
            f"{form}. Use {writer} or newer"
        )


@contextlib.contextmanager
def reading(path: object, *, advice: str = "") -> Iterator[None]:
    """Name the file where one of a newer format is met in the block.

    With `advice`, what to do, a damaged one is named, too: DamagedFileError.
    """
    try:
        yield
    except NewerFormatError as error:
        raise NewerFormatError(f"{path}: {error}") from error
    except (ValueError, KeyError, ConfigError) as error:
        if not advice:
            raise
        problem = f"it has no {error}" if isinstance(error, KeyError) else f"{error}"
        problem = problem.replace("\n", "; ")
        message = f"{path} is damaged ({problem}): {advice}"
        raise DamagedFileError(message, problem=problem) from error


@functools.cache
def own_version() -> str:
    return version(_DISTRIBUTION)
