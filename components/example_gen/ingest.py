"""Ingestion of resolved sources into two directories: verify, apply the policy, write, list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

import numpy as np

from yt8m.components import storage
from yt8m.components.artifacts.manifest import FILE_NAME, QUARANTINE_FILE, Manifest, Shard
from yt8m.components.artifacts.record_index import FILE_NAME as INDEX_FILE
from yt8m.components.artifacts.record_index import ShardIndex, pack_index
from yt8m.components.artifacts.spans import spans_text
from yt8m.components.console.console import Console
from yt8m.components.example_gen.config import DataConfig, Ingest, SplitRoles
from yt8m.components.example_gen.leaks import (
    ids_not_compared,
    mark_leaks,
    repeated_ids,
)
from yt8m.components.example_gen.materialize import materialize_sample, materialize_shards
from yt8m.components.example_gen.reconcile import (
    RecordCounts,
    enforce_bad_input_policy,
    quarantine_json,
)
from yt8m.components.example_gen.rewritten import Rewritten
from yt8m.components.example_gen.sources import (
    Sources,
    SourceShard,
    bytes_copied_to_sample,
)
from yt8m.components.example_gen.verify import ShardReport
from yt8m.components.records.shard_reader import record_lengths
from yt8m.schemas.errors import UserError
from yt8m.schemas.features import Level

_MB = 1e6
# Gives a report of each shard, in their order.
VerifySources = Callable[[Sequence[SourceShard]], list[ShardReport]]
Rewrite = Callable[[Sequence[ShardReport]], Rewritten]  # of the good records of the reports


@dataclass(frozen=True, kw_only=True)
class Ingested:
    """Contents of the two artifacts."""

    manifest: Manifest
    accounts: RecordCounts
    sample_splits: tuple[str, ...]


def ingest(
    sources: Sources,
    config: DataConfig,
    *,
    examples_uri: str,
    sample_uri: str,
    verify: VerifySources,
    roles: SplitRoles | None = None,
    rewrite: Rewrite | None = None,
) -> Ingested:
    """Verify the sources and fill both directories; DataError where the policy stops it."""
    console = Console()
    for line in _whole_sample(sources, config, sample_uri):
        console.warn(f"ExampleGen: {line}")
    reports = mark_leaks(verify(sources.shards), roles or SplitRoles())
    accounts = enforce_bad_input_policy(reports, config)
    if config.ingest is Ingest.REWRITE:
        if rewrite is None:
            raise RuntimeError("rewriting needs a Beam pipeline")
        with ExitStack() as stack:
            for report in reports:
                stack.enter_context(report.source.while_unchanged())
            rewritten = rewrite(reports)
        shards, known = rewritten.shards, rewritten.index
        kept = sum(shard.records for shard in shards)
        accounts = replace(accounts, kept=kept, filtered=rewritten.filtered)
    else:
        known = {}
        shards = materialize_shards(reports, ingest=config.ingest, root=examples_uri)
    _check_splits(shards, accounts)
    manifest = Manifest(
        level=config.level,
        shards=tuple(shards),
        verify=config.verify.value,
        dated=sources.dated,
    )
    if accounts.quarantined:
        storage.write_text(storage.join(examples_uri, QUARANTINE_FILE), quarantine_json(reports))
    sample_splits = materialize_sample(
        shards,
        root=sample_uri,
        limit_bytes=config.sample_bytes or sum(shard.bytes for shard in shards),
        left_out=config.unlabelled,
    )
    index = record_index(shards, reports, known, level=config.level)
    storage.write_bytes(storage.join(examples_uri, INDEX_FILE), pack_index(index))
    storage.write_text(storage.join(examples_uri, FILE_NAME), manifest.to_json())
    console.info(_summary(accounts, sources))
    for line in (
        *_left_out(reports, examples_uri),
        *_warnings(reports),
        *repeated_ids(reports),
        *ids_not_compared(reports),
    ):
        console.warn(f"ExampleGen: {line}")
    return Ingested(manifest=manifest, accounts=accounts, sample_splits=sample_splits)


def record_index(
    shards: Sequence[Shard],
    reports: Sequence[ShardReport],
    known: Mapping[str, ShardIndex],
    *,
    level: Level,
) -> dict[str, ShardIndex]:
    """Where the records of the materialised shards begin.

    Whoever rewrote them knows it (`known`, by address), and verification of those that hold what
    their source does; shards that bad records were left out of are walked.
    """
    good = [report for report in reports if not report.problems]
    # A digest that stands for size and time alone may be of several shards.
    by_place = {report.source.uri: report for report in good}
    by_content = {report.digest: report for report in good}
    index = {}
    for shard in shards:
        report = by_place.get(shard.uri) or by_content.get(shard.digest)
        if known_index := known.get(shard.uri):
            index[shard.uri] = (
                known_index if level is Level.SEGMENT else ShardIndex(known_index.lengths)
            )
        elif report is not None and report.lengths is not None and not shard.quarantined:
            segments = report.segments_of if level is Level.SEGMENT else None
            index[shard.uri] = ShardIndex(report.lengths, segments)
        else:
            lengths, _, _ = record_lengths(shard.uri)
            index[shard.uri] = ShardIndex(np.array(lengths, np.uint32))
    return index


def _whole_sample(sources: Sources, config: DataConfig, sample_uri: str) -> Iterator[str]:
    """Said before anything is read: it may take hours and a disk."""
    if config.sample_bytes is not None:
        return
    sampled = sum(s.size for s in sources.shards if s.split not in config.unlabelled)
    copied = bytes_copied_to_sample(sources, config, to=sample_uri)
    where = f"{copied / _MB:,.1f} MB of them are copied first" if copied else "none are copied"
    yield (
        f"data.sample_mb = 0: statistics and Transform read all records, {sampled / _MB:,.1f} MB, "
        f"and {where}; data.sample_mb=64 bounds both"
    )


def _check_splits(shards: Sequence[Shard], accounts: RecordCounts) -> None:
    left_out = f"; data.rewrite.keep left out {accounts.filtered:,}" if accounts.filtered else ""
    for split in ("train", "eval"):
        if not any(shard.records for shard in shards if shard.split == split):
            raise UserError(f"no record is assigned to the split {split}{left_out}")


def _left_out(reports: Sequence[ShardReport], examples_uri: str) -> Iterator[str]:
    """Say that bad records were let pass, and where each of them is listed."""
    shards = [report for report in reports if report.problems]
    if shards:
        about = "about " if any(report.lost for report in shards) else ""
        records = sum(len(report.problems) + report.lost for report in shards)
        place = storage.join(examples_uri, QUARANTINE_FILE)
        yield (
            f"left out bad records (data.bad_input: quarantine): {about}{records:,}, in "
            f"{len(shards):,} of {len(reports):,} shards; {place} lists them"
        )


def _warnings(reports: Sequence[ShardReport]) -> Iterator[str]:
    counts: Counter[str] = Counter()
    shards: Counter[str] = Counter()
    first: dict[str, str] = {}
    for report in reports:
        counts.update(report.warnings)
        shards.update(report.warnings.keys())
        for text in report.warnings:
            first.setdefault(text, report.source.uri)
    for text, count in counts.items():
        where = f"{count:,} records in {shards[text]:,} shards, the first of which is {first[text]}"
        yield f"{text} ({where})"


def _summary(accounts: RecordCounts, sources: Sources) -> str:
    spans = f", {spans_text(sources.spans, dated=sources.dated)}" if sources.spans else ""
    before = f", {accounts.remembered} of them verified before" if accounts.remembered else ""
    return f"ExampleGen: {accounts.text()}; {accounts.shards} shards{before}{spans}"
