"""A verdict on a version is not taken from one answer: damage and absence are read twice.

Object stores and what stands before them answer wrongly now and then: a page with status 200, a 404
for what is there, an empty listing. On this machine's own file systems the second reading follows
immediately.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from yt8m.components import storage

T = TypeVar("T")

_READINGS = 6
pause_s = 1.0


def pause(uri: str) -> None:
    """Wait before the second reading of `uri`."""
    if storage.local_path(uri) is None:
        time.sleep(pause_s)


def read_until_agreed(uri: str, read: Callable[[], T]) -> T:
    """Read until two readings in a row agree; one is enough on this machine."""
    before = read()
    if storage.local_path(uri) is not None:
        return before
    for _ in range(_READINGS):
        now = read()
        if now == before:
            return now
        before = now
        pause(uri)
    raise OSError(f"{uri}: the storage returned different lists")


def is_there(file: str) -> bool:
    """Whether the file exists; absent is what its own address and the listing say twice."""
    if storage.exists(file):
        return True
    pause(file)
    return storage.exists(file) or is_listed(file)


def is_listed(file: str) -> bool:
    """Whether the directory's listing has the file."""
    status = storage.find(storage.escape(file)).get(file)
    return status is not None and not status.is_dir
