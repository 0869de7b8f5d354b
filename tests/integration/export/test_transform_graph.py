"""Transform's graph inside a SavedModel: with its files, and without the place where it was."""

from __future__ import annotations

import shutil
from pathlib import Path

import tensorflow as tf
import tensorflow_transform as tft
import tensorflow_transform.beam as tft_beam
from tensorflow_transform.tf_metadata import dataset_metadata, schema_utils

from yt8m.components.export.transform_graph import TransformGraph

SPEC = {"word": tf.io.FixedLenFeature([], tf.string), "x": tf.io.FixedLenFeature([], tf.float32)}


class _Model(tf.Module):
    def __init__(self, transform: TransformGraph) -> None:
        super().__init__()
        self.transform = transform

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def words(self, words: tf.Tensor) -> tf.Tensor:
        return self.transform({"word": words})["id"]


def test_a_vocabulary_goes_along_and_features_that_are_not_asked_for_need_not_be_given(
    tmp_path: Path,
) -> None:
    metadata = dataset_metadata.DatasetMetadata(schema_utils.schema_from_feature_spec(SPEC))
    rows = [{"word": "a", "x": 1.0}, {"word": "b", "x": 3.0}, {"word": "a", "x": 2.0}]

    def preprocessing_fn(inputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        ids = tft.compute_and_apply_vocabulary(inputs["word"])
        return {"id": ids, "scaled": tft.scale_to_0_1(inputs["x"])}

    with tft_beam.Context(temp_dir=str(tmp_path / "beam")):
        _, graph = (rows, metadata) | tft_beam.AnalyzeAndTransformDataset(preprocessing_fn)
        graph | tft_beam.WriteTransformFn(str(tmp_path / "graph"))
    model = _Model(TransformGraph(str(tmp_path / "graph")))
    tf.saved_model.save(model, str(tmp_path / "saved"))
    shutil.rmtree(tmp_path / "graph")
    (tmp_path / "saved").rename(tmp_path / "moved")
    loaded = tf.saved_model.load(str(tmp_path / "moved"))
    assert loaded.words(tf.constant(["b", "a", "unknown"])).numpy().tolist() == [1, 0, -1]
