"""What docs/serving.md shows is typed as it stands: each example of Python and of curl."""

import json
import shlex
import subprocess

import numpy as np
import pytest
import tensorflow as tf
from batches import create_network
from docs_blocks import ROOT, blocks
from model_server import serving
from records import make_dataset

from yt8m.components.export.save import ExportSpec, export_model
from yt8m.components.models.config import LogisticConfig
from yt8m.components.models.heads import create_heads
from yt8m.schemas.features import FeatureConfig, Level

PAGE = ROOT / "docs" / "serving.md"
FEATURES = FeatureConfig(num_classes=30)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with `models/1` and `data/`, as the page has them."""
    place = tmp_path_factory.mktemp("page")
    heads = create_heads((), features=FEATURES, level=Level.VIDEO)
    network = create_network(LogisticConfig(), features=FEATURES, level=Level.VIDEO, heads=heads)
    spec = ExportSpec(level=Level.VIDEO, features=FEATURES)
    export_model(network, str(place / "models" / "1"), spec)
    make_dataset(place / "data", level="video", train=2, eval=5, shards=1, classes=30)
    return place


@pytest.fixture
def server(place, monkeypatch):
    monkeypatch.chdir(place)
    with serving(str(place / "models" / "1"), name="yt8m") as running:
        yield running


def _here(text, server):
    text = text.replace("localhost:8500", f"127.0.0.1:{server.grpc_port}")
    return text.replace("localhost:8501", f"127.0.0.1:{server.rest_port}")


def _run_python(server):
    """The names that each block leaves behind."""
    found = []
    for block in blocks(PAGE):
        if block.kind == "python":
            names = {"__name__": "__main__"}
            exec(compile(_here(block.text, server), f"{PAGE.name}:{block.line}", "exec"), names)
            found.append(names)
    return found


@pytest.mark.needs("curl")
def test_each_example_of_python_and_of_curl_is_answered_with_the_same_scores(server, place):
    in_process, over_grpc, arrays, _ = _run_python(server)
    alone = {key: value.numpy() for key, value in in_process["best"].items()}
    best = {k: tf.make_ndarray(v) for k, v in over_grpc["best"].outputs.items()}
    every = {k: tf.make_ndarray(v) for k, v in over_grpc["every"].outputs.items()}
    np.testing.assert_array_equal(best["class_ids"], alone["class_ids"])
    np.testing.assert_allclose(best["scores"], alone["scores"], rtol=1e-6)
    assert every["scores"].shape == (3, 30)
    np.testing.assert_array_equal(every["video_id"], alone["video_id"])
    assert tf.make_ndarray(arrays["scored"].outputs["scores"]).shape == (2, 30)

    answers = []
    for block in blocks(PAGE):
        for words in block.commands() if block.kind == "console" else ():
            if words[0] == "curl":
                command = shlex.split(_here(shlex.join(words), server))
                done = subprocess.run(command, capture_output=True, check=True, timeout=60)
                answers.append(json.loads(done.stdout))
    rows, scores, columns = answers
    assert [row["class_ids"] for row in rows["predictions"]] == alone["class_ids"].tolist()
    assert [row["video_id"].encode() for row in rows["predictions"]] == alone["video_id"].tolist()
    by_rest = np.array([row["scores"] for row in scores["predictions"]])
    np.testing.assert_allclose(by_rest, every["scores"], rtol=1e-6)
    assert np.array(columns["outputs"]).shape == (1, 30)


def test_a_client_is_told_which_feature_is_not_finite(server):
    import grpc
    from tensorflow_serving.apis.predict_pb2 import PredictRequest
    from tensorflow_serving.apis.prediction_service_pb2_grpc import PredictionServiceStub

    request = PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = "yt8m", "features"
    for name, size in FEATURES.size_by_name.items():
        vectors = np.zeros([1, size], np.float32)
        vectors[0, 0] = np.nan if name == "audio" else 0.0
        request.inputs[name].CopyFrom(tf.make_tensor_proto(vectors))
    with (
        grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel,
        pytest.raises(grpc.RpcError) as error,
    ):
        PredictionServiceStub(channel).Predict(request, timeout=10.0)
    assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "mean_audio (audio) must hold finite numbers alone" in error.value.details()
