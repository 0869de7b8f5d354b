"""Says in words what is wrong with one record; the vectorised checks only find which one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError

from yt8m.components.example_gen.level import NO_PROTO, fits
from yt8m.schemas.features import (
    ID,
    LABELS,
    SEGMENT_END_TIMES,
    SEGMENT_LABELS,
    SEGMENT_SCORES,
    SEGMENT_START_TIMES,
    FeatureConfig,
    Level,
    record_key,
)

_KINDS = {"bytes_list": "texts", "int64_list": "integers", "float_list": "numbers"}


def explain(record: bytes, *, level: Level, features: FeatureConfig, labelled: bool) -> str | None:
    """Every fault of `record`, or None where it has none."""
    try:
        context, frames = _parts(record)
    except DecodeError:
        return NO_PROTO
    found = _level(context, frames)
    if not fits(found, level, labelled):
        what = f"a {found.value}-level record" if found else "no YouTube-8M record"
        return f"{what}, and the configuration says level={level.value}"
    faults = [*_id_faults(context)]
    if level.is_sequence:
        faults += _frame_faults(frames, features)
    else:
        faults += _vector_faults(context, features)
    faults += _label_faults(context, features, required=labelled and level is not Level.SEGMENT)
    if level is Level.SEGMENT:
        faults += _segment_faults(context, features, required=labelled)
    return "; ".join(faults) or None


def _parts(record: bytes) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    # The two messages share field 1, so this reads a tf.Example as well.
    parsed = tf.train.SequenceExample.FromString(record)
    return parsed.context.feature, parsed.feature_lists.feature_list


def _level(context: Mapping[str, Any], frames: Mapping[str, Any]) -> Level | None:
    if frames:
        return Level.SEGMENT if SEGMENT_START_TIMES in context else Level.FRAME
    if any(key.startswith("mean_") for key in context):
        return Level.VIDEO
    return Level.VIDEO if ID in context else None


def _id_faults(context: Mapping[str, Any]) -> Iterator[str]:
    values, fault = _values(context, ID, "bytes_list")
    if fault:
        yield fault
    elif len(values) != 1 or not values[0]:
        yield f"feature {ID} must be one text that is not empty"


def _vector_faults(context: Mapping[str, Any], features: FeatureConfig) -> Iterator[str]:
    for name, size in features.size_by_name.items():
        key = record_key(name, Level.VIDEO)
        values, fault = _values(context, key, "float_list")
        if fault:
            yield fault
        elif len(values) != size:
            yield f"feature {key} has {len(values)} values, not {size}"
        elif not np.isfinite(np.asarray(values)).all():
            yield f"feature {key} holds NaN or infinity"


def _frame_faults(frames: Mapping[str, Any], features: FeatureConfig) -> Iterator[str]:
    counts = {}
    for name, size in features.size_by_name.items():
        if name not in frames:
            yield f"feature {name} is missing"
            continue
        lists = [feature.bytes_list.value for feature in frames[name].feature]
        counts[name] = len(lists)
        for at, values in enumerate(lists):
            if len(values) != 1 or len(values[0]) != size:
                got = len(values[0]) if len(values) == 1 else "no"
                yield f"frame {at} of feature {name} has {got} bytes, not {size}"
                break
    if counts and not max(counts.values()):
        yield "there are no frames"
    elif len(set(counts.values())) > 1:
        texts = ", ".join(f"{name} {count}" for name, count in counts.items())
        yield f"the features differ in the number of frames ({texts})"


def _label_faults(
    context: Mapping[str, Any], features: FeatureConfig, *, required: bool
) -> Iterator[str]:
    if LABELS not in context:
        if required:
            yield "no labels"
        return
    values, fault = _values(context, LABELS, "int64_list")
    if fault:
        yield fault
    elif required and not len(values):
        yield "no labels"
    yield from _range_faults("label", values, features.num_classes)


def _segment_faults(
    context: Mapping[str, Any], features: FeatureConfig, *, required: bool
) -> Iterator[str]:
    keys = (SEGMENT_START_TIMES, SEGMENT_END_TIMES, SEGMENT_LABELS)
    if not required and SEGMENT_LABELS not in context:
        return
    lengths = {}
    for key in keys:
        values, fault = _values(context, key, "int64_list")
        if fault:
            yield fault
        lengths[key] = len(values)
        if key == SEGMENT_LABELS:
            yield from _range_faults("segment label", values, features.num_classes)
    scores, fault = _values(context, SEGMENT_SCORES, "float_list")
    if fault:
        yield fault
    lengths[SEGMENT_SCORES] = len(scores)
    if not np.isfinite(np.asarray(scores)).all():
        yield f"feature {SEGMENT_SCORES} holds NaN or infinity"
    if len(set(lengths.values())) > 1:
        texts = ", ".join(f"{key} {length}" for key, length in lengths.items())
        yield f"the segments' features differ in length ({texts})"
    elif required and not lengths[SEGMENT_LABELS]:
        yield "no rated segments"


def _range_faults(what: str, values: Any, num_classes: int) -> Iterator[str]:
    outside = [value for value in values if not 0 <= value < num_classes]
    if outside:
        yield f"{what} {outside[0]} is outside 0..{num_classes - 1}"


def _values(context: Mapping[str, Any], key: str, kind: str) -> tuple[Any, str | None]:
    if key not in context:
        return (), f"feature {key} is missing"
    feature = context[key]
    if feature.WhichOneof("kind") not in (kind, None):
        return (), f"feature {key} must hold {_KINDS[kind]}"
    return getattr(feature, kind).value, None
