"""Reading a file of an artifact that a run may not have come to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from yt8m.components import storage

T = TypeVar("T")


def read_if_present(directory: str | None, name: str, parse: Callable[[str], T]) -> T | None:
    """What `parse` makes of the file; None without a directory or without the file in it."""
    path = storage.join(directory, name) if directory else ""
    return parse(storage.read_text(path)) if path and storage.exists(path) else None
