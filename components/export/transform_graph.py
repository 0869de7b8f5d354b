"""Transform's graph as a part of an export."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf


class TransformGraph(tf.Module):
    """Transform's SavedModel for features; saved with the tables and assets it refers to.

    TFT's own layer does the same as a Keras model. Keras traces one, when it is saved, once more
    for a reload as a Keras model: two thirds of an export's time, for nobody.
    """

    def __init__(self, directory: str) -> None:
        # Imported only where a pipeline exports.
        from tensorflow_transform import TFTransformOutput
        from tensorflow_transform.saved.saved_transform_io_v2 import SavedModelLoader

        super().__init__(name="transform")
        self._loader = SavedModelLoader(TFTransformOutput(directory).transform_savedmodel_dir)
        self.loaded = dict(vars(self._loader))  # an attribute that TensorFlow tracks, as in TFT

    def __call__(self, features: Mapping[str, Any]) -> dict[str, Any]:
        transformed: dict[str, Any] = self._loader.apply_transform_model(dict(features))
        return transformed
