"""What TensorFlow is asked for on a machine with three GPUs; TensorFlow's answers are ours, for
no machine of ours has one.
"""

import pytest
import tensorflow as tf

from yt8m.components.trainer.cluster.devices import hide_gpus, prepare_devices
from yt8m.components.trainer.config import DistributionConfig

GPUS = ["GPU 0", "GPU 1", "GPU 2"]


def test_the_device_of_each_operation_is_logged_on_request(monkeypatch):
    logged = []
    monkeypatch.setattr(tf.debugging, "set_log_device_placement", logged.append)
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [])
    prepare_devices(DistributionConfig())
    assert not logged
    prepare_devices(DistributionConfig(log_placement=True))
    assert logged == [True]


@pytest.fixture
def asked(monkeypatch):
    """The visible GPUs, None where all are, and for each GPU whether its memory grows."""
    state = {"visible": None, "grows": {}}

    def list_devices(kind):
        return list(GPUS) if kind == "GPU" else ["CPU"]

    def show(devices, kind):
        assert kind == "GPU"
        state["visible"] = devices

    def grow(device, enabled):
        state["grows"][device] = enabled

    monkeypatch.setattr(tf.config, "list_physical_devices", list_devices)
    monkeypatch.setattr(tf.config, "set_visible_devices", show)
    monkeypatch.setattr(tf.config.experimental, "set_memory_growth", grow)
    return state


@pytest.mark.parametrize(
    ("config", "visible", "grows"),
    [
        ({}, None, dict.fromkeys(GPUS, True)),
        ({"max_devices": 2}, GPUS[:2], dict.fromkeys(GPUS[:2], True)),
        ({"max_devices": 5, "memory_growth": False}, GPUS, dict.fromkeys(GPUS, False)),
    ],
)
def test_the_first_gpus_are_shown_and_take_their_memory_as_asked(asked, config, visible, grows):
    prepare_devices(DistributionConfig(**config))
    assert asked == {"visible": visible, "grows": grows}


def test_who_computes_beside_a_training_sees_no_gpu(asked):
    hide_gpus()
    assert asked["visible"] == []


def test_devices_that_tensorflow_has_begun_to_use_stay_as_they_are(asked, monkeypatch, caplog):
    def begun(device, enabled):
        raise RuntimeError("Physical devices cannot be modified after being initialized")

    monkeypatch.setattr(tf.config.experimental, "set_memory_growth", begun)
    prepare_devices(DistributionConfig())
    assert "devices stay as they are" in caplog.text
