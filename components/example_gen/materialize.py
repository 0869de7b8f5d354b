"""Put shards into an artifact: by link, by reference, as a copy, or without their bad records.

A source is only ever read. Links are to files, never to directories: cleaning up after a failure
follows a directory link and would empty what it points to.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from yt8m.components import storage
from yt8m.components.artifacts.manifest import Shard
from yt8m.components.example_gen.config import Ingest
from yt8m.components.example_gen.sources import can_be_linked, check_unchanged
from yt8m.components.example_gen.verify import ShardReport
from yt8m.components.records.shard_reader import open_shard, scan
from yt8m.components.records.tfrecord import write_records
from yt8m.schemas.errors import Yt8mError


def materialize_shards(reports: Sequence[ShardReport], *, ingest: Ingest, root: str) -> list[Shard]:
    """The manifest's shards, after putting each below `root` as `ingest` says."""
    names = _names(reports)
    shards, referenced = [], []
    for report, name in zip(reports, names, strict=True):
        target = storage.join(root, f"Split-{report.source.split}")
        storage.make_dirs(target)
        if len(report.problems) == report.records:
            continue
        target = storage.join(target, name)
        if not report.problems and ingest is Ingest.REFERENCE:
            shards.append(_shard(report, report.source.uri))
            referenced.append(report.source)
            continue
        with report.source.while_unchanged():  # what is written now is what was verified before
            if report.problems:
                shards.append(_without_problems(report, target))
            else:
                shards.append(_shard(report, _place(report.source.uri, target, ingest)))
    check_unchanged(referenced)
    return shards


def materialize_sample(
    shards: Sequence[Shard], *, root: str, limit_bytes: int, left_out: Sequence[str]
) -> tuple[str, ...]:
    """At most about `limit_bytes` of each split below `root`; the names of the splits placed.

    Which shards, a hash of their content alone decides: a sample of several spans has some of each,
    and the same data give the same figures wherever they lie. A shard larger than the limit is cut.
    """
    splits = [s for s in dict.fromkeys(shard.split for shard in shards) if s not in left_out]
    for split in splits:
        folder = storage.join(root, f"Split-{split}")
        storage.make_dirs(folder)
        ordered = sorted((s for s in shards if s.split == split), key=_sample_order)
        used = 0
        for number, shard in enumerate(ordered):
            if used and used + shard.bytes > limit_bytes:
                continue
            target = storage.join(
                folder, f"{number:05d}-{_file_name(shard.uri, shard.compression)}"
            )
            if shard.bytes > limit_bytes:
                _write_head(shard.uri, target.removesuffix(".gz"), limit_bytes)
            else:
                is_linked = can_be_linked(shard.uri, to=root)
                _place(shard.uri, target, Ingest.LINK if is_linked else Ingest.COPY)
            used += shard.bytes
    return tuple(splits)


def _place(source: str, target: str, ingest: Ingest) -> str:
    """Where the records are read from."""
    if ingest is Ingest.COPY:
        storage.copy(source, target)
        return target
    if ingest is Ingest.LINK:
        storage.link(source, target)
    return source


def _without_problems(report: ShardReport, target: str) -> Shard:
    """The good records alone, in a new file; always a copy, whatever the ingest mode."""
    bad = {problem.record for problem in report.problems}
    target = target.removesuffix(".gz")
    with open_shard(report.source.uri) as (file, _), storage.atomic_write(target) as out:
        kept = 0
        for block in scan(file):
            pairs = zip(block.indices, block.records, strict=True)
            # Beyond the last one that verification counted it has read nothing.
            good = (r for at, r in pairs if at < report.records and at not in bad)
            kept += write_records(out, good)
    if kept != report.records - len(bad):
        raise Yt8mError(
            f"{report.source.uri}: only {kept} of {report.records} records could be copied; "
            "run again"
        )
    identity = f"{report.digest} {sorted(bad)}"
    return replace(
        _shard(report, target),
        bytes=storage.stat(target).size,
        digest=hashlib.sha256(identity.encode()).hexdigest()[:32],
        compression="",
    )


def _shard(report: ShardReport, uri: str) -> Shard:
    return Shard(
        uri=uri,
        split=report.source.split,
        records=report.records - len(report.problems),
        bytes=report.source.size,
        digest=report.digest,
        compression=report.compression,
        labels=report.labels,
        frames=report.frames,
        segments=report.segments,
        span=report.source.span,
        quarantined=len(report.problems) + report.lost,
    )


def _names(reports: Sequence[ShardReport]) -> list[str]:
    """File names that are distinct in each split: of two equal ones both carry a hash."""
    names = [_file_name(report.source.uri, report.compression) for report in reports]
    taken = Counter((r.source.split, name) for r, name in zip(reports, names, strict=True))
    return [
        name
        if taken[report.source.split, name] == 1
        else f"{hashlib.sha256(report.source.uri.encode()).hexdigest()[:8]}-{name}"
        for report, name in zip(reports, names, strict=True)
    ]


def _file_name(uri: str, compression: str) -> str:
    """Beam goes by the ending, so it must tell the truth about the content."""
    name = uri.rpartition("/")[2].removesuffix(".gz")
    return f"{name}.gz" if compression == "GZIP" else name


def _sample_order(shard: Shard) -> str:
    return hashlib.sha256(shard.digest.encode()).hexdigest()


def _write_head(source: str, target: str, limit_bytes: int) -> None:
    with open_shard(source) as (file, _), storage.atomic_write(target) as out:
        for block in scan(file, block_bytes=1 << 18):
            write_records(out, block.records)
            if out.tell() >= limit_bytes:
                break
