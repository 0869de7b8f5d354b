"""The files of records that a directory or a pattern means, and what they hold."""

from __future__ import annotations

import itertools
import zlib

from yt8m.components import storage
from yt8m.components.artifacts.manifest import Shard
from yt8m.components.records.decode import MalformedRecord, decode_record
from yt8m.components.records.shard_reader import open_shard
from yt8m.components.records.tfrecord import GZIP_MAGIC, BrokenRecord, read_records
from yt8m.schemas.errors import DataError, UserError
from yt8m.schemas.features import Level

_LOOKED_AT = 50  # records, to tell the level


def find_files(place: str) -> list[str]:
    """All TFRecord files below the directory `place`, or the files that match the pattern."""
    if storage.is_dir(place):
        below = (name for name in storage.walk_files(place) if ".tfrecord" in name)
        names = [storage.join(place, name) for name in below if not name.endswith(".part")]
    else:
        names = [name for name in storage.glob(place) if not storage.is_dir(name)]
    if not names:
        raise UserError(
            f"{place}: no such file; quote the pattern so that the shell does not expand it"
        )
    return names


def find_shards(place: str, split: str = "eval") -> list[Shard]:
    """The same as shards that nobody has verified: `records` is 0 until somebody counts them."""
    shards = []
    for uri in find_files(place):
        with storage.open_file(uri) as file:
            zipped = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
        shards.append(
            Shard(
                uri=uri,
                split=split,
                records=0,
                bytes=storage.stat(uri).size,
                digest="",
                compression="GZIP" if zipped else "",
            )
        )
    return shards


def level_of(uri: str) -> Level:
    """The level of a file's first records; some of a segment-level file may have no rating."""
    try:
        with open_shard(uri) as (file, _):
            first = itertools.islice(read_records(file), _LOOKED_AT)
            levels = [decode_record(data).level for _, data in first]
    except MalformedRecord as error:
        raise DataError(f"{uri}: no YouTube-8M records ({error})") from error
    except (BrokenRecord, EOFError, zlib.error) as error:
        raise DataError(f"{uri}: {error}") from error
    if not levels:
        raise DataError(f"{uri}: holds no records")
    return Level.SEGMENT if Level.SEGMENT in levels else levels[0]
