"""Cleaning up after a change of the registry: what cannot be done is a warning, never a failure.

What is left is noted in the push directory, so that `yt8m models list` repeats it, and the next
push tries again.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field

from yt8m.components import storage
from yt8m.schemas.config_tree import from_dict, to_dict
from yt8m.schemas.errors import Yt8mError
from yt8m.schemas.json_file import fields_of, to_text

LEFTOVERS_FILE = ".leftovers.json"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Leftovers:
    """Files that the last change could not clean up."""

    problems: tuple[str, ...] = ()
    uploads: tuple[int, ...] = ()  # of an object store: numbers that were given up


@dataclass
class Cleaning:
    """Collects what could not be cleaned up in one change of the registry."""

    push_dir: str
    problems: list[str] = field(default_factory=list)
    uploads: list[int] = field(default_factory=list)

    @contextlib.contextmanager
    def trying(self, what: str) -> Iterator[None]:
        """Run the block; a failure in it becomes the warning that `what` was not done."""
        try:
            yield
        except Exception as error:
            self.problems.append(f"{what}: {error}")

    def finish(self) -> None:
        """Warn about what is left, and note it for others."""
        for problem in self.problems:
            _log.warning("%s (the next push tries again)", problem)
        with contextlib.suppress(Exception):  # the warning has been given
            _note(self.push_dir, Leftovers(problems=(*self.problems,), uploads=(*self.uploads,)))


def read_leftovers(push_dir: str) -> Leftovers:
    """The last change's leftovers; empty where they are unknown."""
    try:
        text = storage.read_text(storage.join(push_dir, LEFTOVERS_FILE))
        return from_dict(Leftovers, fields_of(text))
    except (OSError, ValueError, Yt8mError):  # it is a warning, and no more
        return Leftovers()


def _note(push_dir: str, leftovers: Leftovers) -> None:
    path = storage.join(push_dir, LEFTOVERS_FILE)
    if leftovers != Leftovers():
        storage.write_text(path, to_text(to_dict(leftovers)))
    elif storage.exists(path):
        try:
            storage.remove(path)
        except OSError:  # who may not remove may write
            storage.write_text(path, to_text(to_dict(leftovers)))
