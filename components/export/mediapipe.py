"""A segment model as MediaPipe's YouTube-8M inference graph takes it.

Its TensorFlowInferenceCalculator feeds RGB_AND_AUDIO, dequantised frames with rgb and audio side by
side `[batch, frames, 1152]`, and NUM_FRAMES `[batch, 1]`, and reads PREDICTIONS `[batch, classes]`:
the tags are the names of the signature's ends in capitals. A batch may come with one number of
frames for all its segments, as there.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from yt8m.components.artifacts.export_info import FEATURES, SCORES, SERVING
from yt8m.components.export.freeze import FrozenSignature, freeze_signature
from yt8m.components.export.load import load_export
from yt8m.components.export.save import save_module
from yt8m.components.export.target import check_target
from yt8m.schemas.batch import NUM_FRAMES
from yt8m.schemas.errors import UserError
from yt8m.schemas.features import DEQUANTISE_BIAS, DEQUANTISE_SCALE

RGB_AND_AUDIO, PREDICTIONS = "rgb_and_audio", "predictions"


def export_for_mediapipe(model: str, directory: str) -> tuple[int, int]:
    """Write the export `model` to `directory`; the sizes of its input and of its output.

    UserError unless its rows are frames, and `directory` is new or holds another export.
    """
    export = load_export(model)
    if not export.info.level.is_sequence:
        raise UserError(
            f"{model}: of level {export.info.level.value}; MediaPipe's graph feeds frames, so it "
            "takes a model of level segment or frame"
        )
    if FEATURES not in export.loaded.signatures:
        raise UserError(f"{model}: has no signature `{FEATURES}`, which takes frames")
    check_target(directory, models=[model])
    sizes = export.info.features.size_by_name
    module = _MediaPipeModule(freeze_signature(model, FEATURES), sizes)
    classes = export.info.heads[export.info.head]
    save_module(
        module,
        directory,
        signatures={SERVING: module.signature(sum(sizes.values()))},
        info=export.info,
        warm_up=False,
    )
    return sum(sizes.values()), classes


class _MediaPipeModule(tf.Module):
    """The model's own graph behind MediaPipe's names."""

    def __init__(self, frozen: FrozenSignature, sizes: dict[str, int]) -> None:
        super().__init__(name="yt8m_mediapipe")
        self._sizes = sizes
        self._names = [*sizes, NUM_FRAMES]
        ends = [frozen.inputs[name] for name in self._names]
        self._call = frozen.prune(ends, frozen.outputs[SCORES])

    def signature(self, total: int) -> Any:
        """The concrete function with the shapes that MediaPipe feeds."""
        return tf.function(
            lambda **ends: {PREDICTIONS: self._predict(ends[RGB_AND_AUDIO], ends[NUM_FRAMES])},
            autograph=False,
        ).get_concrete_function(
            **{
                RGB_AND_AUDIO: tf.TensorSpec([None, None, total], tf.float32, RGB_AND_AUDIO),
                NUM_FRAMES: tf.TensorSpec([None, 1], tf.int32, NUM_FRAMES),
            }
        )

    def _predict(self, frames: tf.Tensor, num_frames: tf.Tensor) -> tf.Tensor:
        rows = tf.shape(frames)[0]
        counts = _for_each(tf.squeeze(num_frames, axis=1), rows)
        # The model takes frames as records hold them. What MediaPipe dequantised becomes the very
        # byte that it was; features that it has computed itself are rounded as a record's are.
        levels = tf.round((frames - DEQUANTISE_BIAS) / DEQUANTISE_SCALE)
        stored = tf.cast(tf.clip_by_value(levels, 0.0, 255.0), tf.uint8)
        parts = tf.split(stored, list(self._sizes.values()), axis=-1)
        scores: tf.Tensor = self._call(*parts, counts)
        return scores


def _for_each(counts: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
    """One number of frames a row; a single one counts for all, others are an error."""
    given = tf.size(counts)
    check = tf.debugging.assert_equal(
        (given == rows) | (given == 1),
        True,
        f"{NUM_FRAMES} must hold one number for each row, or one for all",
    )
    with tf.control_dependencies([check]):
        return tf.broadcast_to(counts, [rows])
