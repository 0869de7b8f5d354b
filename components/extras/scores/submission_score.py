"""The competitions' metrics of a submission: GAP@20 of videos, MAP@n of rated segments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from yt8m.components.artifacts.manifest import Shard
from yt8m.components.extras.scores.label_cache import KnownLabels, labels_of
from yt8m.components.inputs.labels import LabelRequest, RecordLabels, parse_labels
from yt8m.components.inputs.shards import read_batches
from yt8m.components.metrics.average_precision import Pairs, precision_sums
from yt8m.components.predictions.plan import TOP_K
from yt8m.components.predictions.submission import SegmentSubmission, VideoSubmission
from yt8m.schemas.errors import DataError, UserError
from yt8m.schemas.features import FeatureConfig, Level

_RECORDS_AT_ONCE = 256
_CLASS_BITS = 24  # a row and a class in one number
_NO_CLASS = (1 << _CLASS_BITS) - 1


@dataclass(frozen=True, kw_only=True)
class VideoScore:
    """GAP@20 of all labels there are, and what of the submission or the records it lacks."""

    gap: float
    videos: int
    positives: int
    missing_videos: int  # in the records alone: their labels count as not found
    unknown_videos: int  # in the submission alone: left out
    pairs_beyond_top_k: int  # left out


@dataclass(frozen=True, kw_only=True)
class SegmentScore:
    """The mean of the average precisions of all classes with positives."""

    map: float
    top_n: int
    segments: int  # rated ones
    classes: int  # that some segment is rated positive for
    missing_classes: int  # of these the submission has nothing: they count 0
    other_classes: int  # in the submission, without positives: left out of the mean
    unknown_segments: int  # in the submission, and not in the records: left out


def score_videos(
    submission: VideoSubmission,
    shards: Sequence[Shard],
    *,
    level: Level,
    advance: Callable[[int], None],
    cache: str | None = None,
) -> VideoScore:
    """GAP@20: all videos' pairs in one pool, over the labels of all videos."""
    # The labels of whole videos are alike in both kinds of sequence.
    of_videos = Level.FRAME if level.is_sequence else level
    known = labels_of(
        shards, "videos", lambda: _video_labels(shards, of_videos, advance), cache=cache
    )
    rows, labels = known.rows, known.positive
    of_pair = np.repeat(_rows_of(submission.ids, rows), submission.counts)
    kept = _best_pairs(submission)
    counted = kept & (of_pair >= 0)
    hits = np.isin(_keys(of_pair[counted], submission.classes[counted]), labels)
    _, sums = precision_sums(Pairs(scores=submission.scores[counted], hits=hits))
    matching = np.count_nonzero(_rows_of(submission.ids, rows) >= 0)
    return VideoScore(
        gap=float(sums.sum()) / len(labels) if len(labels) else 0.0,
        videos=len(rows),
        positives=len(labels),
        missing_videos=len(rows) - int(matching),
        unknown_videos=len(submission.ids) - int(matching),
        pairs_beyond_top_k=int(np.count_nonzero(~kept)),
    )


def score_segments(
    submission: SegmentSubmission,
    shards: Sequence[Shard],
    *,
    top_n: int,
    advance: Callable[[int], None],
    cache: str | None = None,
) -> SegmentScore:
    """MAP@n: of each class's first `top_n` segments those that are rated for it, in their order."""
    known = labels_of(shards, "segments", lambda: _ratings(shards, advance), cache=cache)
    rows, rated, positive = known.rows, known.rated, known.positive
    counts = dict(zip(*np.unique(positive & _NO_CLASS, return_counts=True), strict=True))
    precisions, unknown = [], 0
    for class_id, names in submission.segments.items():
        of_name = _rows_of(names[:top_n], rows)
        unknown += int(np.count_nonzero(of_name < 0))
        seen = of_name[of_name >= 0]
        keys = _keys(seen, np.full(len(seen), class_id))
        hits = np.isin(keys[np.isin(keys, rated)], positive)
        if class_id in counts:
            ranks = np.flatnonzero(hits) + 1
            precisions.append((np.arange(1, len(ranks) + 1) / ranks).sum() / counts[class_id])
    return SegmentScore(
        map=float(np.sum(precisions)) / len(counts) if counts else 0.0,
        top_n=top_n,
        segments=len(rows),
        classes=len(counts),
        missing_classes=len(counts) - len(precisions),
        other_classes=len(submission.segments) - len(precisions),
        unknown_segments=unknown,
    )


def _best_pairs(submission: VideoSubmission) -> np.ndarray:
    """Whether a pair is among its video's 20 best; of equal ones those that come first."""
    counts = submission.counts
    video = np.repeat(np.arange(len(counts)), counts)
    order = np.lexsort((-submission.scores, video))  # stable
    rank = np.empty(len(video), np.int64)
    rank[order] = np.arange(len(video)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rank < TOP_K


def _video_labels(
    shards: Sequence[Shard], level: Level, advance: Callable[[int], None]
) -> KnownLabels:
    """The videos, and the keys of all labels, each once."""
    rows: dict[str, int] = {}
    keys = [np.empty(0, np.int64)]
    for batch in _labels(shards, level, advance):
        row = np.array([rows.setdefault(_text(name), len(rows)) for name in batch.ids.tolist()])
        keys.append(_present(row, batch.labels))
    if not sum(map(len, keys)):
        raise UserError("--data: no record has a label, so nothing can be scored")
    labels = np.unique(np.concatenate(keys))
    return KnownLabels(names=list(rows), rated=np.empty(0, np.int64), positive=labels)


def _ratings(shards: Sequence[Shard], advance: Callable[[int], None]) -> KnownLabels:
    """The rated segments, the keys of their rated classes, and of those rated present."""
    rows: dict[str, int] = {}
    rated, positive = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for batch in _labels(shards, Level.SEGMENT, advance):
        assert batch.starts is not None
        assert batch.rated is not None
        names = zip(batch.ids.tolist(), batch.starts.tolist(), strict=True)
        row = np.array(
            [rows.setdefault(f"{_text(name)}:{start}", len(rows)) for name, start in names],
            np.int64,
        )
        rated.append(_present(row, batch.rated))
        positive.append(_present(row, batch.labels))
    if not rows:
        raise UserError(
            "--data: no record has rated segments, which a segment submission is scored by; the "
            "published ones are the validate* files of 2019"
        )
    return KnownLabels(
        names=list(rows),
        rated=np.unique(np.concatenate(rated)),
        positive=np.unique(np.concatenate(positive)),
    )


def _labels(
    shards: Sequence[Shard], level: Level, advance: Callable[[int], None]
) -> Iterator[RecordLabels]:
    """Labels, batch by batch."""
    request = LabelRequest(level=level, features=FeatureConfig())
    for shard in shards:
        for records in read_batches([shard], _RECORDS_AT_ONCE):
            try:
                yield parse_labels(records, request)
            except DataError as error:
                raise DataError(f"{shard.uri}: {error}") from error
        advance(1)


def _text(name: bytes) -> str:
    # A submission is UTF-8 text: it cannot name such a video, whose labels count as not found.
    return name.decode(errors="backslashreplace")


def _present(row: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The keys of `classes` [R, any], which are padded with -1."""
    where, column = np.nonzero(classes >= 0)
    return _keys(row[where], classes[where, column])


def _keys(row: np.ndarray, classes: np.ndarray) -> np.ndarray:
    # Whatever is no class of any vocabulary is one that nobody has.
    known = np.where((classes >= 0) & (classes < _NO_CLASS), classes, _NO_CLASS)
    return row << _CLASS_BITS | known


def _rows_of(names: Sequence[str], rows: dict[str, int]) -> np.ndarray:
    return np.array([rows.get(name, -1) for name in names], np.int64)
