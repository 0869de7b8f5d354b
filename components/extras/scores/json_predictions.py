"""Predictions in JSON, a line each, as a competition's file of videos.

A cloud's batch prediction answers with what a model's signature gives: `video_id`, `class_indexes`
and `predictions` of the starter code's exports, `video_id`, `class_ids` and `scores` of ours. A
value may be in a list of one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from yt8m.components import storage
from yt8m.components.predictions.submission import VIDEO_HEADER, require_plain
from yt8m.schemas.errors import DataError

_ID = "video_id"
_CLASSES = ("class_ids", "class_indexes")
_SCORES = ("scores", "predictions")


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
                name = str(_alone(data[_ID]))
                classes = _listed(data[_known(data, _CLASSES)])
                scores = _listed(data[_known(data, _SCORES)])
                if len(classes) != len(scores):
                    raise ValueError(f"{len(classes)} classes and {len(scores)} scores")
                pairs = zip(map(int, classes), map(float, scores), strict=True)
                text = " ".join(f"{class_id} {score:g}" for class_id, score in pairs)
            except (KeyError, ValueError, TypeError) as error:
                raise DataError(
                    f"{where}: {error}; expected an object with {_ID}, {' or '.join(_CLASSES)}, "
                    f"and as many {' or '.join(_SCORES)}"
                ) from error
            require_plain(name)
            yield where, name, text


def _known(data: Any, names: Sequence[str]) -> str:
    return next((name for name in names if name in data), names[0])


def _alone(value: Any) -> Any:
    return value[0] if isinstance(value, list) else value


def _listed(value: Any) -> list[Any]:
    """A list of numbers, out of a list of one such list."""
    nested = isinstance(value, list) and len(value) == 1 and isinstance(value[0], list)
    values: list[Any] = value[0] if nested else value
    return values
