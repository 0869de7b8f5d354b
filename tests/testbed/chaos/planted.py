"""Defects that `outcomes` must notice, each for the time of a block in this process."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from unittest import mock

from yt8m.components.registry import local_store
from yt8m.components.registry.cleaning import Cleaning
from yt8m.components.registry.local_store import LocalStore


def failure_after_the_commit() -> AbstractContextManager[object]:
    """A version gets its number, and whatever fails then is reported as a failed push."""

    def reveal(self: LocalStore, staging: Path, target: Path) -> bool:
        staging.rename(target)
        local_store._flush(target.parent)
        return True

    return mock.patch.object(LocalStore, "_reveal", reveal)


def failure_of_cleaning() -> AbstractContextManager[object]:
    """What cannot be cleaned up fails the change."""

    @contextlib.contextmanager
    def trying(self: Cleaning, what: str) -> Iterator[None]:
        yield

    return mock.patch.object(Cleaning, "trying", trying)


PLANTED: dict[str, Callable[[], AbstractContextManager[object]]] = {
    plant.__name__: plant for plant in (failure_after_the_commit, failure_of_cleaning)
}
