"""Cache of verified shards, so that a rolling window reads only its new span.

One file a shard, written atomically: runs that share a pipeline root may work at the same time.
What was found bad is not remembered, and a shard of another size, time or policy is not known.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import logging
import time
from typing import Any

import numpy as np

from yt8m.components import storage
from yt8m.components.example_gen.sources import SourceShard
from yt8m.schemas.json_file import NewerFormatError, fields_of, reading, to_text
from yt8m.schemas.npz_faults import NPZ_FAULTS

_KEPT_S = 90 * 24 * 3600.0
INDICES, _IDS, _CONTENTS, _NUMBERS = "indices", "ids", "contents", "figures"
_ARRAYS = (_IDS, _CONTENTS, INDICES, "lengths", "segments_of")
_logger = logging.getLogger(__name__)


class VerifiedCache:
    """The memory of one policy, in a directory that runs share."""

    def __init__(self, directory: str, *, policy: str, code_version: str) -> None:
        self._directory, self._policy, self._code_version = directory, policy, code_version

    def load(self, shard: SourceShard) -> dict[str, Any] | None:
        """The report of the last reading of `shard`, or None."""
        path = self._path(shard)
        try:
            with reading(path):
                figures = unpack_figures(storage.read_bytes(path))
            with contextlib.suppress(OSError):  # another user's, or read-only: its time stays
                storage.touch(path)  # its time is that of the last use
            return figures
        except FileNotFoundError:
            return None
        except PermissionError as error:
            _logger.warning("%s may not be read, so its shard is read again: %s", path, error)
            return None
        except NewerFormatError as error:
            _logger.warning("the shard is read again: %s", error)
            return None
        except NPZ_FAULTS as error:
            _logger.warning("%s is damaged and will be replaced: %s", self._path(shard), error)
            return None

    def store(self, shard: SourceShard, figures: dict[str, Any]) -> None:
        """Remember `figures` of `shard`; where that cannot be, the next run reads it again."""
        try:
            storage.write_bytes(self._path(shard), pack_figures(figures))
        except OSError as error:
            _logger.warning("%s cannot be written: %s", self._path(shard), error)

    def forget_unused(self) -> int:
        """Remove what no run has used for long (of any policy); returns how many that were."""
        oldest, removed = time.time() - _KEPT_S, 0
        kept = storage.find(storage.join(storage.escape(self._directory), "??/*.npz"))
        for path, status in kept.items():
            if status.mtime < oldest:
                with contextlib.suppress(OSError):
                    storage.remove(path)
                    removed += 1
        return removed

    def _path(self, shard: SourceShard) -> str:
        # The split counts: one of labelled records must have labels, another need not.
        content = [shard.uri, shard.size, shard.mtime, shard.tag]
        known = [*content, shard.split, self._policy, self._code_version]
        name = hashlib.sha256(json.dumps(known).encode()).hexdigest()[:32]
        return storage.join(self._directory, name[:2], f"{name}.npz")


def pack_figures(figures: dict[str, Any]) -> bytes:
    """A shard's figures as a file; without `indices` no record is left out."""
    numbers = {name: v for name, v in figures.items() if name not in _ARRAYS}
    arrays = {name: figures[name] for name in _ARRAYS if figures.get(name) is not None}
    buffer = io.BytesIO()
    np.savez(buffer, **{_NUMBERS: np.asarray(to_text(numbers))}, **arrays)
    return buffer.getvalue()


def unpack_figures(content: bytes) -> dict[str, Any]:
    """The inverse of `pack_figures`."""
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        figures = fields_of(str(stored[_NUMBERS]))
        figures |= {name: stored[name] for name in _ARRAYS if name in stored}
    hashes = figures.get(_IDS, figures.get(_CONTENTS))
    if hashes is not None and INDICES not in figures:
        figures[INDICES] = np.arange(len(hashes), dtype=np.int32)
    return figures
