"""Shards that a pattern finds, and the level of their records, without a configuration."""

from __future__ import annotations

from collections.abc import Sequence

from yt8m.components import storage
from yt8m.components.artifacts.manifest import Shard
from yt8m.components.records.decode import MalformedRecord, decode_record
from yt8m.components.records.shard_reader import open_shard, scan
from yt8m.components.records.tfrecord import GZIP_MAGIC
from yt8m.schemas.errors import DataError, UserError
from yt8m.schemas.features import Level

_LOOKED_AT = 50  # records, to tell the level


def find_shards(pattern: str) -> list[Shard]:
    """The files that `--data PATTERN` means, in the order of their names; never none."""
    uris = [uri for uri in storage.glob(pattern) if not storage.is_dir(uri)]
    if not uris:
        raise UserError(f"--data {pattern}: no file matches; quote the pattern")
    return [_shard(uri) for uri in uris]


def find_level(shards: Sequence[Shard]) -> Level:
    """The level of the first records there are; of segment-level ones some may have no rating."""
    for shard in shards:
        if first := _first_records(shard.uri):
            break
    else:
        raise DataError(f"{shards[0].uri}: holds no records")
    try:
        levels = [decode_record(record).level for record in first]
    except MalformedRecord as error:
        raise DataError(f"{shard.uri}: no YouTube-8M records ({error})") from error
    return Level.SEGMENT if Level.SEGMENT in levels else levels[0]


def _shard(uri: str) -> Shard:
    with storage.open_file(uri) as file:
        zipped = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
    status = storage.stat(uri)
    return Shard(
        uri=uri,
        split="eval",
        records=0,
        bytes=status.size,
        digest=f"{status.size} {status.mtime} {status.tag}",
        compression="GZIP" if zipped else "",
    )


def _first_records(uri: str) -> list[bytes]:
    with open_shard(uri) as (file, _):
        block = next(scan(file))
    if block.problems and not block.records:
        raise DataError(f"{uri}: {block.problems[0].reason}")
    return block.records[:_LOOKED_AT]
