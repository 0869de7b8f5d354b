"""Labels of records in one file, so that another submission is scored without reading the records.

The file names the records that it is of: where they differ, it is written anew.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from yt8m.components import storage
from yt8m.components.artifacts.manifest import Shard
from yt8m.schemas.errors import UserError
from yt8m.schemas.json_file import check_stamp, reading, stamp
from yt8m.schemas.npz_faults import NPZ_FAULTS

_ARRAYS = {"source", "names", "rated", "positive"}
_ZIP_MAGIC = b"PK\x03\x04"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, eq=False)
class KnownLabels:
    """Rows, and keys of a row and a class in one number."""

    names: list[str]  # of videos, or of rated segments, in the order of the rows
    rated: np.ndarray  # keys of the classes that count; of whole videos none is kept
    positive: np.ndarray  # keys of the labels

    @property
    def rows(self) -> dict[str, int]:
        """The row of each name."""
        return {name: row for row, name in enumerate(self.names)}


def labels_of(
    shards: Sequence[Shard], kind: str, read: Callable[[], KnownLabels], *, cache: str | None
) -> KnownLabels:
    """The labels of `shards`, from the file `cache` where that has them; else it is written."""
    if cache is None:
        return read()
    source = _digest(shards, kind)
    labels = _load(cache, source)
    if labels is None:
        labels = read()
        storage.write_bytes(cache, _pack(labels, source))
    return labels


def _digest(shards: Sequence[Shard], kind: str) -> str:
    rows = sorted((shard.uri, shard.digest) for shard in shards)
    return hashlib.sha256(json.dumps([kind, rows]).encode()).hexdigest()[:16]


def _pack(labels: KnownLabels, source: str) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        **stamp(),
        source=np.array(source),
        names=np.frombuffer(json.dumps(labels.names).encode(), np.uint8),
        rated=labels.rated,
        positive=labels.positive,
    )
    return buffer.getvalue()


def _load(cache: str, source: str) -> KnownLabels | None:
    """None where there is no such file, or it is of other records, or damaged.

    UserError where it is another file, which nobody may overwrite.
    """
    try:
        data = storage.read_bytes(cache)
    except FileNotFoundError:
        return None
    if not _ZIP_MAGIC.startswith(data[: len(_ZIP_MAGIC)]):
        raise _no_cache(cache)
    try:
        with reading(cache), np.load(io.BytesIO(data), allow_pickle=False) as stored:
            check_stamp({name: stored[name].item() for name in stamp() if name in stored})
            if _ARRAYS - {*stored}:
                raise _no_cache(cache)
            if stored["source"].item() != source:
                _log.warning(
                    "%s belongs to other records: reading the records and replacing it", cache
                )
                return None
            return KnownLabels(
                names=json.loads(stored["names"].tobytes()),
                rated=stored["rated"],
                positive=stored["positive"],
            )
    except NPZ_FAULTS as error:
        _log.warning("%s is damaged (%s): reading the records instead", cache, error)
        return None


def _no_cache(path: str) -> UserError:
    return UserError(
        f"--label-cache {path}: is another file, not a cache of labels; name a new one"
    )
