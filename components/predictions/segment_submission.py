"""The 2019 competition's file: of each class its best segments, sought among all parts.

A part holds the scores of the allowed classes in blocks of one batch each, class by class, and at
its end an index. So the whole is made a few classes at a time, whatever its size: what is held is
ten bytes a segment and one piece of the scores.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from yt8m.components import storage
from yt8m.components.metrics.topk import top_k
from yt8m.components.predictions.plan import PredictionPlan
from yt8m.components.predictions.submission import SEGMENT_HEADER, require_distinct, require_plain

if TYPE_CHECKING:
    from yt8m.components.predictions.predictor import ScoredRows

_HELD_BYTES = 64 << 20  # of scores, while they are joined
_INDEX_LENGTH = struct.Struct("<Q")  # the last bytes of a part
_NOT_PREDICTED = -np.inf


@dataclass(frozen=True, kw_only=True, eq=False)
class _Part:
    uri: str
    classes: list[int]
    rows: list[int]  # of each block
    names: np.ndarray  # [rows] bytes, ID:START


def write_part(plan: PredictionPlan, batches: Iterable[ScoredRows], file: BinaryIO) -> None:
    """The blocks and the index of a group of shards."""
    rows: list[int] = []
    names: list[str] = []
    classes: list[int] = []
    for batch in batches:
        for name in dict.fromkeys(batch.ids):
            require_plain(name)
        starts = [] if batch.starts is None else batch.starts.tolist()
        names += [f"{name}:{start}" for name, start in zip(batch.ids, starts, strict=True)]
        rows.append(len(batch.ids))
        classes = list(plan.classes or range(batch.scores.shape[1]))
        scores = np.ascontiguousarray(_limited(batch.scores[:, classes], plan.top_k).T, "<f4")
        file.write(scores.tobytes())
    index = json.dumps({"classes": classes, "rows": rows, "names": names}).encode()
    file.write(index)
    file.write(_INDEX_LENGTH.pack(len(index)))


def _limited(scores: np.ndarray, k: int | None) -> np.ndarray:
    """`scores` [R, C], of each row the k best alone."""
    if k is None or k >= scores.shape[1]:
        return scores
    values, places = top_k(scores, k)
    limited = np.full(scores.shape, _NOT_PREDICTED, np.float32)
    np.put_along_axis(limited, places, values, axis=1)
    return limited


def join(plan: PredictionPlan, parts: Sequence[str], out: BinaryIO) -> None:
    """Each class's best segments; of equal scores those that the data have first."""
    indices = [part for part in map(_read_index, parts) if part.rows]
    out.write(f"{SEGMENT_HEADER}\n".encode())
    if not indices:
        return
    names = np.concatenate([part.names for part in indices])
    require_distinct(names)
    for class_id, scores in _scores_by_class(indices, len(names)):
        best = best_segments(scores, plan.max_segments)
        if len(best):
            out.write(b"%d,%s\n" % (class_id, b" ".join(names[best].tolist())))


def best_segments(scores: np.ndarray, limit: int) -> np.ndarray:
    """Places of the best `limit` scores, the best first; of equal ones the first come first."""
    places = np.flatnonzero(scores > _NOT_PREDICTED)
    values = scores[places]
    if len(values) > limit:
        least = np.partition(values, len(values) - limit)[len(values) - limit]
        better = np.flatnonzero(values > least)
        equal = np.flatnonzero(values == least)[: limit - len(better)]
        chosen = np.sort(np.concatenate([better, equal]))
        places, values = places[chosen], values[chosen]
    return places[np.argsort(-values, kind="stable")]


def _read_index(uri: str) -> _Part:
    size = storage.stat(uri).size
    with storage.open_file(uri) as file:
        file.seek(size - _INDEX_LENGTH.size)
        (length,) = _INDEX_LENGTH.unpack(file.read(_INDEX_LENGTH.size))
        file.seek(size - _INDEX_LENGTH.size - length)
        index = json.loads(file.read(length))
    return _Part(
        uri=uri,
        classes=index["classes"],
        rows=index["rows"],
        names=np.array([name.encode() for name in index["names"]], bytes),
    )


def _scores_by_class(parts: list[_Part], segments: int) -> Iterator[tuple[int, np.ndarray]]:
    """Each class, in ascending order, with the scores of all segments."""
    classes = parts[0].classes
    step = max(1, _HELD_BYTES // (segments * 4))
    for first in range(0, len(classes), step):
        last = min(first + step, len(classes))
        pieces = [piece for part in parts for piece in _pieces(part, first, last)]
        together = np.concatenate(pieces, axis=1)
        yield from zip(classes[first:last], together, strict=True)


def _pieces(part: _Part, first: int, last: int) -> Iterator[np.ndarray]:
    """Scores of some classes, [classes, rows] of each block."""
    with storage.open_file(part.uri) as file:
        begin = 0
        for rows in part.rows:
            file.seek(begin + first * rows * 4)
            data = file.read((last - first) * rows * 4)
            yield np.frombuffer(data, "<f4").reshape(last - first, rows)
            begin += len(part.classes) * rows * 4
