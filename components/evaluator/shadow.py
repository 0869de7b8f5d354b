"""Two models on the same records: how often they agree, and where they differ.

Labelled rows are scored besides, as the Evaluator does. Of the others, logged requests say, the
models' answers alone are compared.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from yt8m.components.artifacts.evaluation import Evaluation
from yt8m.components.artifacts.manifest import Shard
from yt8m.components.evaluator.config import EvaluatorConfig
from yt8m.components.evaluator.evaluation import evaluate
from yt8m.components.evaluator.score_table import BASELINE, CANDIDATE
from yt8m.components.evaluator.scoring import (
    ScoredBatch,
    ScoreTableBuilder,
    ScoringPlan,
    ShardScorer,
)
from yt8m.components.metrics import finite_rows
from yt8m.components.metrics.topk import top_k
from yt8m.schemas.errors import DataError

_BEST = 3  # classes that are shown of a row


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A model's best classes of one row, the best first."""

    classes: tuple[int, ...]
    scores: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class DifferingRow:
    """A row that the models say different things of."""

    name: str  # the video's id; `id:start` of a segment
    difference: float  # of the scores, summed over the classes
    labels: tuple[int, ...]
    candidate: Answer
    in_service: Answer


@dataclass(frozen=True, kw_only=True)
class DifferingClass:
    """A class that one of the models scores higher, on the mean."""

    class_id: int
    candidate: float
    in_service: float


@dataclass(frozen=True, kw_only=True)
class ShadowComparison:
    """Comparison of two models on all rows; `evaluation` is None where none has labels."""

    rows: int
    labelled: int
    same_best: float  # share of the rows whose best class is the same
    overlap: float  # share of the top-k classes that both have, on the mean
    mean_difference: float  # of a row's scores, summed over the classes
    differing_rows: tuple[DifferingRow, ...] = ()
    differing_classes: tuple[DifferingClass, ...] = ()
    evaluation: Evaluation | None = None


def compare(
    plan: ScoringPlan,
    groups: Sequence[Sequence[Shard]],
    config: EvaluatorConfig,
    *,
    shown: int,
    advance: Callable[[int], None] = lambda _: None,
) -> ShadowComparison:
    """`plan.model` beside `plan.baseline` on all records; DataError where there are no rows."""
    scorer, table = ShardScorer(plan), ScoreTableBuilder(plan)
    agreement = _Agreement(plan, shown)
    labelled = 0
    for group in groups:
        for batch in scorer.batches(group):
            _require_finite(scorer, batch)
            agreement.add(batch)
            part = _labelled(batch)
            if len(part.rows):
                labelled += len(part.rows)
                table.add(scorer.metrics(part))
        advance(len(group))
    comparison = agreement.result()
    if not labelled:
        return comparison
    evaluation = evaluate(table.result(), config, level=plan.level)
    return replace(comparison, labelled=labelled, evaluation=evaluation)


@dataclass(kw_only=True, eq=False)
class _Sums:
    rows: int = 0
    same_best: int = 0
    overlap: float = 0.0
    difference: float = 0.0
    by_class: np.ndarray = field(default_factory=lambda: np.zeros(()))  # [2, C]


class _Agreement:
    """Adds up over batches; memory does not grow with the data."""

    def __init__(self, plan: ScoringPlan, shown: int) -> None:
        self._k, self._shown = min(plan.top_k, plan.features.num_classes), shown
        self._sums = _Sums(by_class=np.zeros((2, plan.features.num_classes)))
        self._worst: list[tuple[float, int, DifferingRow]] = []  # a heap, the least first

    def add(self, batch: ScoredBatch) -> None:
        ours, theirs = batch.scores[CANDIDATE], batch.scores[BASELINE]
        difference = np.abs(ours - theirs).sum(axis=1, dtype=np.float64)
        (_, our_best), (_, their_best) = top_k(ours, self._k), top_k(theirs, self._k)
        marks = np.zeros(ours.shape, bool)
        np.put_along_axis(marks, our_best, True, axis=1)
        both = np.take_along_axis(marks, their_best, axis=1).mean(axis=1)
        sums = self._sums
        sums.same_best += int((our_best[:, 0] == their_best[:, 0]).sum())
        sums.overlap += float(both.sum())
        sums.difference += float(difference.sum())
        sums.by_class += np.stack([ours.sum(axis=0), theirs.sum(axis=0)])
        names = batch.rows.names
        for row in np.argsort(-difference, kind="stable")[: self._shown]:
            differing = DifferingRow(
                name=names[row],
                difference=float(difference[row]),
                labels=tuple(int(c) for c in batch.rows.labels[row] if c >= 0),
                candidate=_answer(ours[row], our_best[row]),
                in_service=_answer(theirs[row], their_best[row]),
            )
            # Of equal differences the earlier row stays.
            heapq.heappush(self._worst, (differing.difference, -sums.rows - int(row), differing))
        while len(self._worst) > self._shown:
            heapq.heappop(self._worst)
        sums.rows += len(difference)

    def result(self) -> ShadowComparison:
        sums = self._sums
        if not sums.rows:
            raise DataError("--data: holds no rows that both models score")
        means = sums.by_class / sums.rows
        furthest = np.argsort(-np.abs(means[0] - means[1]), kind="stable")[: self._shown]
        return ShadowComparison(
            rows=sums.rows,
            labelled=0,
            same_best=sums.same_best / sums.rows,
            overlap=sums.overlap / sums.rows,
            mean_difference=sums.difference / sums.rows,
            differing_rows=tuple(row for *_, row in sorted(self._worst, reverse=True)),
            differing_classes=tuple(
                DifferingClass(
                    class_id=int(c), candidate=float(means[0, c]), in_service=float(means[1, c])
                )
                for c in furthest
            ),
        )


def _answer(scores: np.ndarray, best: np.ndarray) -> Answer:
    chosen = best[:_BEST]
    return Answer(
        classes=tuple(chosen.tolist()), scores=tuple(scores[chosen].astype(float).tolist())
    )


def _require_finite(scorer: ShardScorer, batch: ScoredBatch) -> None:
    broken = {BASELINE: batch.unscorable.first} if batch.unscorable.rows else {}
    for name, scores in batch.scores.items():
        finite = finite_rows(scores)
        if not finite.all():
            broken[name] = batch.rows.names[int(np.argmin(finite))]
    for name, row in broken.items():
        model = scorer.models[name]
        raise DataError(
            f"{row}: {model.role} {model.directory} predicts no finite number; it is broken, "
            "or was exported from a diverged training"
        )


def _labelled(batch: ScoredBatch) -> ScoredBatch:
    """The rows of which somebody said what they are: rated segments, else videos with labels."""
    rows = batch.rows
    if rows.rated is not None:
        return batch
    return batch.select((rows.labels >= 0).any(axis=1))
