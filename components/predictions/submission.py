"""The two competitions' files: their headers, what they can hold, and how they are read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from yt8m.components import storage
from yt8m.schemas.errors import DataError, UserError

VIDEO_HEADER = "VideoId,LabelConfidencePairs"  # 2017 and 2018
SEGMENT_HEADER = "Class,Segments"  # 2019
_SHOWN = 60  # characters of a line that a message quotes


def is_plain(name: str) -> bool:
    """Whether a competition's file can hold the video id."""
    return name.isprintable() and not {",", " ", '"'} & set(name)


def require_plain(name: str) -> None:
    """DataError for a video id that a competition's file cannot hold."""
    if not is_plain(name):
        raise DataError(
            f"the video id {name!r} has a comma, a blank or a quotation mark, which a file of a "
            "competition cannot hold; choose --format jsonl, tfrecord or parquet"
        )


def require_distinct(names: np.ndarray) -> None:
    """DataError for a video or a segment that comes twice: no competition takes such a file."""
    ordered = np.sort(names)
    again = ordered[1:][ordered[1:] == ordered[:-1]].tolist()
    if again:
        raise DataError(
            f"the records have {again[0].decode()} twice, and a file of a competition "
            "names each once; leave the repeated records out (`yt8m data inspect` lists them), or "
            "choose --format jsonl, tfrecord or parquet"
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class VideoSubmission:
    """The pairs of all videos, one after the other."""

    ids: list[str]
    counts: np.ndarray  # [videos] pairs of each
    classes: np.ndarray  # [pairs] int64
    scores: np.ndarray  # [pairs] float64


@dataclass(frozen=True, kw_only=True)
class SegmentSubmission:
    """The segments of each class, best first."""

    segments: dict[int, list[str]] = field(default_factory=dict)


def read_submission(uri: str) -> VideoSubmission | SegmentSubmission:
    """Either file, told by its header or, where it has none, by its first line."""
    lines = _lines(uri)
    first = next(lines, None)
    if first is None:
        raise DataError(f"{uri}: is empty")
    text = first[1]
    if text.casefold() == SEGMENT_HEADER.casefold():
        return _segments(uri, lines)
    if text.casefold() == VIDEO_HEADER.casefold():
        return _videos(uri, lines)
    everything = _again(first, lines)
    # A class's line has segments, ID:START; a video's has numbers.
    key, _, values = text.partition(",")
    is_segments = key.strip().isdecimal() and ":" in values
    return _segments(uri, everything) if is_segments else _videos(uri, everything)


def _again(first: tuple[int, str], rest: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    yield first
    yield from rest


def _lines(uri: str) -> Iterator[tuple[int, str]]:
    """Number and content of each line that is not blank."""
    try:
        with storage.open_file(uri) as file:
            for number, line in enumerate(file, 1):
                if text := line.decode("utf-8-sig" if number == 1 else "utf-8").strip():
                    yield number, text
    except FileNotFoundError as error:
        raise UserError(f"{uri}: no such file") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{uri}: is not UTF-8 text, so it is not a submission") from error


def _videos(uri: str, lines: Iterator[tuple[int, str]]) -> VideoSubmission:
    ids: list[str] = []
    seen: set[str] = set()
    counts, classes, scores = [], [], []
    for number, text in lines:
        name, comma, pairs = text.partition(",")
        values = pairs.split()
        try:
            row_classes = np.array(values[::2], np.int64)
            row_scores = np.array(values[1::2], np.float64)
        except (ValueError, OverflowError):
            row_classes, row_scores = np.empty(0, np.int64), np.array([np.nan])
        if not comma or len(row_classes) != len(row_scores) or not np.isfinite(row_scores).all():
            raise _wrong(uri, number, text, "ID,CLASS CONFIDENCE CLASS CONFIDENCE ...")
        if name in seen:
            raise DataError(f"{uri}: line {number}: the video {name} occurs twice")
        if len(set(row_classes.tolist())) < len(row_classes):
            raise DataError(f"{uri}: line {number}: the video {name} lists a class twice")
        seen.add(name)
        ids.append(name)
        counts.append(len(row_classes))
        classes.append(row_classes)
        scores.append(row_scores)
    return VideoSubmission(
        ids=ids,
        counts=np.array(counts, np.int64),
        classes=np.concatenate([np.empty(0, np.int64), *classes]),
        scores=np.concatenate([np.empty(0), *scores]),
    )


def _segments(uri: str, lines: Iterator[tuple[int, str]]) -> SegmentSubmission:
    segments: dict[int, list[str]] = {}
    for number, text in lines:
        key, comma, names = text.partition(",")
        if not comma or not key.strip().isdecimal():
            raise _wrong(uri, number, text, "CLASS,ID:START ID:START ...")
        class_id = int(key)
        if class_id in segments:
            raise DataError(f"{uri}: line {number}: the class {class_id} occurs twice")
        listed = names.split()
        if len(set(listed)) < len(listed):
            raise DataError(f"{uri}: line {number}: class {class_id} lists a segment twice")
        segments[class_id] = listed
    return SegmentSubmission(segments=segments)


def _wrong(uri: str, number: int, text: str, expected: str) -> DataError:
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    return DataError(f"{uri}: line {number}: {shown!r}; expected {expected}")
