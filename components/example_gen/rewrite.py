"""`ingest: rewrite` writes the good records again: in this process, or as a Beam pipeline.

Records are spread over new shards by a seeded hash of their id and place, and ordered by it, so the
result is the same on every runner, wherever the data lie and whatever the order of reading. Spans
stay apart: a shard is of one span, as in the sources. One new shard is held in memory at a time by
each worker. In this process records wait in a file for each new shard: Beam's runner here would
hold the whole set in memory.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import apache_beam as beam
import numpy as np

from yt8m.components import storage
from yt8m.components.artifacts.manifest import Shard
from yt8m.components.artifacts.record_index import ShardIndex
from yt8m.components.console.progress import Progress
from yt8m.components.engines.finished_tasks import finished_tasks
from yt8m.components.example_gen.config import Compression, DataConfig
from yt8m.components.example_gen.own_records import keep_record, parse_record
from yt8m.components.example_gen.rewritten import Rewritten
from yt8m.components.example_gen.sources import UNDIVIDED, SourceShard, stable_bucket
from yt8m.components.example_gen.verify import ShardReport
from yt8m.components.records.decode import MalformedRecord, decode_record
from yt8m.components.records.shard_reader import open_shard, scan
from yt8m.components.records.tfrecord import frame, read_records, write_records
from yt8m.components.storage.local import naming_full_disk
from yt8m.schemas.config_tree import from_dict, to_dict
from yt8m.schemas.errors import Yt8mError
from yt8m.schemas.features import ID, LABELS

_READ, _WRITTEN = ".read.json", ".written.json"
_LENGTHS, _SEGMENTS = "lengths", "segments"
_ORDER_BYTES = hashlib.sha256().digest_size
_HELD_BYTES = 64 << 20
_Group = tuple[str, int | None]  # split, span
_Key = tuple[str, int | None, int]  # split, span, number of the new shard


def rewrite_records(
    reports: Sequence[ShardReport],
    config: DataConfig,
    *,
    root: str,
    scratch: str,
    make_pipeline: Callable[[], beam.Pipeline] | None = None,
) -> Rewritten:
    """New shards below `root`, without the records that the configured filter leaves out.

    By an engine where `make_pipeline` gives its pipelines, else in this process.
    """
    keep_record(config.rewrite.keep)  # a wrong path is reported before anything starts
    parse_record(config.rewrite.parse)
    counts = _shard_counts(reports, config)
    tasks = [_task(report) for report in reports]
    read_shard = _Read(config, counts, scratch)
    write_shard = _Write(config, counts, root, scratch)
    # Each is read, and each new one written.
    total = len(tasks) + sum(counts.values())
    with Progress("rewrite", total=total, unit="shards read or written") as progress:
        if make_pipeline is None:
            _rewrite_here(tasks, read_shard, write_shard, scratch, progress)
        else:
            _rewrite_on_beam(tasks, read_shard, write_shard, scratch, progress, make_pipeline)
    told = _told(scratch, _WRITTEN)
    shards = [from_dict(Shard, one["shard"]) for one in told]
    written, read = sum(s.records for s in shards), sum(_told(scratch, _READ))
    if written != read:
        raise Yt8mError(
            f"The Beam runner read {read:,} records and wrote {written:,}: nothing is ingested. "
            "Run the same command again; if it fails again, omit --beam-runner"
        )
    good = sum(report.records - len(report.problems) for report in reports)
    return Rewritten(
        shards=sorted(shards, key=lambda s: (s.split, s.span or 0, s.uri)),
        index={shard.uri: _index(one) for shard, one in zip(shards, told, strict=True)},
        filtered=good - read,
    )


def _rewrite_here(
    tasks: Sequence[dict[str, Any]],
    read_shard: _Read,
    write_shard: _Write,
    scratch: str,
    progress: Progress,
) -> None:
    """As the pipeline does; a file goes when its shard is written, so one copy needs room."""
    with _waiting_directory(scratch) as directory:
        waiting = _Waiting(directory)
        for task in tasks:
            for key, pair in read_shard.process(task):
                waiting.add(key, *pair)
            progress.advance()
        for key in waiting.shards:
            write_shard.process((key, waiting.take(key)))
            progress.advance()


def _rewrite_on_beam(
    tasks: Sequence[dict[str, Any]],
    read_shard: _Read,
    write_shard: _Write,
    scratch: str,
    progress: Progress,
    make_pipeline: Callable[[], beam.Pipeline],
) -> None:
    with (
        finished_tasks(scratch, progress.advance, units_of=lambda name: 1),
        make_pipeline() as pipeline,
    ):
        _ = (
            pipeline
            | "Shards" >> beam.Create(tasks)
            | "Spread" >> beam.Reshuffle()
            | "Read" >> beam.ParDo(read_shard)
            | "Group" >> beam.GroupByKey()
            | "Write" >> beam.ParDo(write_shard)
        )


@contextmanager
def _waiting_directory(scratch: str) -> Iterator[Path]:
    """Beside the scratch files, on a disk with room for a copy, or where temporary files are."""
    local = storage.local_path(scratch)
    if local is not None:
        local.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=local, prefix="waiting-") as made:
        yield Path(made)


class _Waiting:
    """Records on the way to their new shard, in a file for each; memory holds some of each."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._held: dict[_Key, list[bytes]] = defaultdict(list)
        self._held_bytes = 0
        self._numbers: dict[_Key, int] = {}

    def add(self, key: _Key, order: bytes, record: bytes) -> None:
        self._numbers.setdefault(key, len(self._numbers))
        self._held[key].append(order + record)
        self._held_bytes += len(record)
        if self._held_bytes >= _HELD_BYTES:
            self._flush()

    @property
    def shards(self) -> list[_Key]:
        return list(self._numbers)

    def take(self, key: _Key) -> Iterator[tuple[bytes, bytes]]:
        """The records of a new shard, each with its place in the order; they wait no longer."""
        self._flush()
        path = self._path(key)
        with path.open("rb") as file:
            for _, placed in read_records(file):
                yield placed[:_ORDER_BYTES], placed[_ORDER_BYTES:]
        path.unlink()

    def _flush(self) -> None:
        for key, placed in self._held.items():
            path = self._path(key)
            with naming_full_disk(path), path.open("ab") as file:
                write_records(file, placed)
        self._held.clear()
        self._held_bytes = 0

    def _path(self, key: _Key) -> Path:
        return self._directory / str(self._numbers[key])


def _told(scratch: str, ending: str) -> list[Any]:
    """Read the reports that the workers left."""
    names = storage.glob(storage.join(storage.escape(scratch), f"*{ending}"))
    return [json.loads(storage.read_text(name)) for name in names]


def _index(told: dict[str, Any]) -> ShardIndex:
    lengths, segments = (np.array(told[name], np.uint32) for name in (_LENGTHS, _SEGMENTS))
    return ShardIndex(lengths, segments)


def records_of_split(
    sources: Iterable[SourceShard | Shard], split: str, config: DataConfig
) -> Iterator[bytes]:
    """Those of the sound records of `sources` that a rewrite would put into `split`."""
    keep, parse = keep_record(config.rewrite.keep), parse_record(config.rewrite.parse)
    for source in sources:
        with open_shard(source.uri) as (file, _):
            for stored in (record for block in scan(file) for record in block.records):
                try:
                    record = parse(stored)
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
        keep = keep_record(self._config.rewrite.keep)
        parse = parse_record(self._config.rewrite.parse)
        bad, given = set(task["bad"]), 0
        with open_shard(task["uri"]) as (file, _):
            for block in scan(file):
                for index, stored in zip(block.indices, block.records, strict=True):
                    if index >= task["end"] or index in bad:
                        continue
                    record = parse(stored)
                    if keep(record):
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
        labels, frames, segments = 0, 0, []
        for decoded in map(decode_record, records):
            labels += len(decoded.features.get(LABELS, ())) > 0
            frames += decoded.num_frames
            segments.append(decoded.num_segments)
        shard = Shard(
            uri=uri,
            split=split,
            span=span,
            bytes=storage.stat(uri).size,
            digest=digest,
            compression=self._compression.value.upper() if ending else "",
            records=len(records),
            labels=labels,
            frames=frames,
            segments=sum(segments),
        )
        told = {
            "shard": to_dict(shard),
            _LENGTHS: list(map(len, records)),
            _SEGMENTS: segments,
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
