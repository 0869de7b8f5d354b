"""Making the next item while the one before is used."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

_END = object()


def prefetch_one(items: Iterator[T]) -> Iterator[T]:
    """`items`, each of which a thread makes while the consumer is busy with the one before.

    For items whose making leaves Python (a model's scores, a read); what making one raises is
    raised where it would have been had.
    """
    with ThreadPoolExecutor(max_workers=1) as thread:
        coming = thread.submit(next, items, _END)
        while (item := coming.result()) is not _END:
            coming = thread.submit(next, items, _END)
            yield item  # type: ignore[misc]  # the marker is not among the items
