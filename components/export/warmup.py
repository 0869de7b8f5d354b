"""Warm-up requests: what TensorFlow Serving sends a version before it lets clients at it.

Without them the first requests meet graphs that nobody has optimised yet, and wait for seconds.
The file is a TFRecord of tensorflow.serving.PredictionLog, whose few fields are written here: its
Python package takes four seconds to import.
"""

from __future__ import annotations

import io

import numpy as np
import tensorflow as tf

from yt8m.components.artifacts.export_info import SERVING, ExportInfo
from yt8m.components.records.tfrecord import write_records
from yt8m.components.records.wire import (
    bytes_feature,
    encode_example,
    encode_sequence_example,
    field,
    float_feature,
    frames_feature_list,
    int64_feature,
)
from yt8m.schemas.features import ID, SEGMENT_FRAMES, SEGMENT_START_TIMES, Level, record_key

FILE_NAME = "assets.extra/tf_serving_warmup_requests"
_BATCHES = (1, 8)
_FRAMES = 30
# Numbers of fields in prediction_log.proto, predict.proto and model.proto.
_PREDICT_LOG, _REQUEST, _MODEL_SPEC, _INPUTS, _SIGNATURE_NAME = 6, 1, 1, 2, 3


def warm_up_requests(info: ExportInfo) -> bytes:
    """The file's content: the same made-up video once, and several at once."""
    record = _record(info)
    out = io.BytesIO()
    write_records(out, [_prediction_log([record] * count) for count in _BATCHES])
    return out.getvalue()


def _prediction_log(records: list[bytes]) -> bytes:
    tensor = tf.make_tensor_proto(records, tf.string, [len(records)]).SerializeToString()
    examples = field(_INPUTS, field(1, b"examples") + field(2, tensor))
    spec = field(_MODEL_SPEC, field(_SIGNATURE_NAME, SERVING.encode()))
    return field(_PREDICT_LOG, field(_REQUEST, spec + examples))


def _record(info: ExportInfo) -> bytes:
    """One that is as good as any: numbers do not decide how long a graph takes."""
    rng = np.random.default_rng(0)
    sizes, context = info.features.size_by_name, {ID: bytes_feature(b"warm-up")}
    if info.level is Level.VIDEO:
        vectors = {
            record_key(name, info.level): float_feature(rng.normal(size=size))
            for name, size in sizes.items()
        }
        return encode_example({**context, **vectors})
    if info.level is Level.SEGMENT:
        context[SEGMENT_START_TIMES] = int64_feature(range(0, _FRAMES, SEGMENT_FRAMES))
    frames = {
        name: frames_feature_list(rng.integers(0, 256, (_FRAMES, size), np.uint8))
        for name, size in sizes.items()
    }
    return encode_sequence_example(context, frames)
