"""The rules that a record must keep, one message each: for ingest, inspection and training.

Each rule is a generator of texts over one decoded record. A fault makes the record unusable; a
warning is worth knowing and changes nothing. `inputs/record_checker.py` applies them to blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from yt8m.components.records.decode import MalformedRecord, Record, Value, decode_record
from yt8m.schemas.features import (
    ID,
    LABELS,
    SEGMENT_END_TIMES,
    SEGMENT_FRAMES,
    SEGMENT_LABELS,
    SEGMENT_SCORES,
    SEGMENT_START_TIMES,
    FeatureConfig,
    Level,
    record_key,
)

_RATINGS = (SEGMENT_START_TIMES, SEGMENT_END_TIMES, SEGMENT_LABELS, SEGMENT_SCORES)
_KINDS = {"f": "numbers", "i": "integers", "S": "texts"}
_NO_KIND = "b"  # of a feature without values, which its writer gave no type
NO_LABELS = "no labels"
NO_RATINGS = "no rated segments"


@dataclass(frozen=True)
class Expected:
    """Properties that all records of a data set share, and their source."""

    level: Level
    sizes: Mapping[str, int]  # by key: of each vector, or of one frame of each list
    num_classes: int | None = None  # unknown where no vocabulary is given
    labelled: bool = False  # whether a record must have labels, at segment level ratings
    stated_by: str = "the configuration"


@dataclass
class Findings:
    """Faults and warnings of one record."""

    faults: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def expected_by(features: FeatureConfig, level: Level, *, labelled: bool) -> Expected:
    """The configuration's requirements for a record."""
    sizes = {record_key(name, level): size for name, size in features.size_by_name.items()}
    return Expected(level, sizes, features.num_classes, labelled)


def expected_like(record: Record, *, num_classes: int | None = None) -> Expected:
    """The properties expected of all records, taken from `record`, the first of a data set."""
    sizes = feature_sizes(record)
    return Expected(record.level, sizes, num_classes, stated_by="the first record")


def feature_sizes(record: Record) -> dict[str, int]:
    """Length of each vector, or of one frame of each frame list; 0 where frames are unequal."""
    if record.is_sequence:
        lists = record.feature_lists.items()
        return {k: v.shape[1] if isinstance(v, np.ndarray) else 0 for k, v in lists}
    numbers = record.features.items()
    return {k: len(v) for k, v in numbers if isinstance(v, np.ndarray) and v.dtype.kind == "f"}


def check_bytes(data: bytes, expected: Expected) -> Findings:
    """Every rule that the record in `data` breaks."""
    try:
        record = decode_record(data)
    except MalformedRecord as error:
        return Findings([not_a_record(error)])
    return check_record(record, expected)


def not_a_record(error: MalformedRecord) -> str:
    """Of bytes that cannot be decoded."""
    return f"not a tf.Example or tf.SequenceExample ({error})"


def check_record(record: Record, expected: Expected) -> Findings:
    """Every rule that `record` breaks."""
    if fault := level_fault(record, expected):
        return Findings([fault])
    findings = Findings()
    for rule in _FAULTS[expected.level]:
        findings.faults += rule(record, expected)
    for rule in _WARNINGS[expected.level]:
        findings.warnings += rule(record, expected)
    return findings


def level_fault(record: Record, expected: Expected) -> str | None:
    """Why records of this kind do not serve at the expected level, or None."""
    actual, level = record.level, expected.level
    # A rated record serves at frame level; one without ratings at segment level only in a test.
    if actual is level or (
        record.is_sequence
        and level.is_sequence
        and not (level is Level.SEGMENT and expected.labelled)
    ):
        return None
    return f"a {actual.value}-level record, and {expected.stated_by} says level={level.value}"


def unasked_features(record: Record, expected: Expected) -> list[str]:
    """Columns that nobody reads: they are left where they are."""
    known = {ID, LABELS, *expected.sizes, *(_RATINGS if expected.level.is_sequence else ())}
    return sorted({*record.features, *record.feature_lists} - known)


Rule = Callable[[Record, Expected], Iterator[str]]


def _id_rule(record: Record, expected: Expected) -> Iterator[str]:
    values, fault = _values(record, ID, "S")
    if fault:
        yield fault
    elif len(values) != 1 or not values[0]:
        yield f"feature {ID} must be one text that is not empty"


def _vector_rule(record: Record, expected: Expected) -> Iterator[str]:
    for key, size in expected.sizes.items():
        values, fault = _values(record, key, "f")
        if fault:
            yield fault
        elif len(values) != size:
            yield f"feature {key} has {len(values)} values, not {size}"
        elif not np.isfinite(np.asarray(values, np.float32)).all():
            yield f"feature {key} holds NaN or infinity"


def _frame_rule(record: Record, expected: Expected) -> Iterator[str]:
    counts = {}
    for name, size in expected.sizes.items():
        if name not in record.feature_lists:
            yield f"feature {name} is missing"
            continue
        frames = record.feature_lists[name]
        counts[name] = len(frames)
        # An array holds frames of one size, so its first stands for all.
        for at, frame in enumerate(frames[:1] if isinstance(frames, np.ndarray) else frames):
            if (got := _frame_bytes(frame)) != size:
                yield f"frame {at} of feature {name} has {got} bytes, not {size}"
                break
    if counts and not max(counts.values()):
        yield "there are no frames"
    elif len(set(counts.values())) > 1:
        texts = ", ".join(f"{name} {count}" for name, count in counts.items())
        yield f"the features differ in the number of frames ({texts})"


def _frame_bytes(frame: Value) -> int | str:
    if isinstance(frame, np.ndarray):
        return len(frame) if frame.dtype == np.uint8 else "no"
    return len(frame[0]) if len(frame) == 1 else "no"


def _label_rule(record: Record, expected: Expected) -> Iterator[str]:
    required = expected.labelled and expected.level is not Level.SEGMENT
    if LABELS not in record.features:
        if required:
            yield NO_LABELS
        return
    values, fault = _values(record, LABELS, "i")
    if fault:
        yield fault
        return
    if required and not len(values):
        yield NO_LABELS
    yield from _class_faults("label", values, expected.num_classes)
    labels = np.asarray(values).tolist()
    if len(set(labels)) < len(labels):
        yield f"label {min(one for one in labels if labels.count(one) > 1)} is given twice"


def _rating_rule(record: Record, expected: Expected) -> Iterator[str]:
    rated = expected.labelled or SEGMENT_LABELS in record.features
    wanted = [key for key in _RATINGS if rated or key in record.features]
    columns: dict[str, np.ndarray] = {}
    for key in wanted:
        kind = "f" if key == SEGMENT_SCORES else "i"
        values, fault = _values(record, key, kind)
        if fault:
            yield fault
        columns[key] = np.asarray(values, np.float32 if kind == "f" else np.int64)
    yield from _class_faults("segment label", columns.get(SEGMENT_LABELS, ()), expected.num_classes)
    lengths = {key: len(values) for key, values in columns.items()}
    if len(set(lengths.values())) > 1:
        texts = ", ".join(f"{key} {length}" for key, length in lengths.items())
        yield f"the segments' features differ in length ({texts})"
    elif expected.labelled and not lengths[SEGMENT_LABELS]:
        yield NO_RATINGS
    yield from _score_faults(columns.get(SEGMENT_SCORES, np.empty(0)))
    yield from _time_faults(columns, frames=record.num_frames)


def _score_faults(scores: np.ndarray) -> Iterator[str]:
    outside = scores[~((scores >= 0) & (scores <= 1))]  # NaN compares false
    if len(outside):
        yield f"segment score {outside[0]:g} is outside 0..1"


def _time_faults(columns: Mapping[str, np.ndarray], *, frames: int) -> Iterator[str]:
    starts, ends = columns.get(SEGMENT_START_TIMES), columns.get(SEGMENT_END_TIMES)
    if starts is None:
        return
    outside = starts[(starts < 0) | (starts >= frames)]
    if len(outside):
        yield f"a segment starts at {outside[0]}, outside the {frames} frames of the video"
    if ends is not None and len(ends) == len(starts):
        lengths = (ends - starts)[ends - starts != SEGMENT_FRAMES]
        if len(lengths):
            yield f"a segment is {lengths[0]} frames long, not {SEGMENT_FRAMES}"


def _segment_end_rule(record: Record, expected: Expected) -> Iterator[str]:
    starts = np.asarray(record.features.get(SEGMENT_START_TIMES, ()))
    frames = record.num_frames
    if starts.dtype.kind == "i" and ((starts < frames) & (starts + SEGMENT_FRAMES > frames)).any():
        yield "a segment reaches beyond the last frame of the video; the rest of it is zeros"


def _rated_twice_rule(record: Record, expected: Expected) -> Iterator[str]:
    starts = np.asarray(record.features.get(SEGMENT_START_TIMES, ())).tolist()
    classes = np.asarray(record.features.get(SEGMENT_LABELS, ())).tolist()
    pairs = list(zip(starts, classes, strict=False))
    if len(set(pairs)) < len(pairs):
        yield "a class is rated twice in one segment; each rating counts"


_SEQUENCE: tuple[Rule, ...] = (_id_rule, _frame_rule, _label_rule)
_FAULTS: dict[Level, tuple[Rule, ...]] = {
    Level.VIDEO: (_id_rule, _vector_rule, _label_rule),
    Level.FRAME: _SEQUENCE,
    Level.SEGMENT: (*_SEQUENCE, _rating_rule),
}
_WARNINGS: dict[Level, tuple[Rule, ...]] = {
    Level.VIDEO: (),
    Level.FRAME: (),
    Level.SEGMENT: (_segment_end_rule, _rated_twice_rule),
}


def _class_faults(what: str, values: Value, num_classes: int | None) -> Iterator[str]:
    classes = np.asarray(values, np.int64)
    outside = (classes < 0) | (classes >= (2**63 - 1 if num_classes is None else num_classes))
    if outside.any():
        limit = "0 or more" if num_classes is None else f"0..{num_classes - 1}"
        yield f"{what} {classes[outside][0]} is outside {limit}"


def _values(record: Record, key: str, kind: str) -> tuple[Value, str | None]:
    """The values of a feature whose kind is numpy's `f` or `i`, or S for texts.

    A list of another kind is a fault without values, too: TensorFlow refuses it.
    """
    if key not in record.features:
        return (), f"feature {key} is missing"
    values = record.features[key]
    if (values.dtype.kind if isinstance(values, np.ndarray) else "S") not in (kind, _NO_KIND):
        return (), f"feature {key} must hold {_KINDS[kind]}"
    return values, None
