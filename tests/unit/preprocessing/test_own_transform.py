"""A transform of the user's own is tried out before anything is trained by it."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from yt8m.components.preprocessing.arithmetic import dequantize
from yt8m.components.preprocessing.own_transform import find_transform
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.features import FeatureConfig, Level

FEATURES = FeatureConfig(sizes=(6, 3), num_classes=4)


def test_without_one_there_is_none() -> None:
    assert find_transform("", FEATURES, Level.VIDEO) is None


@pytest.mark.parametrize("level", Level)
def test_its_vectors_may_be_of_another_size_and_padding_stays_zero(level: Level) -> None:
    own = find_transform("own_transforms.apart", FEATURES, level)
    assert own is not None
    assert own.size == 6 + 3 + 1
    rng = np.random.default_rng(0)
    shape = (2, 5) if level.is_sequence else (2,)
    stored = {
        name: rng.integers(0, 256, (*shape, size)).astype(np.uint8)
        if level.is_sequence
        else rng.normal(size=(*shape, size)).astype(np.float32)
        for name, size in FEATURES.size_by_name.items()
    }
    counts = tf.constant([5, 2]) if level.is_sequence else None
    vectors = own(stored, level=level, num_frames=counts).numpy()
    numbers = {k: dequantize(v).numpy() if level.is_sequence else v for k, v in stored.items()}
    look = numbers["rgb"] / np.linalg.norm(numbers["rgb"], axis=-1, keepdims=True)
    loud = np.linalg.norm(numbers["audio"], axis=-1)
    if level.is_sequence:
        look[1, 2:], loud[1, 2:] = 0, 0
    np.testing.assert_allclose(vectors[..., :6], look, atol=1e-6)
    np.testing.assert_allclose(vectors[..., -1], loud, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("centred_by_batch", "must depend on that row alone"),
        ("divided_by_zero", "of finite features it made NaN or infinity"),
        ("one_number", r"one float32 vector of each row.*it returned float32 \(4,\)"),
        ("doubled", "one float32 vector of each row.*it returned float64"),
        ("of_another_record", "for rgb .4, 6., audio .4, 3. it raised KeyError: 'text'"),
        ("nothing", "one float32 vector of each row.*None"),
        ("NO_FUNCTION", "must be a function"),
        ("not_there", "has no attribute|no attribute"),
    ],
)
def test_an_unfit_one_is_refused_with_what_it_does(name: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem) as caught:
        find_transform(f"own_transforms.{name}", FEATURES, Level.VIDEO)
    assert f"transform.function = 'own_transforms.{name}'" in str(caught.value)
