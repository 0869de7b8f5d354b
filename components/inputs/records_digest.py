"""A digest of the records themselves, by which processes and restarts know that they read the same.

Where verification has read the records, their digests are in the manifest. Elsewhere the length of
every record counts, and on this machine the checksums of some, which lie beside them.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator

import numpy as np

from yt8m.components import storage
from yt8m.components.artifacts.manifest import Shard
from yt8m.components.inputs.config import Source
from yt8m.components.inputs.record_index import RecordIndex, index_of
from yt8m.components.records.tfrecord import FOOTER_BYTES, HEADER_BYTES

_SAMPLED = 16  # records of a shard
_GLIMPSED = 4  # where the manifest's digest counts too


def records_digest(source: Source) -> str:
    """Changes when the records do, or their order; where the shards lie does not count."""
    digest = hashlib.sha256()
    for number, shard in enumerate(source.shards):
        name = shard.uri.rpartition("/")[2]
        digest.update(f"{name} {shard.records} {shard.bytes}\n".encode())
        if source.digests_known:
            digest.update(shard.digest.encode())
        else:
            for part in _framing(source, number):
                digest.update(part)
    return digest.hexdigest()[:16]


def glimpse(shard: Shard, index: RecordIndex, number: int) -> bytes:
    """Checksums of a few records as they lie there now; none where that takes more than a look.

    By these a cache knows shard `number` of the index from another that has taken its place.
    """
    with contextlib.suppress(OSError):  # whoever reads the shard says so
        return b"".join(_checksums(shard, index, number, _GLIMPSED))
    return b""


def _framing(source: Source, number: int) -> Iterator[bytes]:
    shard, index = source.shards[number], index_of(source)
    yield index.lengths[index.first[number] : index.first[number + 1]].tobytes()
    yield from _checksums(shard, index, number, _SAMPLED)


def _checksums(shard: Shard, index: RecordIndex, number: int, count: int) -> Iterator[bytes]:
    path = storage.local_path(shard.uri)
    if path is None or shard.compression:
        return
    first, end = index.first[number : number + 2].tolist()
    with path.open("rb", buffering=0) as file:
        for record in np.unique(np.linspace(first, end - 1, count).astype(np.int64)).tolist():
            file.seek(int(index.offsets[record] + HEADER_BYTES + index.lengths[record]))
            yield file.read(FOOTER_BYTES)
