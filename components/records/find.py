"""The files of records that a directory or a pattern means, and what they hold."""

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


def find_files(*places: str) -> list[str]:
    """All TFRecord files below the directories `places`, or the files that match the patterns.

    Hidden ones are the system's or another program's: `._train0.tfrecord`, all in `.Trash`. Of a
    file that is found twice, perhaps by a link that a run has made, the first name counts.
    """
    by_file: dict[str, str] = {}
    for name in (name for place in places for name in _find(place)):
        by_file.setdefault(storage.real_name(name), name)
    return list(by_file.values())


def _find(place: str) -> list[str]:
    if storage.is_dir(place):
        below = [name for name in storage.walk_files(place) if _is_of_records(name)]
        names = [storage.join(place, name) for name in below]
    elif storage.exists(place):  # whatever its name has in common with a pattern
        names = [place]
    else:
        names = [name for name in storage.glob(_pattern(place)) if not storage.is_dir(name)]
    if not names:
        raise UserError(f"{place}: {_why_nothing(place)}")
    return names


def _why_nothing(place: str) -> str:
    if storage.is_dir(place):
        return "holds no file of records; their names contain `.tfrecord`"
    return "no such file" + (", and none that matches" if storage.wildcards(place) else "")


def _pattern(place: str) -> str:
    """`place`, whose directory is meant as it is called where it is there."""
    directory, slash, name = place.rpartition("/")
    if slash and storage.wildcards(directory) and storage.is_dir(directory):
        return f"{storage.escape(directory)}/{name}"
    return place


def find_shards(*places: str, split: str = "eval") -> list[Shard]:
    """The same as shards that nobody has verified: `records` is 0 until somebody counts them."""
    return [_shard(uri, split) for uri in find_files(*places)]


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


def _is_of_records(name: str) -> bool:
    """Whether the file is named as one of records, below a directory that holds some."""
    *above, last = name.split("/")
    is_hidden = any(part.startswith(".") for part in (*above, last))
    return ".tfrecord" in last and not last.endswith(".part") and not is_hidden


def _shard(uri: str, split: str) -> Shard:
    with storage.open_file(uri) as file:
        zipped = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
    status = storage.stat(uri)
    return Shard(
        uri=uri,
        split=split,
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
