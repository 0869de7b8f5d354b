"""Scores a network on a split, outside any strategy; used in training and by the evaluator."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import tensorflow as tf

from yt8m.components.export.segments import combine
from yt8m.components.metrics.accumulator import MetricAccumulator
from yt8m.components.metrics.batch import Batch, BrokenPredictions
from yt8m.components.metrics.catalogue import METRICS, Metric, values_of
from yt8m.components.models.heads import Head, targets
from yt8m.components.models.network import Network
from yt8m.schemas.errors import ConfigError, DataError
from yt8m.schemas.features import ID, SegmentScoring
from yt8m.schemas.metric_names import LOSS

_log = logging.getLogger(__name__)

Batches = Iterable[Mapping[str, tf.Tensor]]


@dataclass(frozen=True, kw_only=True)
class SplitScores:
    """Scores of a pass over a split; NaN where the network predicts no number."""

    # By name: the loss weighted over the heads that count, the others of the first of these.
    metrics: Mapping[str, float]
    loss_by_head: Mapping[str, float]
    videos: int

    @property
    def is_finite(self) -> bool:
        return all(map(math.isfinite, self.metrics.values()))

    def to_dict(self) -> dict[str, Any]:
        losses = {f"loss_{name}": value for name, value in self.loss_by_head.items()}
        return {**self.metrics, "videos": self.videos, **losses}


@dataclass(frozen=True, kw_only=True)
class SplitPart:
    """Scores of a pass over a part of a split; parts of all processes are joined."""

    losses: Mapping[str, tuple[float, float]]  # by head: their sum, and what it is divided by
    metrics: MetricAccumulator
    is_broken: bool = False  # the network predicts what is no number

    def to_bytes(self) -> bytes:
        """For other processes; `parse_part` gives an equal part."""
        facts = json.dumps({"losses": self.losses, "is_broken": self.is_broken}).encode()
        return b"%d\n%b%b" % (len(facts), facts, self.metrics.to_bytes())


def parse_part(data: bytes) -> SplitPart:
    """The inverse of `SplitPart.to_bytes`."""
    size, _, rest = data.partition(b"\n")
    facts = json.loads(rest[: int(size)])
    return SplitPart(
        losses={name: tuple(sums) for name, sums in facts["losses"].items()},
        metrics=MetricAccumulator.from_bytes(rest[int(size) :]),
        is_broken=facts["is_broken"],
    )


class SplitScorer:
    """A network of its own, whose weights are set before each pass."""

    def __init__(
        self,
        network: Network,
        *,
        excluded_heads: Sequence[str] = (),
        segments: SegmentScoring | None = None,
        metrics: Sequence[Metric] = METRICS,
    ) -> None:
        """With `segments` a network of whole videos scores rated segments, and so its heads."""
        known = [head.name for head in network.heads]
        for name in excluded_heads:
            if name not in known:
                raise ConfigError(f"trainer.validation.excluded_heads: no head {name!r} in {known}")
        self.network, self._segments, self._metrics = network, segments, metrics
        self._heads = [
            replace(head, only_rated=head.learns_classes) if segments is not None else head
            for head in network.heads
            if head.name not in excluded_heads
        ]
        if not self._heads:
            raise ConfigError("trainer.validation.excluded_heads: no head is left to validate")
        self._forward = tf.function(self._call, autograph=False, reduce_retracing=True)
        self._videos = tf.function(
            lambda batch: self.network(batch, training=False),
            autograph=False,
            reduce_retracing=True,
        )

    def score(self, batches: Batches, videos: Batches | None = None) -> SplitScores:
        """One pass over `batches`."""
        return self.join([self.part(batches, videos)])

    def part(self, batches: Batches, videos: Batches | None = None) -> SplitPart:
        """One pass over `batches`, which are a part of the split.

        `videos` are the whole videos, in the order in which their segments come in `batches`.
        """
        whole = None if videos is None else _WholeVideos(self._scores_of, videos)
        sums = dict.fromkeys([head.name for head in self._heads], (0.0, 0.0))
        metrics = MetricAccumulator(self._heads[0].num_classes)
        for batch in batches:
            around = {} if whole is None else whole.of(batch[ID])
            scores, parts = self._forward(_numeric(batch), around)
            try:
                metrics.update(metrics_batch(self._heads[0], batch, scores))
            except BrokenPredictions as error:
                _log.warning("validation: %s", error)
                return SplitPart(losses=sums, metrics=metrics, is_broken=True)
            for head, (total, count) in zip(self._heads, parts, strict=True):
                before = sums[head.name]
                sums[head.name] = (before[0] + float(total), before[1] + float(count))
        return SplitPart(losses=sums, metrics=metrics)

    def join(self, parts: Sequence[SplitPart]) -> SplitScores:
        """The scores of a split that `parts` make up."""
        if any(part.is_broken for part in parts):
            return self._broken()
        metrics = MetricAccumulator(self._heads[0].num_classes)
        for part in parts:
            metrics.merge(part.metrics)
        if self._segments is not None and not len(metrics):
            raise DataError("trainer.segments: the validation split has no rated segments")
        losses = {}
        for head in self._heads:
            total, count = (sum(part.losses[head.name][i] for part in parts) for i in (0, 1))
            losses[head.name] = total / count if count else 0.0
        loss = sum(head.weight * losses[head.name] for head in self._heads)
        values = {name: value or 0.0 for name, value in values_of(metrics, self._metrics).items()}
        return SplitScores(metrics={**values, LOSS: loss}, loss_by_head=losses, videos=len(metrics))

    def _broken(self) -> SplitScores:
        return SplitScores(
            metrics={metric.name: math.nan for metric in self._metrics},
            loss_by_head={head.name: math.nan for head in self._heads},
            videos=0,
        )

    def _scores_of(self, batch: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        scores: dict[str, tf.Tensor] = self._videos(_numeric(batch))
        return scores

    def _call(self, batch: Mapping[str, tf.Tensor], around: Mapping[str, tf.Tensor]) -> Any:
        outputs = self.network(batch, training=False)
        if around and self._segments is not None:
            outputs = {
                name: combine(scores, around[name], self._segments)
                for name, scores in outputs.items()
            }
        network = self.network
        parts = [
            (network.head_loss(head, batch, outputs[head.name]), network.normaliser(head, batch))
            for head in self._heads
        ]
        return outputs[self._heads[0].name], parts


class _WholeVideos:
    """Scores of whole videos, for their segments, which come in the same order."""

    def __init__(
        self, score: Callable[[Mapping[str, tf.Tensor]], dict[str, tf.Tensor]], batches: Batches
    ) -> None:
        self._score, self._batches = score, iter(batches)
        self._known: dict[bytes, dict[str, np.ndarray]] = {}  # by id, then by head

    def of(self, ids: tf.Tensor) -> dict[str, tf.Tensor]:
        """By head, the scores of the videos `ids` [rows], in their order."""
        names = ids.numpy().tolist()
        while not self._known.keys() >= set(names):
            batch = next(self._batches)
            scores = {head: part.numpy() for head, part in self._score(batch).items()}
            for row, name in enumerate(batch[ID].numpy().tolist()):
                self._known[name] = {head: part[row] for head, part in scores.items()}
        rows = [self._known[name] for name in names]
        place = list(self._known).index(names[-1])  # the next rows may be of this video too
        self._known = dict(list(self._known.items())[place:])
        return {head: tf.constant(np.stack([row[head] for row in rows])) for head in rows[0]}


def _numeric(batch: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    return {name: part for name, part in batch.items() if part.dtype != tf.string}


def metrics_batch(head: Head, batch: Mapping[str, tf.Tensor], scores: tf.Tensor) -> Batch:
    """The metrics' input, from `head`'s scores for `batch`."""
    wanted = targets(head, batch)
    weights = None
    if wanted.counted is not None:  # segments: classes that nobody rated do not count
        rated = tf.one_hot(wanted.counted, head.num_classes)
        weights = np.asarray(tf.reduce_max(rated, axis=1))
    return Batch(
        predictions=np.asarray(scores), labels=np.asarray(wanted.ids), label_weights=weights
    )
