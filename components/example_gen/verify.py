"""Read the shards as configured, several in parallel, and report on each of them."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import io
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from yt8m.components import storage
from yt8m.components.artifacts.record_index import ShardIndex
from yt8m.components.console.progress import Progress
from yt8m.components.example_gen.config import DataConfig, Verify
from yt8m.components.example_gen.own_records import parse_record
from yt8m.components.example_gen.sources import SourceShard
from yt8m.components.example_gen.verification_cache import (
    INDICES,
    VerifiedCache,
    pack_figures,
    unpack_figures,
)
from yt8m.components.records.decode import MalformedRecord, decode_record
from yt8m.components.records.shard_reader import (
    UNKNOWN,
    Block,
    RecordProblem,
    first_record,
    open_shard,
    record_framing,
    scan,
)
from yt8m.components.records.shared_index import SharedIndex
from yt8m.components.records.validation import (
    Expected,
    expected_by,
    level_fault,
    not_a_record,
    unasked_features,
)
from yt8m.components.storage.errors import storage_failures_explained
from yt8m.schemas.code_digest import code_digest
from yt8m.schemas.features import FeatureConfig

MAX_PROBLEMS = 100_000  # of one shard; what has more is not read on, and memory stays flat
_WAITING_THREADS = 16
SAMPLED_RECORDS = 256  # of each shard, under the policy `sample`
_TOO_MANY = f"{MAX_PROBLEMS:,} records are bad; the rest of the file was not read"
_PROBLEMS = "problems"
_EMPTY = RecordProblem(0, 0, "the shard holds no record")


@dataclass(frozen=True, kw_only=True)
class ShardReport:
    """Result of reading one shard."""

    source: SourceShard
    records: int  # all that were found; nothing at all, or an unreadable rest, counts as one
    digest: str
    compression: str = ""
    labels: int = 0
    frames: int = 0
    segments: int = 0
    problems: tuple[RecordProblem, ...] = ()  # one for each bad record
    broken: bool = False  # it ends in an unreadable rest
    lost: int = 0  # records that this rest held besides the one that is counted, by estimate
    warnings: dict[str, int] = field(default_factory=dict)  # number of records each is said of
    # Hashes of the good records' ids, where the records were parsed; else of their contents.
    ids: np.ndarray | None = None
    contents: np.ndarray | None = None
    indices: np.ndarray | None = None  # of these records
    # Of each record, where none is bad.
    lengths: np.ndarray | None = None  # bytes
    segments_of: np.ndarray | None = None  # distinct rated ones, where the records were parsed
    remembered: bool = False  # verified by an earlier run, not read now


def verify_shards(
    shards: Sequence[SourceShard],
    config: DataConfig,
    features: FeatureConfig,
    *,
    cache: VerifiedCache | None = None,
    index: SharedIndex | None = None,
) -> list[ShardReport]:
    """A report for each shard, in their order; shards in `cache` are not read."""
    verifier = ShardVerifier(config, features, cache, index)
    return finished(_reports(shards, verifier.verify, config), cache)


def count_shards(
    shards: Sequence[SourceShard],
    config: DataConfig,
    features: FeatureConfig,
    *,
    index: SharedIndex,
    begin: float = 0.0,
) -> list[ShardReport]:
    """Reports of shards for a training alone, which asks for lengths and no contents.

    Those whose index somebody left are not walked. Processes that begin together, each at a
    `begin` (from 0 to 1) of its own, share the walking: what one has left the next ones read.
    """
    verifier = ShardVerifier(config, features, index=index)

    def count(shard: SourceShard) -> ShardReport:
        shard_index = index.load(shard.uri, known=_content_key(shard))
        return verifier.verify(shard) if shard_index is None else _of_index(shard, shard_index)

    first = int(len(shards) * begin)
    reports = _reports([*shards[first:], *shards[:first]], count, config)
    behind = len(shards) - first
    return finished([*reports[behind:], *reports[:behind]], None)


def _reports(
    shards: Sequence[SourceShard],
    report_on: Callable[[SourceShard], ShardReport],
    config: DataConfig,
) -> list[ShardReport]:
    """One of each shard, several at a time."""
    workers = config.workers or _threads(shards, config.verify)
    with (
        ThreadPoolExecutor(workers) as pool,
        verification_progress(config, total=len(shards)) as progress,
    ):
        reports, records = [], 0
        for report in pool.map(report_on, shards):
            reports.append(report)
            records += report.records
            progress.advance(note=f"{records:,} records")
    return reports


def verification_progress(config: DataConfig, *, total: int, done: int = 0) -> Progress:
    """Of verifying so many shards."""
    return Progress(f"verify ({config.verify.value})", total=total, unit="shards", done=done)


def _of_index(shard: SourceShard, index: ShardIndex) -> ShardReport:
    return ShardReport(
        source=shard,
        records=len(index.lengths),
        digest=_content_digest(shard),
        compression=index.compression,
        lengths=index.lengths,
        segments_of=index.segments,
    )


def _content_key(shard: SourceShard) -> str:
    return f"{shard.size} {shard.mtime} {shard.tag}"


def _content_digest(shard: SourceShard) -> str:
    return hashlib.sha256(_content_key(shard).encode()).hexdigest()[:32]


def _threads(shards: Sequence[SourceShard], policy: Verify) -> int:
    """One a processor, or more where they wait for an object store's answers."""
    waiting = policy in (Verify.OFF, Verify.SAMPLE) and any(
        storage.local_path(shard.uri) is None for shard in shards
    )
    return max(os.cpu_count() or 1, _WAITING_THREADS if waiting else 1)


def finished(reports: Sequence[ShardReport], cache: VerifiedCache | None) -> list[ShardReport]:
    """All reports of a verification; the broken ones say how many records were lost."""
    if cache:
        cache.forget_unused()
    return [estimate_lost(report, reports) if report.broken else report for report in reports]


def estimate_lost(report: ShardReport, reports: Sequence[ShardReport]) -> ShardReport:
    """`report`, which is broken, with the number of records that its unreadable rest held.

    The unbroken shards of its split tell how many records such a shard has. Where they are the
    fewer, at least as many are lost as were found: what is unbroken may be so by chance.
    """
    of_split = [r for r in reports if r.source.split == report.source.split]
    unbroken = [r for r in of_split if not r.broken]
    whole = report.records - 1
    least = whole if 2 * len(unbroken) < len(of_split) else 1
    total = _expected_records(report, unbroken) if unbroken else 0
    return dataclasses.replace(report, lost=max(round(total) - whole, least, 1) - 1)


def _expected_records(report: ShardReport, unbroken: Sequence[ShardReport]) -> float:
    alike = [r.source.size for r in unbroken if r.compression == report.compression]
    if not alike:
        return float(np.median([r.records for r in unbroken]))
    records = sum(r.records for r in unbroken if r.compression == report.compression)
    # One that was cut off was as large as the others.
    size = max(report.source.size, float(np.median(alike)))
    return records / max(sum(alike), 1) * size


def open_cache(directory: str, config: DataConfig, features: FeatureConfig) -> VerifiedCache | None:
    """What earlier verifications of the same kind found; None without a directory."""
    if not directory:
        return None
    return VerifiedCache(
        directory, policy=policy_key(config, features), code_version=code_digest(__name__)
    )


def policy_key(config: DataConfig, features: FeatureConfig) -> str:
    """Two verifications with the same key look for the same things."""
    decisive = [config.level.value, config.verify.value, features.num_classes]
    decisive += [code_digest(config.rewrite.parse)]
    text = json.dumps([*decisive, sorted(features.size_by_name.items()), sorted(config.unlabelled)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def pack_report(report: ShardReport) -> bytes:
    """For other processes."""
    return pack_figures(
        _figures(report) | {INDICES: report.indices, _PROBLEMS: list(report.problems)}
    )


def unpack_report(source: SourceShard, content: bytes) -> ShardReport:
    """The inverse of `pack_report`."""
    figures = unpack_figures(content)
    problems = tuple(RecordProblem(*one) for one in figures.pop(_PROBLEMS))
    return ShardReport(source=source, problems=problems, **figures)


def _figures(report: ShardReport) -> dict[str, Any]:
    return {
        field.name: getattr(report, field.name)
        for field in dataclasses.fields(report)
        # Of shards without a bad record no index is left out, and only these are remembered.
        if field.name not in ("source", _PROBLEMS, INDICES, "remembered")
    }


class ShardVerifier:
    """Reads shards as a policy says; several threads may use it in parallel."""

    def __init__(
        self,
        config: DataConfig,
        features: FeatureConfig,
        cache: VerifiedCache | None = None,
        index: SharedIndex | None = None,
    ) -> None:
        self._cache, self._index = cache, index or SharedIndex()
        self._policy, self._level, self._features = config.verify, config.level, features
        self._unlabelled = config.unlabelled
        self._has_own_format = bool(config.rewrite.parse)
        self._parse = parse_record(config.rewrite.parse)
        self._checker: Any = None
        if config.verify in (Verify.FULL, Verify.SAMPLE):
            # TensorFlow, so only where records are parsed.
            from yt8m.components.inputs.record_checker import record_checker

            self._checker = record_checker(config.level, features)

    def verify(self, shard: SourceShard) -> ShardReport:
        """The report of `shard`, which is not read where the cache has it."""
        known = self._cache.load(shard) if self._cache else None
        if known is not None:
            return ShardReport(source=shard, remembered=True, **known)
        report = self._read(shard)
        if not report.problems:
            if self._cache:
                self._cache.store(shard, _figures(report))
            if report.lengths is not None and not self._has_own_format:  # which nobody else reads
                shard_index = ShardIndex(report.lengths, report.segments_of, report.compression)
                self._index.keep(shard.uri, shard_index, known=_content_key(shard))
        return report

    def _read(self, shard: SourceShard) -> ShardReport:
        try:
            with storage_failures_explained(shard.uri):
                if self._policy in (Verify.FULL, Verify.CHECKSUM):
                    report = self._all(shard)
                else:
                    report = self._lengths(shard, sampled=self._policy is Verify.SAMPLE)
        except OSError as error:  # of the file itself: gone, or not allowed
            problem = RecordProblem(0, 0, f"cannot be read ({error})")
            return ShardReport(source=shard, records=1, digest="", problems=(problem,), broken=True)
        if storage.local_path(shard.uri) is not None:  # else it is a request each
            shard.check_unchanged()
        return report

    def _all(self, shard: SourceShard) -> ShardReport:
        total, digest = _Totals(), hashlib.sha256()
        parsed = self._policy is Verify.FULL
        check = self._check if parsed else self._check_level
        with open_shard(shard.uri) as (file, compression):
            for block in scan(file):
                digest.update(b"".join(block.framing))
                check(block, shard, total)
                if len(total.problems) >= MAX_PROBLEMS:
                    total.give_up()
                    break
        return total.report(shard, digest.hexdigest()[:32], compression, parsed=parsed)

    def _lengths(self, shard: SourceShard, *, sampled: bool) -> ShardReport:
        kept = SAMPLED_RECORDS if sampled else 1
        lengths, checksums, compression, fault, head = record_framing(shard.uri, keep=kept)
        records = len(lengths)
        problems = [fault] if fault else []
        if not fault and records and (wrong := self._level_fault(first_record(head), shard)):
            problems = [
                RecordProblem(at, 0 if at == 0 else UNKNOWN, wrong) for at in range(records)
            ]
        elif sampled:
            problems += self._sampled(head, shard)
        return ShardReport(
            source=shard,
            records=records + bool(fault) or 1,
            digest=_content_digest(shard),
            compression=compression,
            problems=tuple(problems) if records or fault else (_EMPTY,),
            broken=bool(fault) or not records,
            contents=_contents(lengths, checksums),
            indices=np.arange(records, dtype=np.int32),
            lengths=np.array(lengths, np.uint32),
        )

    def _sampled(self, head: bytes, shard: SourceShard) -> tuple[RecordProblem, ...]:
        total = _Totals()
        for block in scan(io.BytesIO(head)):
            self._check(block, shard, total)
        return tuple(total.problems)

    def _level_fault(self, data: bytes, shard: SourceShard) -> str | None:
        """Of the first record, for policies that parse none: the others will be of its kind."""
        try:
            return level_fault(decode_record(data), self._expected(shard))
        except MalformedRecord as error:
            return not_a_record(error)

    def _expected(self, shard: SourceShard) -> Expected:
        return expected_by(self._features, self._level, labelled=self._labelled(shard))

    def _labelled(self, shard: SourceShard) -> bool:
        return shard.split not in self._unlabelled

    def _check_level(self, block: Block, shard: SourceShard, total: _Totals) -> None:
        if block.records and not total.lengths:
            total.fault_of_all = self._level_fault(block.records[0], shard)
        fault = total.fault_of_all
        total.add(block, dict.fromkeys(range(len(block.records)), fault) if fault else {})
        total.add_framing(block)

    def _check(self, block: Block, shard: SourceShard, total: _Totals) -> None:
        if not block.records:
            total.add(block, {})
            return
        records, unread = self._parsed(block.records)
        if not total.lengths:
            total.of_all += self._unasked(records[0], shard)
        figures = self._checker.check(records, labelled=self._labelled(shard))
        total.add(block, figures.bad | unread)
        total.add_figures(block, figures)

    def _parsed(self, stored: list[bytes]) -> tuple[list[bytes], dict[int, str]]:
        """The records as everything else sees them; empty, with a reason, where that fails."""
        if not self._has_own_format:
            return stored, {}
        records, unread = [], {}
        for at, record in enumerate(stored):
            try:
                records.append(self._parse(record))
            except MalformedRecord as error:
                records.append(b"")  # which is no record either, so that the checker leaves it out
                unread[at] = str(error)
        return records, unread

    def _unasked(self, data: bytes, shard: SourceShard) -> Iterator[str]:
        """Columns of the first record that were not requested: the others will have them too."""
        with contextlib.suppress(MalformedRecord):
            for name in unasked_features(decode_record(data), self._expected(shard)):
                yield f"feature {name} is not in features.names; only a head `own` reads it"


class _Totals:
    """The sums over the blocks of one shard."""

    def __init__(self) -> None:
        self.records = self.labels = self.frames = self.segments = 0
        self.problems: list[RecordProblem] = []
        self.broken = False
        self.fault_of_all: str | None = None
        self.warnings: Counter[str] = Counter()
        self.of_all: list[str] = []  # warnings that hold for each record
        self.lengths: list[int] = []
        # Of records that were not parsed.
        self._checksums: list[int] = []
        self._places: list[int] = []
        # Columns of the parsed records, block by block.
        self._ids: list[np.ndarray] = []
        self._indices: list[np.ndarray] = []
        self._segments: list[np.ndarray] = []

    def add(self, block: Block, bad: dict[int, str]) -> None:
        self.records += len(block.problems) + len(block.records)
        self.problems += block.problems
        self.problems += _located(block, bad)
        self.broken |= block.broken
        self.lengths += map(len, block.records)

    def add_framing(self, block: Block) -> None:
        self._checksums += (int.from_bytes(part[8:], "little") for part in block.framing)
        self._places += block.indices

    def add_figures(self, block: Block, figures: Any) -> None:
        self.warnings += figures.warnings
        good = np.ones(len(block.records), bool)
        good[list(figures.bad)] = False
        self.labels += int((figures.labels[good] > 0).sum())
        self.frames += int(figures.frames[good].sum())
        self.segments += int(figures.segments[good].sum())
        self._ids.append(figures.ids[good])
        self._indices.append(np.asarray(block.indices, np.int32)[: len(good)][good])
        self._segments.append(np.asarray(figures.segments, np.uint32))

    def give_up(self) -> None:
        self.problems.append(RecordProblem(self.records, UNKNOWN, _TOO_MANY))
        self.records += 1
        self.broken = True

    def report(
        self, shard: SourceShard, digest: str, compression: str, *, parsed: bool
    ) -> ShardReport:
        return ShardReport(
            source=shard,
            records=self.records or 1,
            digest=digest,
            compression=compression,
            labels=self.labels,
            frames=self.frames,
            segments=self.segments,
            problems=tuple(sorted(self.problems)) if self.records else (_EMPTY,),
            broken=self.broken or not self.records,
            warnings={**self.warnings, **dict.fromkeys(self.of_all, self.records)},
            ids=_joined(self._ids, np.int64) if parsed else None,
            contents=None if parsed else _contents(self.lengths, self._checksums),
            indices=_joined(self._indices, np.int32)
            if parsed
            else np.array(self._places, np.int32),
            lengths=np.array(self.lengths, np.uint32),
            segments_of=_joined(self._segments, np.uint32) if parsed else None,
        )


def _joined(parts: list[np.ndarray], dtype: type) -> np.ndarray:
    return np.concatenate([np.zeros(0, dtype), *parts])


def _contents(lengths: Sequence[int], checksums: Sequence[int]) -> np.ndarray:
    """A number for each record, equal for equal contents: what the framing says of them."""
    return np.array(lengths, np.int64) << 32 | np.array(checksums, np.int64)


def _located(block: Block, bad: dict[int, str]) -> Iterator[RecordProblem]:
    for at, reason in bad.items():
        yield RecordProblem(block.indices[at], block.offsets[at], reason)
