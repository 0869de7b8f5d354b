"""Readers of yt8m's files, and of artifacts that an unfinished run may lack."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from yt8m.components import storage
from yt8m.schemas.json_file import reading

T = TypeVar("T")


def read_file(path: str, parse: Callable[[str], T]) -> T:
    """Parse the file; NewerFormatError names one that a newer yt8m wrote."""
    with reading(path):
        return parse(storage.read_text(path))


def read_if_present(directory: str | None, name: str, parse: Callable[[str], T]) -> T | None:
    """Parse the file; None without a directory or without the file in it."""
    path = storage.join(directory, name) if directory else ""
    try:
        return read_file(path, parse) if path and storage.exists(path) else None
    except FileNotFoundError:  # another process has removed it in between
        return None
