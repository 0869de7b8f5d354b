"""Detection of a hanging worker, which would keep its job running for ever without an error.

One that is dead is noticed by Flink; one that stands still (a stopped process, a disk that does not
answer) keeps its connections open. From outside it is seen by the records, which no longer move.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from yt8m.components.engines import flink_jobs

STILL_S = 300.0  # a large shard is scored in less
_EVERY_S = 10.0
_LAST_ANSWER_S = 1.0  # for which a question that is under way is waited for
_log = logging.getLogger(__name__)


@contextmanager
def standstill_named(
    master: str, name: str, *, still_s: float = STILL_S, every_s: float = _EVERY_S
) -> Iterator[None]:
    """In the block, warn of the job `name` whenever none of its records moves for `still_s`."""
    ended = threading.Event()
    watch = threading.Thread(
        target=_watch, args=(master, name, ended, still_s, every_s), daemon=True
    )
    watch.start()
    try:
        yield
    finally:
        ended.set()
        watch.join(_LAST_ANSWER_S)


def _watch(master: str, name: str, ended: threading.Event, still_s: float, every_s: float) -> None:
    before, since = None, time.monotonic()
    while not ended.wait(every_s):
        moved = flink_jobs.moved_records(master, name)
        if moved is None or moved != before:
            before, since = moved, time.monotonic()
        elif time.monotonic() - since >= still_s:
            at_work = flink_jobs.at_work(master, name)
            if not ended.is_set():  # a job that has ended has nobody at work
                _log.warning("%s", _standstill(name, still_s, at_work))
            since = time.monotonic()


def _standstill(name: str, still_s: float, at_work: list[str]) -> str:
    what = f"Flink's job {name}: no record has moved for {still_s:.0f} s"
    if not at_work:
        return (
            f"{what}, and no worker is busy; it may be waiting for task managers, or for a Python "
            "worker that has not come: the log of its pool says why"
        )
    return (
        f"{what}; a worker may hang among {'; '.join(at_work)}. End its task manager, or the "
        "Python worker there: the stage then restarts"
    )
