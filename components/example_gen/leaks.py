"""Detection of videos in both training and evaluation data, which would flatter every model.

64-bit hashes find them: of ids, or of contents where the records were not parsed. The records
themselves are read again to be sure. The copy that is learned from is the bad one: the evaluation
set stays what it was, and figures stay comparable.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from yt8m.components.example_gen.config import SplitRoles
from yt8m.components.example_gen.verify import ShardReport
from yt8m.components.records.decode import MalformedRecord, Record, decode_record
from yt8m.components.records.shard_reader import RecordProblem, open_shard, scan
from yt8m.schemas.features import ID, LABELS


def mark_leaks(reports: Sequence[ShardReport], roles: SplitRoles) -> list[ShardReport]:
    """The reports, with each record among the problems that a split of more weight has too.

    A model is fitted to `train`, chosen on `validation` and judged on `judged`: each is held
    against those after it.
    """
    marked = list(reports)
    # The last first, so that a record that is bad in one split spoils no other.
    for split, kept in itertools.combinations(reversed(roles.in_order), 2):
        marked = _mark_overlap(marked, split=kept, kept=split)
    return marked


def _mark_overlap(reports: list[ShardReport], *, split: str, kept: str) -> list[ShardReport]:
    shared = np.intersect1d(_hashes(reports, split), _hashes(reports, kept))
    if not len(shared):
        return reports
    elsewhere = {
        _id(record): f"{kept} too: {report.source.uri} record {problem.record}"
        for report in _of(reports, kept)
        for record, problem in _located(report, shared)
    }
    elsewhere.pop(b"", None)
    return [
        _without(report, elsewhere, shared) if report.source.split == split else report
        for report in reports
    ]


def repeated_ids(reports: Sequence[ShardReport]) -> Iterator[str]:
    """Report ids that several records of a split have: each of them counts.

    By their hashes alone, so that shards verified before are not read again.
    """
    for split in sorted({report.source.split for report in reports}):
        ids = [report.ids for report in _of(reports, split) if report.ids is not None]
        if not ids:
            continue
        hashes, counts = np.unique(np.concatenate(ids), return_counts=True)
        several = hashes[counts > 1]
        if len(several):
            extra = int((counts[counts > 1] - 1).sum())
            where = _two_places(reports, split, several[0])
            yield f"{extra:,} records of split {split} have the id of another, for one {where}"


def _two_places(reports: Sequence[ShardReport], split: str, hashed: int) -> str:
    places = [
        f"{report.source.uri} record {record}"
        for report in _of(reports, split)
        if report.ids is not None and report.indices is not None
        for record in report.indices[report.ids == hashed].tolist()
    ]
    return f"{places[0]} and {places[1]}"


def ids_not_compared(reports: Sequence[ShardReport]) -> Iterator[str]:
    """Report what a verification that does not parse every record leaves open."""
    if any(report.ids is None for report in reports):
        yield (
            "ids are not compared, only whole records: a video written again may be in two "
            "splits, or twice in one; data.verify=full looks for both"
        )


def _without(report: ShardReport, elsewhere: dict[bytes, str], shared: np.ndarray) -> ShardReport:
    problems, labels, frames, segments = [], 0, 0, 0
    for record, problem in _located(report, shared):
        video_id = _id(record)
        if video_id in elsewhere:
            text = video_id.decode("utf-8", "replace")
            problems.append(problem._replace(reason=f"id {text} is in {elsewhere[video_id]}"))
            if report.ids is not None:  # else nothing was counted
                labels += len(record.features.get(LABELS, ())) > 0
                frames += record.num_frames
                segments += record.num_segments
    rest = _without_hashes(report, {problem.record for problem in problems})
    return dataclasses.replace(
        rest,
        problems=tuple(sorted([*report.problems, *problems])),
        labels=report.labels - labels,
        frames=report.frames - frames,
        segments=report.segments - segments if report.segments else 0,
    )


def _without_hashes(report: ShardReport, bad: set[int]) -> ShardReport:
    """`report` where the records `bad` are none that other splits are compared with."""
    if report.indices is None or not bad:
        return report
    good = ~np.isin(report.indices, sorted(bad))
    return dataclasses.replace(
        report,
        indices=report.indices[good],
        ids=None if report.ids is None else report.ids[good],
        contents=None if report.contents is None else report.contents[good],
    )


def _of(reports: Sequence[ShardReport], split: str) -> Iterator[ShardReport]:
    return (report for report in reports if report.source.split == split)


def _hashes(reports: Sequence[ShardReport], split: str) -> np.ndarray:
    parts = [hashes for r in _of(reports, split) if (hashes := _hashes_of(r)) is not None]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _hashes_of(report: ShardReport) -> np.ndarray | None:
    return report.contents if report.ids is None else report.ids


def _located(report: ShardReport, hashes: np.ndarray) -> Iterator[tuple[Record, RecordProblem]]:
    """Content and place of each good record of `report` whose hash is one of `hashes`."""
    known = _hashes_of(report)
    if known is None or report.indices is None:
        return
    wanted = set(report.indices[np.isin(known, hashes)].tolist())
    if not wanted:
        return
    with report.source.while_unchanged(), open_shard(report.source.uri) as (file, _):
        for block in scan(file):
            for index, offset, data in zip(
                block.indices, block.offsets, block.records, strict=True
            ):
                record = _decoded(data) if index in wanted else None
                if record is not None:
                    yield record, RecordProblem(index, offset, "")


def _decoded(data: bytes) -> Record | None:
    """The record; None where it is none, which a policy that parses nothing does not notice."""
    try:
        return decode_record(data)
    except MalformedRecord:
        return None


def _id(record: Record) -> bytes:
    """Its id; empty where it has none."""
    values = record.features.get(ID, ())
    return bytes(values[0]) if len(values) else b""
