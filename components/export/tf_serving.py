"""TensorFlow Serving's files beside a model: warm-up requests and batching parameters.

The server sends a version its warm-up requests before it lets clients at it. Without them the first
requests meet graphs that nobody has optimised yet, and wait for seconds. The file is a TFRecord of
tensorflow.serving.PredictionLog, whose few fields are written here: its Python package takes four
seconds to import.

`batching_params.pbtxt` beside `saved_model.pb` is the name that the server itself looks for, with
`--enable_batching --enable_per_model_batching_parameters`; it is a `--batching_parameters_file` as
well. Without these flags it is not read.
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

_BATCHES = (1, 8)
_FRAMES = 30
# Numbers of fields in prediction_log.proto, predict.proto and model.proto.
_PREDICT_LOG, _REQUEST, _MODEL_SPEC, _INPUTS, _SIGNATURE_NAME = 6, 1, 1, 2, 3
# Of one execution: where a processor gains nothing more, the weights having been read once for all.
_LARGEST = {Level.VIDEO: 128, Level.FRAME: 16}
# Of one request: what the server splits and joins again; a larger one is refused.
_LONGEST_REQUEST = 1024
_WAIT_MICROSECONDS = 1000  # for others to join; a request alone waits no longer
_WAITING_BATCHES = 100  # more are answered UNAVAILABLE, which clients try again


def warm_up_requests(info: ExportInfo) -> bytes:
    """The content of WARM_UP_FILE: the same made-up video once, and several in one request."""
    record = _record(info)
    out = io.BytesIO()
    write_records(out, [_prediction_log([record] * count) for count in _BATCHES])
    return out.getvalue()


def batching_parameters(level: Level) -> str | None:
    """The text of BATCHING_FILE; None where requests must not be joined.

    The server divides answers among requests by their numbers of records, and a record of segments
    gives several rows: with per-model parameters it joins none for a version that has no file.
    """
    if level is Level.SEGMENT:
        return None
    fields = {
        "max_batch_size": _LONGEST_REQUEST,
        "max_execution_batch_size": _LARGEST[level],
        "batch_timeout_micros": _WAIT_MICROSECONDS,
        "max_enqueued_batches": _WAITING_BATCHES,
    }
    lines = [f"{name} {{ value: {value} }}" for name, value in fields.items()]
    lines.append("enable_large_batch_splitting { value: true }")
    if level is Level.FRAME:  # `features` with videos of unlike lengths; `num_frames` tells them
        lines.append("pad_variable_length_inputs: true")
    return "".join(f"{line}\n" for line in lines)


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
