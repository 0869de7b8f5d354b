"""TensorFlow Serving's two interfaces over a SavedModel: its gRPC service, and REST as it maps it.

The messages are tensorflow-serving-api's own. The server itself is no Python package; what it would
answer is what the model's signatures do, which TensorFlow computes here as well as there.

with serving(directory, name="yt8m") as server:
    server.grpc_port, server.rest_port
"""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import grpc
import numpy as np
import tensorflow as tf
from http_double import HttpDouble, listening, respond
from tensorflow_serving.apis.predict_pb2 import PredictRequest, PredictResponse
from tensorflow_serving.apis.prediction_service_pb2_grpc import (
    PredictionServiceServicer,
    add_PredictionServiceServicer_to_server,
)
from werkzeug import Request, Response
from werkzeug.routing import Map, Rule

_DEFAULT = "serving_default"


@dataclass(frozen=True)
class Server:
    """Where it listens, on the loopback alone."""

    grpc_port: int
    rest_port: int


@contextlib.contextmanager
def serving(directory: str, *, name: str) -> Iterator[Server]:
    """The version in `directory` as the model `name`, until the block ends."""
    model = _Model(directory, name)
    remote = grpc.server(ThreadPoolExecutor(2))
    add_PredictionServiceServicer_to_server(_Service(model), remote)
    port = remote.add_insecure_port("127.0.0.1:0")
    remote.start()
    with listening(_Rest(model)) as url:
        yield Server(grpc_port=port, rest_port=int(url.rpartition(":")[2]))
    remote.stop(None).wait()


class _Model:
    def __init__(self, directory: str, name: str) -> None:
        self.name = name
        self._loaded = tf.saved_model.load(directory)

    def specs(self, signature: str) -> dict[str, tf.TensorSpec]:
        found: dict[str, tf.TensorSpec] = self._loaded.signatures[
            signature or _DEFAULT
        ].structured_input_signature[1]
        return found

    def predict(self, request: PredictRequest) -> PredictResponse:
        if request.model_spec.name != self.name:
            raise LookupError(f"Servable not found for request: Latest({request.model_spec.name})")
        signature = request.model_spec.signature_name or _DEFAULT
        inputs = {k: tf.constant(tf.make_ndarray(v)) for k, v in request.inputs.items()}
        response = PredictResponse()
        for key, value in self._loaded.signatures[signature](**inputs).items():
            response.outputs[key].CopyFrom(tf.make_tensor_proto(value.numpy()))
        return response


class _Service(PredictionServiceServicer):
    def __init__(self, model: _Model) -> None:
        self._model = model

    def Predict(self, request: PredictRequest, context: Any) -> PredictResponse:  # noqa: N802
        try:
            return self._model.predict(request)
        except LookupError as error:
            context.abort(grpc.StatusCode.NOT_FOUND, str(error))
        except tf.errors.InvalidArgumentError as error:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, error.message)


class _Rest(HttpDouble):
    routes = Map([Rule("/v1/models/<name>:predict", endpoint="predict", methods=["POST"])])

    def __init__(self, model: _Model) -> None:
        super().__init__()
        self.model = model

    def error(self, status: int, message: str) -> Response:
        return respond({"error": message}, status)

    def predict(self, http: Request, name: str) -> Any:
        body = http.get_json(force=True)
        request = PredictRequest()
        request.model_spec.name = name
        request.model_spec.signature_name = body.get("signature_name", _DEFAULT)
        specs = self.model.specs(request.model_spec.signature_name)
        for key, value in _columns(body, specs).items():
            array = np.array(value, specs[key].dtype.as_numpy_dtype)
            request.inputs[key].CopyFrom(tf.make_tensor_proto(array))
        try:
            outputs = {
                key: _plain(tf.make_ndarray(value).tolist())
                for key, value in self.model.predict(request).outputs.items()
            }
        except (LookupError, tf.errors.InvalidArgumentError) as error:
            self.refuse(400, str(error))
        if "inputs" in body:  # one output stands without its name
            single = next(iter(outputs.values())) if len(outputs) == 1 else outputs
            return {"outputs": single}
        rows = zip(*outputs.values(), strict=True)
        return {"predictions": [dict(zip(outputs, row, strict=True)) for row in rows]}


def _columns(body: Mapping[str, Any], specs: Mapping[str, tf.TensorSpec]) -> dict[str, Any]:
    """By input: `inputs` as they are; `instances` one row each, without a name where there is one
    input."""
    if "inputs" in body:
        inputs = body["inputs"] if isinstance(body["inputs"], dict) else None
        return _decoded(inputs if inputs is not None else {next(iter(specs)): body["inputs"]})
    rows = body["instances"]
    if len(specs) == 1:
        (key,) = specs
        named = [row[key] if isinstance(row, dict) and key in row else row for row in rows]
        return _decoded({key: named})
    return _decoded({key: [row[key] for row in rows] for key in specs})


def _decoded(value: Any) -> Any:
    """With bytes where `{"b64": ...}` stands for them."""
    if isinstance(value, dict):
        if set(value) == {"b64"}:
            return base64.b64decode(value["b64"])
        return {key: _decoded(below) for key, below in value.items()}
    return [_decoded(below) for below in value] if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(below) for below in value]
    return value.decode() if isinstance(value, bytes) else value
