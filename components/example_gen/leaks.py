"""Videos that are in both train and eval, which would flatter every model.

64-bit hashes of the ids find them; the records themselves are read again to be sure. The copy in
train is the bad one: the evaluation set stays what it was, and figures stay comparable.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from yt8m.components.example_gen.verify import ShardReport
from yt8m.components.records.decode import Record, decode_record
from yt8m.components.records.shard_reader import RecordProblem, open_shard, scan
from yt8m.schemas.features import ID, LABELS

TRAIN, EVAL = "train", "eval"


def mark_train_eval_overlap(reports: Sequence[ShardReport]) -> list[ShardReport]:
    """The reports, with each train record whose id is also in eval among the problems."""
    train, evaluation = _hashes(reports, TRAIN), _hashes(reports, EVAL)
    shared = np.intersect1d(train, evaluation)
    if not len(shared):
        return list(reports)
    in_eval = {
        _id(record): f"{report.source.uri} record {problem.record}"
        for report in _of(reports, EVAL)
        for record, problem in _located(report, shared)
    }
    return [
        _without(report, in_eval, shared) if report.source.split == TRAIN else report
        for report in reports
    ]


def repeated_ids(reports: Sequence[ShardReport]) -> Iterator[str]:
    """What is to be said of ids that several records of a split have: each of them counts.

    By their hashes alone, so that shards verified before are not read again.
    """
    for split in sorted({report.source.split for report in reports}):
        hashes, counts = np.unique(_hashes(reports, split), return_counts=True)
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
    """What a verification that parses not every record leaves open."""
    if any(report.ids is None for report in reports):
        yield (
            "ids are not compared, so a video may be in train and in eval, or twice in a split; "
            "data.verify=full looks for both"
        )


def _without(report: ShardReport, in_eval: dict[bytes, str], shared: np.ndarray) -> ShardReport:
    problems, labels, frames, segments = [], 0, 0, 0
    for record, problem in _located(report, shared):
        video_id = _id(record)
        if video_id in in_eval:
            text = video_id.decode("utf-8", "replace")
            problems.append(
                problem._replace(reason=f"id {text} is in eval too: {in_eval[video_id]}")
            )
            labels += len(record.features.get(LABELS, ())) > 0
            frames += record.num_frames
            segments += record.num_segments
    return dataclasses.replace(
        report,
        problems=tuple(sorted([*report.problems, *problems])),
        labels=report.labels - labels,
        frames=report.frames - frames,
        segments=report.segments - segments if report.segments else 0,
    )


def _of(reports: Sequence[ShardReport], split: str) -> Iterator[ShardReport]:
    return (report for report in reports if report.source.split == split)


def _hashes(reports: Sequence[ShardReport], split: str) -> np.ndarray:
    parts = [report.ids for report in _of(reports, split) if report.ids is not None]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _located(report: ShardReport, hashes: np.ndarray) -> Iterator[tuple[Record, RecordProblem]]:
    """Content and place of each good record of `report` whose hash is one of `hashes`."""
    if report.ids is None or report.indices is None:
        return
    wanted = set(report.indices[np.isin(report.ids, hashes)].tolist())
    if not wanted:
        return
    with open_shard(report.source.uri) as (file, _):
        for block in scan(file):
            for index, offset, record in zip(
                block.indices, block.offsets, block.records, strict=True
            ):
                if index in wanted:
                    yield decode_record(record), RecordProblem(index, offset, "")


def _id(record: Record) -> bytes:
    return bytes(record.features[ID][0])
