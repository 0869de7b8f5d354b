"""SavedModels that the starter code exported: their own graph behind the signatures of ours.

They answer serialized records with the 20 best classes. The scores of all classes are in the graph
as well, one step before, and are taken from there; where that step is inside a loop (frame level)
the classes beyond the 20 best score 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import saved_model_pb2

from yt8m.components import storage
from yt8m.components.artifacts.export_info import SCORES, SERVING, TOP_K, foreign_info
from yt8m.components.artifacts.saved_model import MODEL_FILE
from yt8m.components.export.freeze import freeze_signature
from yt8m.components.export.module import RecordsModule
from yt8m.components.export.save import save_module
from yt8m.schemas.errors import UserError
from yt8m.schemas.features import FEATURE_SIZES, FeatureConfig, Level, record_key

_IDS, _CLASSES, _PREDICTIONS = "video_id", "class_indexes", "predictions"
_BEST = "TopKV2"
_PARSES = ("ParseExample", "ParseExampleV2")


def is_starter_code_export(directory: str) -> bool:
    """Whether `directory` holds a SavedModel that answers as the starter code's exports do."""
    file = storage.join(directory, MODEL_FILE)
    if not storage.exists(file):
        return False
    try:
        saved = saved_model_pb2.SavedModel.FromString(storage.read_bytes(file))
    except DecodeError:  # whoever loads it says that it is damaged
        return False
    signatures = [graph.signature_def[SERVING] for graph in saved.meta_graphs]
    return any(
        len(signature.inputs) == 1 and set(signature.outputs) == {_IDS, _CLASSES, _PREDICTIONS}
        for signature in signatures
    )


def export_saved_model(source: str, directory: str) -> None:
    """Write `source` as an export; UserError where its graph is not as the starter code made it."""
    module = _StarterCodeModule(source)
    config = {"starter_code": {"saved_model": source}}
    info = foreign_info(module.level, module.features, config)
    # What lengths of vectors a frame-level graph reads is not known for certain.
    save_module(module, directory, signatures=module.signatures(), info=info, warm_up=False)


class _StarterCodeModule(RecordsModule):
    """The graph as it was, and all scores that it has."""

    def __init__(self, source: str) -> None:
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
                f"{source}: returns only its best classes, and its graph does not contain the "
                "number of classes; import a checkpoint of the model instead"
            )
        self.num_classes = int(known.pop())
        super().__init__("yt8m_starter_code", top_k=min(TOP_K, self.num_classes))
        self.features = _features_read(frozen.graph, self.num_classes)
        self._call = frozen.prune(list(frozen.inputs.values()), ends)

    def score(self, examples: tf.Tensor) -> dict[str, tf.Tensor]:
        outputs = self._call(examples)
        scores = outputs[SCORES] if SCORES in outputs else self._spread(outputs)
        return {
            SCORES: tf.ensure_shape(scores, [None, self.num_classes]),
            _IDS: tf.reshape(outputs[_IDS], [-1]),
        }

    def _spread(self, outputs: Mapping[str, tf.Tensor]) -> tf.Tensor:
        """The best classes' scores among those of all classes, which are 0."""
        best = outputs[_CLASSES]
        best = tf.reshape(best, [-1, tf.shape(best)[-1]])
        values = tf.reshape(outputs[_PREDICTIONS], tf.shape(best))
        row = tf.broadcast_to(tf.range(tf.shape(best)[0])[:, tf.newaxis], tf.shape(best))
        shape = [tf.shape(best)[0], self.num_classes]
        return tf.scatter_nd(tf.stack([row, best], axis=-1), values, shape)


def _features_read(graph: Any, num_classes: int) -> FeatureConfig:
    """The features that a video-level graph parses; the published ones where it does not show.

    In the usual order, which the graph does not: keys are sorted there.
    """
    size_by_name: dict[str, int] = {}
    prefix = record_key("", Level.VIDEO)
    for op in graph.get_operations():
        if op.type in _PARSES:
            shapes = [[dim.size for dim in shape.dim] for shape in op.get_attr("dense_shapes")]
            for key, shape in zip(_dense_keys(op), shapes, strict=True):
                if key.startswith(prefix) and len(shape) == 1 and shape[0] > 0:
                    size_by_name[key.removeprefix(prefix)] = int(shape[0])
    names = sorted(size_by_name, key=lambda name: ([*FEATURE_SIZES, name].index(name), name))
    if not names:
        return FeatureConfig(num_classes=num_classes)
    sizes = tuple(size_by_name[name] for name in names)
    return FeatureConfig(names=tuple(names), sizes=sizes, num_classes=num_classes)


def _dense_keys(op: Any) -> list[str]:
    if op.type == "ParseExampleV2":  # one vector of keys
        return [key.decode() for key in tf.get_static_value(op.inputs[3]).tolist()]
    first = 2 + op.get_attr("Nsparse")
    inputs = list(op.inputs)[first : first + op.get_attr("Ndense")]
    return [tf.get_static_value(key).item().decode() for key in inputs]
