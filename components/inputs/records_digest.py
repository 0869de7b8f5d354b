"""A digest of the records themselves, by which processes and restarts know that they read the same.

Where verification has read the records, their digests are in the manifest. Elsewhere the length of
every record counts, and on this machine the checksums of some, which lie beside them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from yt8m.components import storage
from yt8m.components.inputs.config import Source
from yt8m.components.inputs.record_index import RecordIndex, index_of
from yt8m.components.records.tfrecord import FOOTER_BYTES, HEADER_BYTES

_SAMPLED = 16  # records of a shard


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


def _framing(source: Source, number: int) -> Iterator[bytes]:
    shard, index = source.shards[number], index_of(source)
    yield index.lengths[index.first[number] : index.first[number + 1]].tobytes()
    path = storage.local_path(shard.uri)
    if path is not None and not shard.compression:
        with path.open("rb") as file:
            yield from _checksums(file, index, number)


def _checksums(file: BinaryIO, index: RecordIndex, number: int) -> Iterator[bytes]:
    first, end = index.first[number : number + 2].tolist()
    for record in np.unique(np.linspace(first, end - 1, _SAMPLED).astype(np.int64)).tolist():
        file.seek(int(index.offsets[record] + HEADER_BYTES + index.lengths[record]))
        yield file.read(FOOTER_BYTES)
