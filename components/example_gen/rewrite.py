"""`ingest: rewrite`: a Beam pipeline that writes the good records again, on any runner.

Records are spread over new shards by a seeded hash of their id and place, and ordered by it, so the
result is the same on every runner, wherever the data lie and whatever the order of reading. Spans
stay apart: a shard is of one span, as in the sources. One new shard is held in memory at a time by
each worker; the in-process runner holds the whole set.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, BinaryIO, cast

import apache_beam as beam
import numpy as np

from yt8m.components import storage
from yt8m.components.artifacts.manifest import Shard
from yt8m.components.artifacts.record_index import ShardIndex
from yt8m.components.example_gen.config import Compression, DataConfig
from yt8m.components.example_gen.rewritten import Rewritten
from yt8m.components.example_gen.sources import UNDIVIDED, SourceShard, stable_bucket
from yt8m.components.example_gen.verify import ShardReport
from yt8m.components.records.decode import MalformedRecord, decode_record
from yt8m.components.records.shard_reader import open_shard, scan
from yt8m.components.records.tfrecord import frame
from yt8m.schemas.config_tree import from_dict, to_dict
from yt8m.schemas.errors import Yt8mError
from yt8m.schemas.features import ID, LABELS
from yt8m.schemas.own_code import load_named

_READ, _WRITTEN = ".read.json", ".written.json"
_LENGTHS, _SEGMENTS = "lengths", "segments"
_Group = tuple[str, int | None]  # split, span
_Key = tuple[str, int | None, int]  # split, span, number of the new shard


def rewrite_records(
    reports: Sequence[ShardReport],
    config: DataConfig,
    *,
    root: str,
    scratch: str,
    make_pipeline: Callable[[], beam.Pipeline],
) -> Rewritten:
    """New shards below `root`, without the records that the configured filter leaves out."""
    keep_record(config.rewrite.keep)  # a wrong path is reported before anything starts
    counts = _shard_counts(reports, config)
    with make_pipeline() as pipeline:
        _ = (
            pipeline
            | "Shards" >> beam.Create([_task(report) for report in reports])
            | "Spread" >> beam.Reshuffle()
            | "Read" >> beam.ParDo(_Read(config, counts, scratch))
            | "Group" >> beam.GroupByKey()
            | "Write" >> beam.ParDo(_Write(config, counts, root, scratch))
        )
    told = _told(scratch, _WRITTEN)
    shards = [from_dict(Shard, one["shard"]) for one in told]
    written, read = sum(s.records for s in shards), sum(_told(scratch, _READ))
    if written != read:
        raise Yt8mError(
            f"Beam's engine was given {read:,} records to write again and wrote {written:,}: "
            "nothing is ingested. Give the same command again; if it stays so, leave out "
            "--beam-runner"
        )
    good = sum(report.records - len(report.problems) for report in reports)
    return Rewritten(
        shards=sorted(shards, key=lambda s: (s.split, s.span or 0, s.uri)),
        index={shard.uri: _index(one) for shard, one in zip(shards, told, strict=True)},
        filtered=good - read,
    )


def _told(scratch: str, ending: str) -> list[Any]:
    """What the workers left of what they did."""
    names = storage.glob(storage.join(storage.escape(scratch), f"*{ending}"))
    return [json.loads(storage.read_text(name)) for name in names]


def _index(told: dict[str, Any]) -> ShardIndex:
    columns = (np.array(told[name], np.uint32) for name in (_LENGTHS, _SEGMENTS))
    return ShardIndex(*columns)


def keep_record(path: str) -> Callable[[bytes], bool]:
    """The filter at the dotted `path`; without one every record stays."""
    if not path:
        return lambda record: True
    return cast("Callable[[bytes], bool]", load_named(path, f"data.rewrite.keep = {path}"))


def records_of_split(
    sources: Iterable[SourceShard], split: str, config: DataConfig
) -> Iterator[bytes]:
    """Those of the sound records of `sources` that a rewrite would put into `split`."""
    keep = keep_record(config.rewrite.keep)
    for source in sources:
        with open_shard(source.uri) as (file, _):
            for record in (record for block in scan(file) for record in block.records):
                try:
                    placed = _split_of(record, source.split, config)
                except MalformedRecord:  # verification leaves it out of a rewrite
                    continue
                if placed == split and keep(record):
                    yield record


def _split_of(record: bytes, split: str, config: DataConfig) -> str:
    """Where a record of a shard of `split` goes: of one that is not divided yet, by the id."""
    if split != UNDIVIDED:
        return split
    return stable_bucket(_video_id(record).decode("utf-8", "replace"), config.divide.buckets)


def _video_id(record: bytes) -> bytes:
    ids = decode_record(record).features.get(ID, ())
    if len(ids) == 0:
        raise MalformedRecord("no id")
    return bytes(cast(bytes, ids[0]))


def _task(report: ShardReport) -> dict[str, Any]:
    return {
        "uri": report.source.uri,
        "digest": report.digest,
        "split": report.source.split,
        "span": report.source.span,
        "bad": sorted(problem.record for problem in report.problems),
        "end": report.records,  # beyond it verification has read nothing
    }


def _shard_counts(reports: Sequence[ShardReport], config: DataConfig) -> dict[_Group, int]:
    sizes: dict[_Group, float] = defaultdict(float)
    buckets = config.divide.buckets
    for source in (report.source for report in reports):
        if source.split == UNDIVIDED:
            for name, share in buckets.items():
                sizes[name, source.span] += source.size * share / sum(buckets.values())
        else:
            sizes[source.split, source.span] += source.size
    limit = config.rewrite.shard_mb << 20
    return {group: max(1, math.ceil(size / limit)) for group, size in sizes.items()}


class _Read(beam.DoFn):
    """Good records of one shard, each under the new shard that it goes to."""

    def __init__(self, config: DataConfig, counts: dict[_Group, int], scratch: str) -> None:
        self._config, self._counts, self._scratch = config, counts, scratch

    def process(self, task: dict[str, Any]) -> Iterator[tuple[_Key, tuple[bytes, bytes]]]:
        keep, bad, given = keep_record(self._config.rewrite.keep), set(task["bad"]), 0
        with open_shard(task["uri"]) as (file, _):
            for block in scan(file):
                for index, record in zip(block.indices, block.records, strict=True):
                    if index < task["end"] and index not in bad and keep(record):
                        given += 1
                        yield self._placed(record, f"{task['digest']} {index}", task)
        name = hashlib.sha256(task["uri"].encode()).hexdigest()[:32]
        storage.write_text(storage.join(self._scratch, f"{name}{_READ}"), json.dumps(given))

    def _placed(
        self, record: bytes, place: str, task: dict[str, Any]
    ) -> tuple[_Key, tuple[bytes, bytes]]:
        split, span = _split_of(record, task["split"], self._config), task["span"]
        seeded = (
            b"%d " % self._config.rewrite.shuffle_seed + _video_id(record) + b" " + place.encode()
        )
        order = hashlib.sha256(seeded).digest()
        number = int.from_bytes(order[:8], "big") % self._counts[split, span]
        return (split, span, number), (order, record)


class _Write(beam.DoFn):
    """One new shard, and beside the artifact what the manifest says of it."""

    def __init__(
        self, config: DataConfig, counts: dict[_Group, int], root: str, scratch: str
    ) -> None:
        self._compression = config.rewrite.compression
        self._counts, self._root, self._scratch = counts, root, scratch

    def process(self, group: tuple[_Key, Iterable[tuple[bytes, bytes]]]) -> None:
        (split, span, number), pairs = group
        records = [record for _, record in sorted(pairs)]
        ending = ".gz" if self._compression is Compression.GZIP else ""
        of_span = "" if span is None else f"span-{span}-"
        count = self._counts[split, span]
        name = f"{split}-{of_span}{number:05d}-of-{count:05d}.tfrecord{ending}"
        uri = storage.join(self._root, f"Split-{split}", name)
        with storage.atomic_write(uri) as file:
            digest = self._write(file, records)
        decoded = list(map(decode_record, records))
        shard = Shard(
            uri=uri,
            split=split,
            span=span,
            bytes=storage.stat(uri).size,
            digest=digest,
            compression=self._compression.value.upper() if ending else "",
            records=len(records),
            labels=sum(len(one.features.get(LABELS, ())) > 0 for one in decoded),
            frames=sum(one.num_frames for one in decoded),
            segments=sum(one.num_segments for one in decoded),
        )
        told = {
            "shard": to_dict(shard),
            _LENGTHS: list(map(len, records)),
            _SEGMENTS: [one.num_segments for one in decoded],
        }
        place = storage.join(self._scratch, f"{name}{_WRITTEN}")
        storage.write_text(place, json.dumps(told))

    def _write(self, file: BinaryIO, records: list[bytes]) -> str:
        digest = hashlib.sha256()
        packed: Any = file
        if self._compression is Compression.GZIP:
            packed = gzip.GzipFile(fileobj=file, mode="wb", mtime=0, filename="")
        for record in records:
            framed = frame(record)
            packed.write(framed)
            digest.update(framed[:8] + framed[-4:])
        if packed is not file:
            packed.close()
        return digest.hexdigest()[:32]
