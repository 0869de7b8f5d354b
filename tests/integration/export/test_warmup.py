"""What a model server sends an export before it lets clients at it, and that it is answered."""

import numpy as np
import pytest
import tensorflow as tf
from batches import MODELS, create_network
from sources import FEATURES
from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog

from yt8m.components.artifacts.saved_model import WARM_UP_FILE
from yt8m.components.export.save import ExportSpec, export_model
from yt8m.components.models.heads import create_heads
from yt8m.schemas.features import Level

CASES = {Level.VIDEO: "moe", Level.FRAME: "dbof", Level.SEGMENT: "frame_logistic"}


@pytest.mark.parametrize("level", list(CASES), ids=lambda level: level.value)
def test_the_warm_up_requests_are_serving_s_own_and_the_model_answers_them(tmp_path, level):
    network = create_network(
        MODELS[CASES[level]],
        features=FEATURES,
        level=level,
        heads=create_heads((), features=FEATURES, level=level),
    )
    model = tmp_path / "model"
    export_model(network, str(model), ExportSpec(level=level, features=FEATURES))
    loaded = tf.saved_model.load(str(model))
    sizes = []
    for data in tf.data.TFRecordDataset(str(model / WARM_UP_FILE)).as_numpy_iterator():
        log = PredictionLog.FromString(data)
        request = log.predict_log.request
        assert list(request.inputs) == ["examples"]
        records = tf.make_ndarray(request.inputs["examples"])
        answer = loaded.signatures[request.model_spec.signature_name](
            examples=tf.constant(records.tolist())
        )
        rows = len(records) * (6 if level is Level.SEGMENT else 1)
        assert answer["scores"].shape[0] == rows
        assert np.isfinite(answer["scores"].numpy()).all()
        sizes.append(len(records))
    assert sizes == [1, 8]
