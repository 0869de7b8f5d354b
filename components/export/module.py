"""The module that is saved: a network behind its signatures."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from yt8m.components.artifacts.export_info import (
    DECISIONS,
    FEATURES,
    HEADS,
    MEAN_FRAMES,
    SCORES,
    SERVING,
    TOP_K,
)
from yt8m.components.export.operating_points import OperatingPointsTable
from yt8m.components.export.records import (
    ParsedRecords,
    RecordFormat,
    counted,
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
# One for each record, because a server that joins requests joins each input along its rows.
_PRECISION = tf.TensorSpec([None], tf.float32, "precision")


class RecordsModule(tf.Module, abc.ABC):
    """Serialized records in; the scores of all classes out, and the best of them."""

    def __init__(
        self, name: str, *, top_k: int = TOP_K, class_names: Sequence[str] | None = None
    ) -> None:
        super().__init__(name=name)
        self._top_k = top_k
        self._class_names = tf.constant(class_names) if class_names else None

    @abc.abstractmethod
    def score(self, examples: tf.Tensor) -> dict[str, tf.Tensor]:
        """The scores [rows, classes], beside what names a row."""

    def signatures(self) -> dict[str, Any]:
        """The concrete functions by the name that a caller asks for."""
        return {SERVING: concrete(self._serve, _RECORDS), SCORES: concrete(self.score, _RECORDS)}

    def _serve(self, examples: tf.Tensor) -> dict[str, tf.Tensor]:
        """Answer model servers: the best classes."""
        rows = self.score(examples)
        best = tf.math.top_k(rows.pop(SCORES), k=self._top_k)
        outputs = {"class_ids": tf.cast(best.indices, tf.int64), SCORES: best.values, **rows}
        if self._class_names is not None:
            outputs["class_names"] = tf.gather(self._class_names, best.indices)
        return outputs


def concrete(function: Callable[..., dict[str, tf.Tensor]], *specs: Any, **named: Any) -> Any:
    """The graph of a function for these inputs."""
    return tf.function(function, autograph=False).get_concrete_function(*specs, **named)


class ServingModule(RecordsModule):
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
        self._heads = network.heads
        self._head = network.heads[0]
        top_k = min(top_k, self._head.num_classes)
        super().__init__("yt8m", top_k=top_k, class_names=class_names)
        self.neighbours = neighbours
        # The weights alone are saved. Were the network an attribute, Keras would trace each of its
        # layers for a reload as a Keras model: nine tenths of an export's time, for nobody.
        self.weights, self.transform = list(network.weights), transform
        self._signal, self._call_with_signal = network.signal, network.scores
        self._call_with_members = network.scores_and_members
        self._level, self._features = level, features
        self._points = OperatingPointsTable()
        model = network.model_config
        frames = model.frames if isinstance(model, DbofConfig) else None
        self._form = RecordFormat(
            level=level,
            features=features,
            frames=frames,
            averaged=network.averages_frames,
            own_transform=network.own_transform,
        )

    def signatures(self) -> dict[str, Any]:
        by_name = super().signatures()
        batch = batch_spec(self._features, self._level)
        by_name[FEATURES] = concrete(lambda **arrays: self._score_arrays(arrays), **batch)
        if len(self._heads) > 1:
            by_name[HEADS] = concrete(self._score_heads, _RECORDS)
        if self._form.averaged and self._level is Level.FRAME:
            means = tf.TensorSpec([None, self._form.size], tf.float32, MEAN_FRAMES)
            by_name[MEAN_FRAMES] = concrete(self._score_means, means)
        if self._level is not Level.SEGMENT:  # of a segment only the rated classes are known
            serve = by_name[SERVING]
            decide = lambda examples, precision: self._decide(serve(examples), precision)  # noqa: E731
            by_name[DECISIONS] = concrete(decide, _RECORDS, _PRECISION)
        return by_name

    def _decide(self, served: dict[str, tf.Tensor], precision: tf.Tensor) -> dict[str, tf.Tensor]:
        """What is served, and whether each class is to be accepted."""
        precisions = self._points.precisions(served["class_ids"], served[SCORES])
        yes = precisions >= precision[:, tf.newaxis] - 1e-6
        return {**served, "precisions": precisions, "yes": yes}

    def score(self, examples: tf.Tensor) -> dict[str, tf.Tensor]:
        parsed = parse_records(examples, self._form, transform=self.transform)
        return {SCORES: self._scores(parsed.signal), **_names_of_rows(parsed)}

    def _score_heads(self, examples: tf.Tensor) -> dict[str, tf.Tensor]:
        """The scores of every head, by its name."""
        parsed = parse_records(examples, self._form, transform=self.transform)
        return {**self._scores_by_head(parsed.signal), **_names_of_rows(parsed)}

    def _score_arrays(self, batch: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        if self._level is Level.VIDEO:
            batch = finite(batch, self._features)
        else:
            batch = counted(batch, self._features)
        return {SCORES: self._scores(self._signal(batch))}

    def _score_means(self, mean_frames: tf.Tensor) -> dict[str, tf.Tensor]:
        return {SCORES: self._scores(Signal(vectors=mean_frames))}

    def _scores(self, signal: Signal) -> tf.Tensor:
        return self._scores_by_head(signal)[self._head.name]

    def _scores_by_head(self, signal: Signal) -> dict[str, tf.Tensor]:
        """The scores of every head, the first's with what the neighbours say."""
        first, neighbours = self._head.name, self.neighbours
        if neighbours is not None and neighbours.asks_members:
            outputs, members = self._call_with_members(signal)
            best = neighbours.combine(video_vector(signal), members)
        else:
            outputs = self._call_with_signal(signal, training=False)
            best = outputs[first]
            if neighbours is not None:
                best = neighbours.blend(video_vector(signal), best)
        return {**{head.name: outputs[head.name] for head in self._heads}, first: best}


def _names_of_rows(parsed: ParsedRecords) -> dict[str, tf.Tensor]:
    names = {"video_id": parsed.video_id}
    if parsed.segment_start is not None:
        names["segment_start"] = parsed.segment_start
    return names
