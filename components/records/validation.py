"""What is wrong with one decoded record, measured against the others of its data set."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from yt8m.components.records.decode import Record
from yt8m.schemas.features import (
    ID,
    LABELS,
    SEGMENT_END_TIMES,
    SEGMENT_FRAMES,
    SEGMENT_LABELS,
    SEGMENT_SCORES,
    SEGMENT_START_TIMES,
    Level,
)

_RATINGS = (SEGMENT_START_TIMES, SEGMENT_END_TIMES, SEGMENT_LABELS, SEGMENT_SCORES)


@dataclass(frozen=True)
class Expected:
    """What every record of a data set has in common; taken from its first sound record."""

    is_sequence: bool
    sizes: dict[str, int]  # of each feature that is a vector, or a list of frames
    num_classes: int | None = None  # known where a vocabulary is given


def expected_of(record: Record, *, num_classes: int | None = None) -> Expected:
    """What records beside `record` should look like."""
    return Expected(record.is_sequence, feature_sizes(record), num_classes)


def feature_sizes(record: Record) -> dict[str, int]:
    """Length of each vector, or of one frame of each frame list; 0 where frames are unequal."""
    if record.is_sequence:
        lists = record.feature_lists.items()
        return {k: v.shape[1] if isinstance(v, np.ndarray) else 0 for k, v in lists}
    numbers = record.features.items()
    return {k: len(v) for k, v in numbers if isinstance(v, np.ndarray) and v.dtype.kind == "f"}


def find_faults(record: Record, expected: Expected) -> Iterator[str]:
    """Every fault of `record`, in words."""
    video_id = record.features.get(ID)
    if not (isinstance(video_id, tuple) and len(video_id) == 1 and video_id[0]):
        yield f"feature {ID} is not one text"
    if record.is_sequence is not expected.is_sequence:
        kinds = ("video-level", "with frames")
        found, wanted = kinds[record.is_sequence], kinds[expected.is_sequence]
        yield f"is {found}, where those before are {wanted}"
        return
    yield from _size_faults(record, expected)
    yield from _frame_faults(record) if record.is_sequence else _number_faults(record)
    yield from _label_faults(record, LABELS, expected.num_classes)
    if record.level is Level.SEGMENT:
        yield from _label_faults(record, SEGMENT_LABELS, expected.num_classes)
        yield from _rating_faults(record)


def _size_faults(record: Record, expected: Expected) -> Iterator[str]:
    sizes = feature_sizes(record)
    for name, size in expected.sizes.items():
        if name not in sizes:
            yield f"feature {name} is missing"
        elif sizes[name] != size:
            found = f"has size {sizes[name]}" if sizes[name] else "has frames of unequal size"
            yield f"feature {name} {found}, not {size}"
    for name in sizes.keys() - expected.sizes.keys():
        yield f"feature {name} is in this record and not in those before"


def _number_faults(record: Record) -> Iterator[str]:
    for name, values in record.features.items():
        if isinstance(values, np.ndarray) and not np.isfinite(values).all():
            yield f"feature {name} holds NaN or infinity"


def _frame_faults(record: Record) -> Iterator[str]:
    counts = {name: len(frames) for name, frames in record.feature_lists.items()}
    if not any(counts.values()):
        yield "there are no frames"
    elif len(set(counts.values())) > 1:
        texts = ", ".join(f"{name} {count}" for name, count in counts.items())
        yield f"the features differ in their number of frames ({texts})"


def _label_faults(record: Record, key: str, num_classes: int | None) -> Iterator[str]:
    labels = record.features.get(key)
    if labels is None or len(labels) == 0:
        return
    if not (isinstance(labels, np.ndarray) and labels.dtype.kind == "i"):
        yield f"feature {key} does not hold integers"
        return
    if labels.min() < 0:
        yield f"feature {key} holds {labels.min()}, below 0"
    if num_classes is not None and labels.max() >= num_classes:
        yield f"feature {key} holds {labels.max()}; the vocabulary ends at {num_classes - 1}"
    if key == LABELS and len(set(labels.tolist())) < len(labels):
        yield f"feature {key} holds a class twice"


def _rating_faults(record: Record) -> Iterator[str]:
    lengths = {key: len(record.features.get(key, ())) for key in _RATINGS}
    if len(set(lengths.values())) > 1:
        texts = ", ".join(f"{key} {length}" for key, length in lengths.items())
        yield f"the ratings differ in length ({texts})"
        return
    starts = np.asarray(record.features[SEGMENT_START_TIMES])
    ends = np.asarray(record.features[SEGMENT_END_TIMES])
    if (ends - starts != SEGMENT_FRAMES).any():
        yield f"a rated segment has not {SEGMENT_FRAMES} frames"
    frames = max((len(value) for value in record.feature_lists.values()), default=0)
    if (starts < 0).any() or (starts >= frames).any():
        yield f"a rated segment starts outside the {frames} frames"
    scores = np.asarray(record.features[SEGMENT_SCORES])
    if not ((scores >= 0) & (scores <= 1)).all():
        yield "a segment's score is not between 0 and 1"
