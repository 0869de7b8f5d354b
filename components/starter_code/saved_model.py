"""SavedModels that the starter code exported: their own graph behind the signatures of ours.

They answer serialized records with the 20 best classes. The scores of all classes are in the graph
as well, one step before, and are taken from there; where that step is inside a loop (frame level)
the classes beyond the 20 best score 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from yt8m.components import storage
from yt8m.components.artifacts.export_info import SCORES, SERVING, ExportInfo
from yt8m.components.artifacts.saved_model import MODEL_FILE
from yt8m.components.export.freeze import freeze_signature
from yt8m.components.export.module import best_classes
from yt8m.components.export.save import save_module
from yt8m.schemas.errors import UserError
from yt8m.schemas.features import FeatureConfig, Level

_IDS, _CLASSES, _PREDICTIONS = "video_id", "class_indexes", "predictions"
_BEST = "TopKV2"
_TOP_K = 20
_HEAD = "entities"
_RECORDS = tf.TensorSpec([None], tf.string, "examples")


def is_starter_code_export(directory: str) -> bool:
    """Whether `directory` holds a SavedModel that answers as the starter code's exports do."""
    file = storage.join(directory, MODEL_FILE)
    if not storage.exists(file):
        return False
    try:
        saved = saved_model_pb2.SavedModel.FromString(storage.read_bytes(file))
    except ValueError:  # protobuf's DecodeError; whoever loads it says that it is damaged
        return False
    found = [graph.signature_def[SERVING] for graph in saved.meta_graphs]
    return any(
        len(signature.inputs) == 1 and set(signature.outputs) == {_IDS, _CLASSES, _PREDICTIONS}
        for signature in found
    )


def export_saved_model(source: str, directory: str) -> None:
    """Write `source` as an export; UserError where its graph is not as the starter code made it."""
    module = _StarterCodeModule(source)
    info = ExportInfo(
        level=module.level,
        features=FeatureConfig(num_classes=module.num_classes),
        head=_HEAD,
        heads={_HEAD: module.num_classes},
        top_k=min(_TOP_K, module.num_classes),
        has_class_names=False,
        has_transform_graph=False,
        config={"starter_code": {"saved_model": source}},
    )
    # Which features its graph reads is not known for certain.
    save_module(module, directory, signatures=module.signatures(), info=info, warm_up=False)


class _StarterCodeModule(tf.Module):
    """The graph as it was, and all scores that it has."""

    def __init__(self, source: str) -> None:
        super().__init__(name="yt8m_starter_code")
        frozen = freeze_signature(source, SERVING)
        ends = dict(frozen.outputs)
        best = ends[_PREDICTIONS]
        # At frame level a loop makes of each record a batch of its own.
        self.level = Level.VIDEO if best.op.type == _BEST else Level.FRAME
        if self.level is Level.VIDEO:
            ends = {_IDS: ends[_IDS], SCORES: best.op.inputs[0]}
        known = {op.inputs[0].shape[-1] for op in frozen.graph.get_operations() if op.type == _BEST}
        if len(known) != 1 or None in known:
            raise UserError(
                f"{source}: gives its best classes, and its graph does not show of how many; a "
                "checkpoint of the same model does"
            )
        self.num_classes = int(known.pop())
        self._call = frozen.prune(list(frozen.inputs.values()), ends)

    def signatures(self) -> dict[str, Any]:
        """The concrete functions by the name that a caller asks for."""
        return {
            SERVING: tf.function(self._serve, autograph=False).get_concrete_function(_RECORDS),
            SCORES: tf.function(self._score, autograph=False).get_concrete_function(_RECORDS),
        }

    def _score(self, examples: tf.Tensor) -> dict[str, tf.Tensor]:
        found = self._call(examples)
        scores = found[SCORES] if SCORES in found else self._spread(found)
        return {
            SCORES: tf.ensure_shape(scores, [None, self.num_classes]),
            _IDS: tf.reshape(found[_IDS], [-1]),
        }

    def _spread(self, found: Mapping[str, tf.Tensor]) -> tf.Tensor:
        """The best classes' scores among those of all classes, which are 0."""
        best = found[_CLASSES]
        best = tf.reshape(best, [-1, tf.shape(best)[-1]])
        values = tf.reshape(found[_PREDICTIONS], tf.shape(best))
        row = tf.broadcast_to(tf.range(tf.shape(best)[0])[:, tf.newaxis], tf.shape(best))
        shape = [tf.shape(best)[0], self.num_classes]
        return tf.scatter_nd(tf.stack([row, best], axis=-1), values, shape)

    def _serve(self, examples: tf.Tensor) -> dict[str, tf.Tensor]:
        scored = self._score(examples)
        top_k = min(_TOP_K, self.num_classes)
        return best_classes(scored.pop(SCORES), scored, top_k=top_k, names=None)
