"""The module that is saved: a network behind its signatures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from yt8m.components.artifacts.export_info import FEATURES, MEAN_FRAMES, SCORES, SERVING
from yt8m.components.export.records import (
    ParsedRecords,
    RecordFormat,
    finite,
    parse_records,
)
from yt8m.components.export.transform_graph import TransformGraph
from yt8m.components.models.config import DbofConfig
from yt8m.components.models.network import Network, batch_spec
from yt8m.components.models.retrieval import Neighbours
from yt8m.components.models.trunks import Signal, video_vector
from yt8m.schemas.features import FeatureConfig, Level

_RECORDS = tf.TensorSpec([None], tf.string, "examples")


class ServingModule(tf.Module):
    """Records or raw features in, the first head's scores out."""

    def __init__(
        self,
        network: Network,
        *,
        level: Level,
        features: FeatureConfig,
        top_k: int,
        class_names: Sequence[str] | None,
        transform: TransformGraph | None = None,
        neighbours: Neighbours | None = None,
    ) -> None:
        super().__init__(name="yt8m")
        self.neighbours = neighbours
        # The weights alone are saved. Were the network an attribute, Keras would trace each of its
        # layers for a reload as a Keras model: nine tenths of an export's time, for nobody.
        self.weights, self.transform = list(network.weights), transform
        self._signal, self._call_with_signal = network.signal, network.scores
        self._level, self._features = level, features
        model = network.model_config
        frames = model.frames if isinstance(model, DbofConfig) else None
        self._form = RecordFormat(
            level=level,
            features=features,
            frames=frames,
            averaged=network.averages_frames,
            own_transform=network.own_transform,
        )
        self._head = network.heads[0]
        self._top_k = min(top_k, self._head.num_classes)
        self._names = tf.constant(class_names) if class_names else None

    def signatures(self) -> dict[str, Any]:
        """The concrete functions by the name that a caller asks for."""
        batch = batch_spec(self._features, self._level)
        found = {
            SERVING: tf.function(self._serve, autograph=False).get_concrete_function(_RECORDS),
            SCORES: tf.function(self._score, autograph=False).get_concrete_function(_RECORDS),
            FEATURES: tf.function(
                lambda **arrays: self._score_arrays(arrays), autograph=False
            ).get_concrete_function(**batch),
        }
        if self._form.averaged and self._level is Level.FRAME:
            means = tf.TensorSpec([None, self._form.size], tf.float32, MEAN_FRAMES)
            found[MEAN_FRAMES] = tf.function(
                self._score_means, autograph=False
            ).get_concrete_function(means)
        return found

    def _serve(self, examples: tf.Tensor) -> dict[str, tf.Tensor]:
        parsed = self._parse(examples)
        return best_classes(
            self._scores(parsed.signal), _rows(parsed), top_k=self._top_k, names=self._names
        )

    def _score(self, examples: tf.Tensor) -> dict[str, tf.Tensor]:
        parsed = self._parse(examples)
        return {SCORES: self._scores(parsed.signal), **_rows(parsed)}

    def _score_arrays(self, batch: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        if self._level is Level.VIDEO:
            batch = finite(batch, self._features)
        return {SCORES: self._scores(self._signal(batch))}

    def _score_means(self, mean_frames: tf.Tensor) -> dict[str, tf.Tensor]:
        return {SCORES: self._scores(Signal(vectors=mean_frames))}

    def _parse(self, examples: tf.Tensor) -> ParsedRecords:
        return parse_records(examples, self._form, transform=self.transform)

    def _scores(self, signal: Signal) -> tf.Tensor:
        scores = self._call_with_signal(signal, training=False)[self._head.name]
        if self.neighbours is None:
            return scores
        return self.neighbours.blend(video_vector(signal), scores)


def best_classes(
    scores: tf.Tensor, rows: dict[str, tf.Tensor], *, top_k: int, names: tf.Tensor | None
) -> dict[str, tf.Tensor]:
    """What model servers answer: of `scores` [rows, classes] the best, beside what names a row."""
    best = tf.math.top_k(scores, k=top_k)
    outputs = {"class_ids": tf.cast(best.indices, tf.int64), SCORES: best.values, **rows}
    if names is not None:
        outputs["class_names"] = tf.gather(names, best.indices)
    return outputs


def _rows(parsed: ParsedRecords) -> dict[str, tf.Tensor]:
    rows = {"video_id": parsed.video_id}
    if parsed.segment_start is not None:
        rows["segment_start"] = parsed.segment_start
    return rows
