"""The dataset's constants and the feature configuration."""

import numpy as np
import pytest

from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.features import (
    DEQUANTISE_BIAS,
    DEQUANTISE_SCALE,
    FeatureConfig,
    Level,
    record_key,
)


def test_dequantisation_is_the_published_one():
    stored = np.arange(256)
    published = stored * (4.0 / 255.0) + (4.0 / 512.0) - 2.0
    assert np.allclose(stored * DEQUANTISE_SCALE + DEQUANTISE_BIAS, published, rtol=0, atol=1e-12)


def test_published_sizes_are_the_default():
    features = FeatureConfig()
    assert features.size_by_name == {"rgb": 1024, "audio": 128}
    assert (features.total_size, features.num_classes, features.max_frames) == (1152, 3862, 300)


def test_video_level_features_carry_the_prefix_mean():
    keys = [record_key("rgb", level) for level in Level]
    assert keys == ["mean_rgb", "rgb", "rgb"]


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ({"names": []}, "names"),
        ({"names": ["rgb", "rgb"]}, "names"),
        ({"names": ["rgb"]}, "sizes"),
        ({"names": ["rgb"], "sizes": [0]}, r"sizes\[0\]"),
        ({"num_classes": 0}, "num_classes"),
        ({"max_frames": 0}, "max_frames"),
    ],
)
def test_impossible_features_are_refused(values, path):
    with pytest.raises(ConfigError, match=rf"^features\.{path} = "):
        from_dict(FeatureConfig, values, path="features")
