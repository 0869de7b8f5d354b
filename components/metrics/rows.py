"""Data kept of each video: enough for every metric, slice and interval, and no more.

At top 20 and float32 scores that is 165 bytes per video; the work beside it is bounded. Rows of
different shards are joined end to end, so any sharding and order holds the same rows.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable
from dataclasses import Field, dataclass, fields
from typing import Any

import numpy as np

from yt8m.components.allocator import return_freed_memory
from yt8m.components.metrics.batch import Batch, checked_scores, column, truth
from yt8m.components.metrics.topk import places, top_k


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """Columns, one entry a video; `labels` holds the videos' labels one after the other."""

    scores: np.ndarray  # [N, K] best first
    classes: np.ndarray  # [N, K] uint16, or uint32 above 65,536 classes
    hits: np.ndarray  # [N, K] bool
    label_counts: np.ndarray  # [N] uint16 or uint32
    labels: np.ndarray  # [sum of label_counts]
    recalled: np.ndarray  # [N] labels among the video's `label_counts` best with score > 0
    keys: np.ndarray  # [N] uint64 digest of the video id: the unit of the intervals
    loss: np.ndarray | None = None  # [N] float64

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def nbytes(self) -> int:
        """Bytes that the columns take."""
        return sum(getattr(self, f.name).nbytes for f in fields(self) if _has(self, f.name))


MANY = 50_000  # rows; work on so many leaves memory worth giving back


def empty_rows(num_classes: int, k: int) -> Rows:
    """No videos at all."""
    small = _small(num_classes)
    none: np.ndarray = np.empty(0, small)
    return Rows(
        scores=np.empty((0, k), np.float32),
        classes=np.empty((0, k), small),
        hits=np.empty((0, k), bool),
        label_counts=none,
        labels=none,
        recalled=none,
        keys=np.empty(0, np.uint64),
    )


def rows_of(batch: Batch, *, num_classes: int, k: int) -> Rows:
    """The rows of one batch."""
    scores = checked_scores(batch, num_classes)
    hot = truth(batch, num_classes)
    small = _small(num_classes)
    best, classes = top_k(scores, k)
    hits = np.take_along_axis(hot, classes, axis=1)
    if batch.num_known is not None:
        hits &= classes < batch.num_known
    video, labels = places(hot)
    counts = np.bincount(video, minlength=len(scores))
    return Rows(
        scores=best,
        classes=classes.astype(small),
        hits=hits,
        label_counts=counts.astype(small),
        labels=labels.astype(small),
        recalled=_recalled(scores, hot, best, hits, counts).astype(small),
        keys=_keys(batch, best, classes),
        loss=column(batch.loss, len(scores), "loss"),
    )


def joined(parts: list[Rows]) -> Rows:
    """All rows, end to end. Empties `parts` as it goes, so that little is held twice."""
    if len(parts) == 1:
        return parts[0]
    whole = _room_for(parts)
    ends = {f.name: 0 if array is None else len(array) for f, array in whole.items()}
    freed = 0
    while parts:
        part = parts.pop()
        for f, array in whole.items():
            if array is None:
                continue
            piece = getattr(part, f.name)
            size = len(part) if piece is None else len(piece)
            start = ends[f.name] - size
            # Only a loss may be absent: it is unknown, and so is a mean with it.
            array[start : ends[f.name]] = np.nan if piece is None else piece
            ends[f.name] = start
        freed += len(part)
        if freed >= MANY:
            del part
            piece = None
            freed = 0
            return_freed_memory()
    columns: dict[str, Any] = {f.name: array for f, array in whole.items()}
    return Rows(**columns)


def _room_for(parts: list[Rows]) -> dict[Field, np.ndarray | None]:
    """Unfilled columns for all `parts`; None where no part has the column."""
    room: dict[Field, np.ndarray | None] = {}
    for f in fields(Rows):
        pieces = [getattr(part, f.name) for part in parts if _has(part, f.name)]
        if not pieces:
            room[f] = None
            continue
        size = sum(map(len, pieces if f.name == "labels" else parts))
        dtype = np.result_type(*{piece.dtype for piece in pieces})
        room[f] = np.empty((size, *pieces[0].shape[1:]), dtype)
    return room


def select(rows: Rows, chosen: np.ndarray) -> Rows:
    """The rows where the mask `chosen` is true."""
    of_chosen = np.repeat(chosen, rows.label_counts)
    columns = {
        f.name: getattr(rows, f.name)[of_chosen if f.name == "labels" else chosen]
        for f in fields(rows)
        if _has(rows, f.name)
    }
    return Rows(**columns)


def to_bytes(rows: Rows, **facts: int) -> bytes:
    """Rows and a few whole numbers about them, as an .npz file's bytes."""
    columns = {f.name: getattr(rows, f.name) for f in fields(rows) if _has(rows, f.name)}
    buffer = io.BytesIO()
    np.savez(buffer, **columns, **{f"_{name}": np.int64(fact) for name, fact in facts.items()})
    return buffer.getvalue()


def from_bytes(data: bytes) -> tuple[Rows, dict[str, int]]:
    """The inverse of `to_bytes`."""
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        columns = {name: file[name] for name in file.files}
    facts = {name[1:]: int(columns.pop(name)) for name in list(columns) if name[0] == "_"}
    return Rows(**columns), facts


def digest(name: str | bytes) -> int:
    """64 bits that identify a video id."""
    data = name.encode() if isinstance(name, str) else name
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def _recalled(
    scores: np.ndarray, hot: np.ndarray, best: np.ndarray, hits: np.ndarray, counts: np.ndarray
) -> np.ndarray:
    """[B]: how many of a video's n best classes are labels, n its number of labels."""
    rank = np.arange(best.shape[1])
    recalled = (hits & (best > 0) & (rank < counts[:, None])).sum(axis=1)
    many = np.flatnonzero(counts > best.shape[1])  # more labels than k: look deeper
    if many.size:
        deep, ids = top_k(scores[many], int(counts.max()))
        deep_hits = np.take_along_axis(hot[many], ids, axis=1) & (deep > 0)
        recalled[many] = (deep_hits & (np.arange(deep.shape[1]) < counts[many, None])).sum(axis=1)
    return recalled


def _keys(batch: Batch, best: np.ndarray, classes: np.ndarray) -> np.ndarray:
    names: Iterable[str | bytes]
    if batch.ids is not None:
        names = batch.ids
    else:  # every row is a video of its own; its best classes tell it from the others
        names = (s.tobytes() + c.tobytes() for s, c in zip(best, classes, strict=True))
    return np.fromiter((digest(name) for name in names), np.uint64, len(best))


def _has(rows: Rows, name: str) -> bool:
    return getattr(rows, name) is not None


def _small(num_classes: int) -> type:
    return np.uint16 if num_classes <= np.iinfo(np.uint16).max else np.uint32
