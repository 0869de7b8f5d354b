"""Lengths of the records of remote shards, kept by whoever read them first, for all who come later.

An index is named after the shard's address, size, time and tag: of an object that changed it is
another. It lies beside the shard (`.yt8m-index/`), or where that may not be written in a directory
that the caller names. A local shard has none: to walk it costs little.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
from collections.abc import Iterator

from yt8m.components import storage
from yt8m.components.artifacts.record_index import ShardIndex, pack_index, parse_index
from yt8m.schemas.json_file import NewerFormatError, reading

FOLDER = ".yt8m-index"
_log = logging.getLogger(__name__)


class SharedIndex:
    """The indices of shards; `fallback` is a directory for those that cannot lie beside theirs."""

    def __init__(self, fallback: str = "") -> None:
        self._fallback = fallback

    def load(self, uri: str, *, known: str) -> ShardIndex | None:
        """The index of the shard at `uri`, whose content `known` stands for; None without one."""
        for place in self._places(uri, known):
            try:
                with reading(place):
                    return parse_index(storage.read_bytes(place)).get(uri)
            except (FileNotFoundError, PermissionError):
                continue
            except (NewerFormatError, OSError) as error:
                _log.warning("%s: %s; the shard is read instead", place, error)
            except ValueError as error:
                _log.warning("%s: %s; the shard is read, and it is replaced", place, error)
                with contextlib.suppress(OSError):
                    storage.remove(place)
        return None

    def keep(self, uri: str, index: ShardIndex, *, known: str) -> None:
        """Keep `index` where others find it; where nothing can be written, each reader walks."""
        places = list(self._places(uri, known))
        if any(map(_is_there, places)):
            return
        for place in places:
            try:
                storage.write_bytes(place, pack_index({uri: index}))
            except OSError as error:
                _log.info("%s cannot be written: %s", place, error)
            else:
                return

    def _places(self, uri: str, known: str) -> Iterator[str]:
        if storage.local_path(uri) is not None:
            return
        name = hashlib.sha256(json.dumps([uri, known]).encode()).hexdigest()[:32]
        for folder in (storage.join(uri.rpartition("/")[0], FOLDER), self._fallback):
            if folder:
                yield storage.join(folder, f"{name}.npz")


def _is_there(place: str) -> bool:
    try:
        return storage.exists(place)
    except OSError:  # a store that answers "forbidden" where nothing is, to who may not list
        return False
