"""The `preprocessing_fn` of TFX Transform: what happens to a record once, wherever it is used.

No step needs a pass over the data: the graph holds arithmetic and no vocabulary or mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from yt8m.components.preprocessing.arithmetic import normalize
from yt8m.components.preprocessing.own_transform import OwnTransform, find_transform
from yt8m.components.transform.config import TransformConfig
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.features import (
    ID,
    LABELS,
    SEGMENT_LABELS,
    SEGMENT_SCORES,
    SEGMENT_START_TIMES,
    TRANSFORMED,
    FeatureConfig,
    Level,
    record_key,
)

_PASSED_ON = (ID, LABELS, SEGMENT_START_TIMES, SEGMENT_LABELS, SEGMENT_SCORES)


def preprocessing_fn(inputs: Mapping[str, Any], custom_config: Mapping[str, Any]) -> dict[str, Any]:
    """`features`, dequantised, concatenated and L2-normalised; class ids as they are.

    With a function of the user's own (`transform.function`) its vectors, of its size.

    Video level: `features` is `[batch, total] float32`. The other levels: ragged
    `[batch, (frames), total] float32`, each frame normalised by itself. `labels` are class ids,
    sparse: `tf.sparse.to_dense(labels, default_value=-1)` is the batch's form of them, which loss
    and metrics share.
    """
    level = Level(custom_config["level"])
    features = from_dict(FeatureConfig, custom_config["features"], path="features")
    config = from_dict(TransformConfig, custom_config["config"], path="transform")
    own = find_transform(config.function, features, level)
    outputs = {key: inputs[key] for key in _PASSED_ON if key in inputs}
    if level.is_sequence:
        outputs[TRANSFORMED] = _frames(inputs, features, level, own)
    else:
        vectors = {name: inputs[record_key(name, level)] for name in features.names}
        outputs[TRANSFORMED] = _vectors(vectors, features, level, own)
    return outputs


def _vectors(
    stored: Mapping[str, Any], features: FeatureConfig, level: Level, own: OwnTransform | None
) -> tf.Tensor:
    if own is not None:
        return own(stored, level=level)
    vectors = normalize(stored, names=features.names, level=level)
    return tf.ensure_shape(vectors, [None, features.total_size])


def _frames(
    inputs: Mapping[str, Any], features: FeatureConfig, level: Level, own: OwnTransform | None
) -> tf.RaggedTensor:
    """All frames of all records as one list, and then by record again: nothing is padded."""
    frames = {}
    for name, size in features.size_by_name.items():
        texts = inputs[name].flat_values  # [frames of all records] string
        frames[name] = tf.io.decode_raw(texts, tf.uint8, fixed_length=size)
    joined = _vectors(frames, features, level, own)
    row_splits = inputs[features.names[0]].nested_row_splits[0]
    return tf.RaggedTensor.from_row_splits(joined, row_splits, validate=False)
