"""Whether files of records are still those that they were when they were first looked at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from yt8m.components import storage
from yt8m.components.artifacts.manifest import Shard
from yt8m.components.storage.errors import storage_failures_explained
from yt8m.schemas.errors import DataError


class RecordsChangedError(DataError):
    """A file of records was written or removed while somebody read it."""


@contextmanager
def while_unchanged(shards: Sequence[Shard], during: str) -> Iterator[None]:
    """RecordsChangedError where a file is another one after the block than before it.

    Whatever else the block raises follows from that.
    """
    uris = [shard.uri for shard in shards]
    before = stats_of(uris)
    try:
        yield
    except Exception:
        _require_same(before, stats_of(uris), during)
        raise
    _require_same(before, stats_of(uris), during)


def stats_of(uris: Iterable[str]) -> dict[str, storage.Stat | None]:
    """Size and time of each file, None where it is not there.

    Of an object store the directories are listed: to ask is a request for each file.
    """
    stats: dict[str, storage.Stat | None] = {}
    by_directory: dict[str, list[str]] = defaultdict(list)
    for uri in uris:
        if storage.local_path(uri) is None:
            by_directory[uri.rpartition("/")[0]].append(uri)
        else:
            stats[uri] = stat_if_there(uri)
    for directory, inside in by_directory.items():
        with storage_failures_explained(directory):
            listed = storage.find(storage.join(storage.escape(directory), "*"))
        stats.update((uri, listed.get(uri)) for uri in inside)
    return stats


def stat_if_there(uri: str) -> storage.Stat | None:
    """Size and time of the file; None where it is not there."""
    try:
        return storage.stat(uri)
    except (FileNotFoundError, NotADirectoryError):
        return None


def is_same_content(before: storage.Stat, now: storage.Stat | None) -> bool:
    """Whether nobody has written the file since."""
    # Listings and addresses of object stores may give times of different precision.
    return (
        now is not None
        and now.size == before.size
        and (now.tag or now.mtime) == (before.tag or before.mtime)
    )


def _require_same(
    before: dict[str, storage.Stat | None], now: dict[str, storage.Stat | None], during: str
) -> None:
    for uri, stat in before.items():
        if stat is not None and not is_same_content(stat, now[uri]):
            what = "changed" if now[uri] else "was removed"
            raise RecordsChangedError(
                f"{uri}: the file {what} during the {during}; run the command again"
            )
