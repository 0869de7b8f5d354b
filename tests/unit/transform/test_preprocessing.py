"""`preprocessing_fn` on tensors as TFX hands them over; integration tests try the saved graph."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from yt8m.components.transform.preprocessing import preprocessing_fn
from yt8m.schemas.config_tree import to_dict
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.features import FeatureConfig

FEATURES = FeatureConfig(names=("rgb", "audio"), sizes=(6, 4), num_classes=10)


def _config(level: str, features: FeatureConfig = FEATURES) -> dict:
    return {"level": level, "features": to_dict(features), "config": {}, "code_version": "1"}


def _ragged(frames: list[np.ndarray]) -> tf.RaggedTensor:
    """`[batch, (frames), (1)]` texts, as tfx_bsl represents a feature list."""
    return tf.ragged.constant([[[frame.tobytes()] for frame in video] for video in frames])


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def test_video_features_are_joined_in_the_configured_order() -> None:
    rng = np.random.default_rng(0)
    rgb, audio = rng.normal(size=(3, 6)), rng.normal(size=(3, 4))
    labels = tf.sparse.from_dense([[1, 2], [3, 0], [4, 5]])
    inputs = {
        "id": tf.constant(["a", "b", "c"]),
        "labels": labels,
        "mean_rgb": tf.constant(rgb, tf.float32),
        "mean_audio": tf.constant(audio, tf.float32),
    }
    outputs = preprocessing_fn(inputs, _config("video"))
    np.testing.assert_allclose(
        outputs["features"], _unit(np.concatenate([rgb, audio], 1)), rtol=1e-5
    )
    assert outputs["labels"] is labels
    turned = FeatureConfig(names=("audio", "rgb"), sizes=(4, 6), num_classes=10)
    outputs = preprocessing_fn(inputs, _config("video", turned))
    np.testing.assert_allclose(
        outputs["features"], _unit(np.concatenate([audio, rgb], 1)), rtol=1e-5
    )


@pytest.mark.parametrize("level", ["frame", "segment"])
def test_every_frame_is_normalised_by_itself_and_none_is_added(level: str) -> None:
    rng = np.random.default_rng(1)
    counts = (3, 1, 5)
    rgb = [rng.integers(0, 256, (n, 6), dtype=np.uint8) for n in counts]
    audio = [rng.integers(0, 256, (n, 4), dtype=np.uint8) for n in counts]
    inputs = {"id": tf.constant(["a", "b", "c"]), "rgb": _ragged(rgb), "audio": _ragged(audio)}
    outputs = preprocessing_fn(inputs, _config(level))
    assert set(outputs) == {"id", "features"}  # a test record has no labels
    assert outputs["features"].row_lengths().numpy().tolist() == list(counts)
    for at in range(len(counts)):
        stored = np.concatenate([rgb[at], audio[at]], 1).astype(np.float64)
        expected = _unit(stored * 4 / 255 + 4 / 512 - 2)
        np.testing.assert_allclose(outputs["features"][at], expected, rtol=1e-5, atol=1e-6)


def test_a_wrong_feature_configuration_is_named() -> None:
    config = {"level": "video", "features": {"names": ["rgb"], "sizes": [0]}}
    with pytest.raises(ConfigError, match=r"features\.sizes"):
        preprocessing_fn({}, config)
