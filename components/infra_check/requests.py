"""Requests of the infra check: the model's own warm-up requests, and evaluated records."""

from __future__ import annotations

from dataclasses import dataclass

import tensorflow as tf

from yt8m.components import storage
from yt8m.components.artifacts.export_info import SERVING
from yt8m.components.artifacts.manifest import FILE_NAME, Manifest
from yt8m.components.artifacts.read import read_if_present
from yt8m.components.artifacts.saved_model import WARM_UP_FILE
from yt8m.components.inputs.shards import read_batches
from yt8m.schemas.errors import DataError, UserError


@dataclass(frozen=True, kw_only=True)
class Request:
    """Serialized records for a signature."""

    signature: str
    records: list[bytes]


def warm_up_requests_of(model_dir: str) -> list[Request]:
    """TensorFlow Serving's warm-up requests of the model; empty where it has none."""
    path = storage.join(model_dir, WARM_UP_FILE)
    if not storage.exists(path):
        return []
    from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog

    requests = []
    try:
        for data in tf.data.TFRecordDataset(
            str(storage.local_path(path) or path)
        ).as_numpy_iterator():
            request = PredictionLog.FromString(data).predict_log.request
            requests.append(
                Request(
                    signature=request.model_spec.signature_name,
                    records=tf.make_ndarray(request.inputs["examples"]).tolist(),
                )
            )
    except Exception as error:  # whatever parsers happen to meet in a damaged file
        raise DataError(f"{path}: TensorFlow Serving cannot read it ({error})") from error
    return requests


def judged_records(examples_uri: str | None, split: str, count: int) -> list[Request]:
    """The first `count` records of `split`, as one request."""
    examples = read_if_present(examples_uri, FILE_NAME, Manifest.from_json) if count else None
    if examples is None:
        return []
    shards = examples.split(split)
    if not shards:
        raise UserError(
            f"infra check: no split {split}; the data have "
            f"{', '.join(sorted(examples.split_names))}"
        )
    records: list[bytes] = next(iter(read_batches(shards, count))).numpy().tolist()
    return [Request(signature=SERVING, records=records)]
