"""One pass over records: every model scores each batch, which leaves a few bytes per row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import tensorflow as tf

from yt8m.components.artifacts.manifest import Shard
from yt8m.components.evaluator.config import EvaluatorConfig, SliceBy
from yt8m.components.evaluator.score_table import (
    BASELINE,
    CANDIDATE,
    CHAMPION,
    ScoreTable,
    TextColumn,
    Unscorable,
    merge_tables,
    worst_rows,
)
from yt8m.components.export.load import LoadedModel, Scores
from yt8m.components.export.segments import load_scorer
from yt8m.components.inputs.labels import (
    LabelRequest,
    RecordLabels,
    check_classes,
    parse_labels,
    rated_weights,
)
from yt8m.components.inputs.prefetch import prefetch_one
from yt8m.components.inputs.shards import read_batches
from yt8m.components.metrics import Batch, BrokenPredictions, MetricAccumulator, finite_rows
from yt8m.components.models.config import LossConfig
from yt8m.components.models.heads import Targets
from yt8m.components.models.losses import example_losses
from yt8m.components.registry.find_model import find_model
from yt8m.schemas.errors import DataError, UserError
from yt8m.schemas.features import FeatureConfig, Level, SegmentScoring

_ROLES = {CANDIDATE: "the model", BASELINE: "the baseline", CHAMPION: "the champion"}
_MERGE_EVERY = 64  # batches; keeps the number of pieces small


@dataclass(frozen=True, kw_only=True)
class ScoringPlan:
    """Everything that a worker must know; plain values, so that Beam can send it."""

    model: str
    baseline: str | None
    level: Level
    features: FeatureConfig
    champion: str | None = None  # the best version so far, where it is another than the baseline
    segments: SegmentScoring | None = None  # how models of whole videos score segments
    context: str = ""  # the model that scores the whole videos; empty: the same
    top_k: int = 20
    batch_size: int | None = None
    num_frames: bool = False
    values: tuple[str, ...] = ()

    @property
    def models(self) -> dict[str, str]:
        """The models by what they are here, the candidate first."""
        models = {CANDIDATE: self.model, BASELINE: self.baseline, CHAMPION: self.champion}
        return {name: model for name, model in models.items() if model}

    @property
    def directories(self) -> tuple[str, ...]:
        """Where the models are that are loaded, the context's included."""
        return tuple(dict.fromkeys(filter(None, (*self.models.values(), self.context))))

    @property
    def records_at_once(self) -> int:
        """Records a batch."""
        return self.batch_size or self.level.records_at_once


def create_plan(
    config: EvaluatorConfig,
    *,
    model: str,
    baseline: str | None,
    level: Level,
    features: FeatureConfig,
    champion: str | None = None,
) -> ScoringPlan:
    """Create the plan of what the Evaluator's settings need of each row of records of `level`."""
    is_rated = level is Level.FRAME and config.segments is not None
    return ScoringPlan(
        model=model,
        baseline=baseline,
        champion=champion,
        level=Level.SEGMENT if is_rated else level,
        segments=config.segments,
        context=find_model(config.context) if config.context else "",
        features=features,
        top_k=config.top_k,
        batch_size=config.batch_size,
        num_frames=any(s.by is SliceBy.NUM_FRAMES for s in config.slices),
        values=tuple(s.feature for s in config.slices if s.by is SliceBy.FEATURE),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoredBatch:
    """One batch with all its scores, for those who need more than the metrics."""

    rows: RecordLabels
    scores: dict[str, np.ndarray]  # by model, [R, C]
    num_known: dict[str, int]  # by model, of how many of the classes
    losses: dict[str, np.ndarray]  # by model, [R]
    label_weights: np.ndarray | None
    records: tf.Tensor  # [B] string, serialized
    unscorable: Unscorable = field(default_factory=Unscorable)

    def select(self, chosen: np.ndarray) -> ScoredBatch:
        """The rows where the mask `chosen` is true."""
        weights = self.label_weights
        return ScoredBatch(
            rows=self.rows.select(chosen),
            scores={name: scores[chosen] for name, scores in self.scores.items()},
            num_known=self.num_known,
            losses={name: losses[chosen] for name, losses in self.losses.items()},
            label_weights=None if weights is None else weights[chosen],
            records=self.records,
            unscorable=self.unscorable,
        )

    def without_unscorable(self) -> ScoredBatch:
        """The rows that all others give finite scores for, or that the candidate fails on too.

        One odd row does not make a baseline worthless, so all models do without it; the
        candidate has no such allowance.
        """
        others = [name for name in (BASELINE, CHAMPION) if name in self.scores]
        broken = {name: ~finite_rows(self.scores[name]) for name in others}
        lost = np.zeros(len(self.rows), bool)
        for rows in broken.values():
            lost |= rows
        lost &= finite_rows(self.scores[CANDIDATE])
        if not lost.any():
            return self
        first = int(np.argmax(lost))
        unscorable = Unscorable(
            rows=int(lost.sum()),
            first=self.rows.names[first],
            model=next(name for name, rows in broken.items() if rows[first]),
        )
        return replace(self.select(~lost), unscorable=unscorable)


def empty_table(plan: ScoringPlan) -> ScoreTable:
    """A score table without rows, as `ShardScorer.score` gives."""
    classes, k = plan.features.num_classes, plan.top_k
    return ScoreTable(
        models={name: MetricAccumulator(classes, top_k=k) for name in plan.models},
        num_frames=np.empty(0, np.uint16) if plan.num_frames else None,
        values={name: TextColumn.of(np.empty(0, str)) for name in plan.values},
    )


class ScoreTableBuilder:
    """Appends batches, and compacts them from time to time."""

    def __init__(self, plan: ScoringPlan) -> None:
        self._parts = [empty_table(plan)]

    def add(self, part: ScoreTable) -> None:
        """One batch more."""
        self._parts.append(part)
        if len(self._parts) > _MERGE_EVERY:
            self._parts = [_compact(self._parts)]

    def result(self) -> ScoreTable:
        """All of them."""
        return merge_tables(self._parts)


class ShardScorer:
    """The models, loaded once, and the pass over shards."""

    def __init__(self, plan: ScoringPlan) -> None:
        self.plan = plan
        self.models = {name: _load(plan, path, _ROLES[name]) for name, path in plan.models.items()}
        self._wanted = LabelRequest(
            level=plan.level,
            features=plan.features,
            num_frames=plan.num_frames,
            values=plan.values,
        )

    def score(
        self,
        shards: Sequence[Shard],
        observe: Callable[[ScoredBatch, ScoreTable], None] = lambda *_: None,
    ) -> ScoreTable:
        """All records of `shards`; each batch goes to `observe` too, with what remains of it."""
        whole = ScoreTableBuilder(self.plan)
        for batch in self.batches(shards):
            part = self.metrics(batch)
            observe(batch, part)
            whole.add(part)
        return whole.result()

    def batches(self, shards: Sequence[Shard]) -> Iterator[ScoredBatch]:
        """Scores batch by batch; memory does not grow with the data."""
        return self.batches_of(read_batches(shards, self.plan.records_at_once))

    def batches_of(self, batches: Iterator[tf.Tensor]) -> Iterator[ScoredBatch]:
        """Scores of batches of serialized records; the next is scored while one is used."""
        return prefetch_one(self._scored(batches))

    def _scored(self, batches: Iterator[tf.Tensor]) -> Iterator[ScoredBatch]:
        for records in batches:
            scored = self.score_batch(records)
            if scored is not None:
                yield scored.without_unscorable()

    def score_batch(self, records: tf.Tensor) -> ScoredBatch | None:
        """All scores of one batch; None of records that give no rows."""
        rows = parse_labels(records, self._wanted)
        if not len(rows):  # records without rated segments
            return None
        classes = self.plan.features.num_classes
        check_classes(rows, classes)
        scores, num_known, losses = {}, {}, {}
        for name, model in self.models.items():
            result = model.score_records(records)
            _check_rows(model, result, rows)
            fitted = _fitted(result.scores, classes)
            losses[name] = _loss(fitted, rows)
            scores[name] = fitted.numpy()
            num_known[name] = int(result.scores.shape[1])
        weights = None if rows.rated is None else rated_weights(rows.rated, classes)
        return ScoredBatch(
            rows=rows,
            scores=scores,
            num_known=num_known,
            losses=losses,
            label_weights=weights,
            records=records,
        )

    def metrics(self, batch: ScoredBatch) -> ScoreTable:
        """The metrics of a batch."""
        part = empty_table(self.plan)
        part.unscorable = batch.unscorable
        for name in batch.scores:
            try:
                part.models[name].update(_batch(name, batch))
            except BrokenPredictions as error:
                part.broken[name] = f"{self.models[name].role} cannot be evaluated: {error}"
        if part.broken:  # rows of some models only would be of no use
            return ScoreTable(
                models=empty_table(self.plan).models,
                num_frames=part.num_frames,
                values=part.values,
                broken=part.broken,
                unscorable=part.unscorable,
            )
        part.worst = worst_rows(part.candidate, batch.rows.names)
        if batch.rows.num_frames is not None:
            part.num_frames = batch.rows.num_frames.astype(np.uint16)
        part.values = {name: TextColumn.of(v) for name, v in batch.rows.values.items()}
        return part


def _load(plan: ScoringPlan, directory: str, role: str) -> LoadedModel:
    return load_scorer(
        directory, level=plan.level, segments=plan.segments, context=plan.context, role=role
    )


def _batch(name: str, batch: ScoredBatch) -> Batch:
    return Batch(
        predictions=batch.scores[name],
        labels=batch.rows.labels,
        ids=batch.rows.ids.tolist(),
        label_weights=batch.label_weights,
        loss=batch.losses[name],
        num_known=batch.num_known[name],
    )


def check_models(plan: ScoringPlan) -> list[str]:
    """Notes about models that differ; UserError where they cannot be compared at all."""
    scorer = ShardScorer(plan)
    candidate = scorer.models[CANDIDATE]
    classes = plan.features.num_classes
    if candidate.num_classes not in (None, classes):
        raise UserError(
            f"the model {plan.model} scores {candidate.num_classes} classes, and "
            f"features.num_classes is {classes}"
        )
    for name, model in scorer.models.items():
        if model.level not in (None, plan.level):
            remedy = "; baseline.version: none runs without a baseline" if name == BASELINE else ""
            raise UserError(
                f"{model.role} {model.directory} is for {model.info.level.value}-level records, "
                f"and the data are at level {plan.level.value}{remedy}"
            )
    baseline = scorer.models.get(BASELINE)
    if baseline is None or baseline.num_classes in (None, classes):
        return []
    have = baseline.num_classes
    return [
        f"the baseline scores {have} classes, the candidate {classes}: labels that the baseline "
        "does not know are misses of it"
        if have < classes
        else f"the baseline scores {have} classes, the candidate {classes}: only the first "
        f"{classes} are compared"
    ]


def _check_rows(model: LoadedModel, result: Scores, rows: RecordLabels) -> None:
    same = len(result.ids) == len(rows) and (result.ids == rows.ids).all()
    if same and rows.starts is not None:
        same = result.starts is not None and (result.starts == rows.starts).all()
    if not same:
        raise DataError(
            f"{model.role} {model.directory} gives {len(result.ids)} rows for records that hold "
            f"{len(rows)}, or in another order; its signature must give one row a "
            + ("rated segment, in the record's order" if rows.starts is not None else "record")
        )


def _loss(scores: tf.Tensor, rows: RecordLabels) -> np.ndarray:
    """Cross entropy by row, of the rated classes alone where only they are known."""
    return _cross_entropy(scores, _distinct(rows.labels), rows.rated).numpy()


@tf.function(reduce_retracing=True)
def _cross_entropy(scores: tf.Tensor, ids: tf.Tensor, counted: tf.Tensor | None) -> tf.Tensor:
    # A model from elsewhere may give scores that are no probabilities.
    probabilities = tf.clip_by_value(scores, 0.0, 1.0)
    return example_losses(LossConfig(), Targets(ids=ids, counted=counted), probabilities)


def _distinct(labels: np.ndarray) -> np.ndarray:
    """`labels` with repetitions in a row replaced by padding."""
    ordered = np.sort(labels, axis=1)
    again = np.zeros(ordered.shape, bool)
    again[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    return np.where(again, -1, ordered)


def _fitted(scores: tf.Tensor, num_classes: int) -> tf.Tensor:
    """`scores` over exactly `num_classes`: classes a model does not know score as its last.

    That is 0, or less where a model from elsewhere gives scores that are no probabilities.
    """
    missing = num_classes - int(scores.shape[1])
    if missing <= 0:
        return scores[:, :num_classes]
    least = tf.minimum(tf.reduce_min(scores, axis=1, keepdims=True), 0)
    return tf.concat([scores, tf.repeat(least, missing, axis=1)], axis=1)


def _compact(parts: list[ScoreTable]) -> ScoreTable:
    whole = merge_tables(parts)
    for metrics in whole.models.values():
        _ = metrics.rows  # joins the pieces
    return whole
