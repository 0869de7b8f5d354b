"""Progress of an engine's work: each task leaves a file in one directory, wherever it runs."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator

from yt8m.components import storage
from yt8m.schemas.errors import Yt8mError

_LOOK_EVERY_S = 2.0

_log = logging.getLogger(__name__)


@contextlib.contextmanager
def finished_tasks(
    directory: str, advance: Callable[[int], None], *, units_of: Callable[[str], int]
) -> Iterator[None]:
    """In the block, `advance` is told the `units_of` each file that appears in `directory`.

    From a thread, because the block waits for the engine. What was there before counts too.
    """
    ended, known = threading.Event(), set[str]()

    def look() -> None:
        try:
            names = {name for name in storage.list_dir(directory) if not name.startswith(".")}
        except (OSError, Yt8mError) as error:  # whoever needs the files says what is wrong
            _log.debug("%s cannot be listed: %s", directory, error)
            return
        if new := names - known:
            known.update(new)
            advance(sum(map(units_of, new)))

    def follow() -> None:
        while not ended.wait(_LOOK_EVERY_S):
            look()

    thread = threading.Thread(target=follow, name="finished-tasks", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    look()
