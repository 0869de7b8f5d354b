"""Predictions in JSON, a line each, as a competition's file of videos.

A cloud's batch prediction answers with what a model's signature gives: `video_id`, `class_indexes`
and `predictions` of the starter code's exports, `video_id`, `class_ids` and `scores` of ours. A
value may be in a list of one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

from yt8m.components import storage
from yt8m.components.predictions.submission import VIDEO_HEADER, is_plain
from yt8m.schemas.batch import SEGMENT_START
from yt8m.schemas.errors import DataError

_ID = "video_id"
_CLASSES = ("class_ids", "class_indexes")
_SCORES = ("scores", "predictions")
# The last: a number that no float holds, and brackets without end.
_WRONG = (KeyError, ValueError, TypeError, OverflowError, RecursionError)


def write_video_file(sources: Sequence[str], out: str) -> int:
    """Write `out`, complete or not at all; the number of videos."""
    count = 0
    seen: set[str] = set()
    with storage.atomic_write(out) as file:
        file.write(f"{VIDEO_HEADER}\n".encode())
        for source in sources:
            for where, name, pairs in _rows(source):
                if name in seen:
                    raise DataError(f"{where}: the video {name} occurs twice")
                seen.add(name)
                file.write(f"{name},{pairs}\n".encode())
                count += 1
        if not count:
            raise DataError(f"{', '.join(sources)}: no prediction")
    return count


def _rows(source: str) -> Iterator[tuple[str, str, str]]:
    """Where each line is, its video, and its pairs, best first as they come."""
    with storage.open_file(source) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            where = f"{source}: line {number}"
            try:
                data = json.loads(line)
                if SEGMENT_START in data:
                    raise DataError(
                        f"{where}: the row is a segment of a video, and the file has videos alone; "
                        "yt8m predict --format segment writes the competition's file of segments"
                    )
                name = _name(data[_ID])
                classes = [_class_id(value) for value in _listed(data[_known(data, _CLASSES)])]
                scores = [_score(value) for value in _listed(data[_known(data, _SCORES)])]
                if len(classes) != len(scores):
                    raise ValueError(f"{len(classes)} classes and {len(scores)} scores")
                if len(set(classes)) < len(classes):
                    raise ValueError("a class occurs twice")
                pairs = zip(classes, scores, strict=True)
                text = " ".join(f"{class_id} {score:g}" for class_id, score in pairs)
            except _WRONG as error:
                raise DataError(
                    f"{where}: {error}; expected an object with {_ID}, {' or '.join(_CLASSES)}, "
                    f"and as many {' or '.join(_SCORES)}"
                ) from error
            yield where, name, text


def _known(data: Any, names: Sequence[str]) -> str:
    return next((name for name in names if name in data), names[0])


def _name(value: Any) -> str:
    name = value[0] if isinstance(value, list) and len(value) == 1 else value
    if not isinstance(name, str) or not name:
        raise ValueError(f"{_ID} is {value!r}")
    if not is_plain(name):
        raise ValueError(f"{_ID} {name!r} has a comma, a blank or a quotation mark")
    return name


def _class_id(value: Any) -> int:
    class_id = int(value)
    if class_id < 0 or class_id != float(value):
        raise ValueError(f"{value!r} is no class")
    return class_id


def _score(value: Any) -> float:
    score = float(value)
    if not math.isfinite(score):
        raise ValueError(f"the score {value!r} is not finite")
    return score


def _listed(value: Any) -> list[Any]:
    """A list of numbers, out of a list of one such list."""
    nested = isinstance(value, list) and len(value) == 1 and isinstance(value[0], list)
    values: list[Any] = value[0] if nested else value
    if not isinstance(values, list):  # a text's characters would pass for numbers
        raise ValueError(f"{values!r} is no list")
    return values
