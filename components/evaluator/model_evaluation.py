"""An exported model scored on records, outside a pipeline."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from yt8m.components.artifacts.evaluation import Evaluation
from yt8m.components.artifacts.manifest import Shard
from yt8m.components.console.console import Console
from yt8m.components.evaluator.batch_log import BatchLog
from yt8m.components.evaluator.config import EvaluatorConfig, IntervalsConfig
from yt8m.components.evaluator.evaluation import evaluate
from yt8m.components.evaluator.score_table import (
    BASELINE,
    ScoreTable,
    merge_tables,
    require_scorable,
)
from yt8m.components.evaluator.scoring import (
    ScoringPlan,
    ShardScorer,
    check_models,
    create_plan,
    empty_table,
)
from yt8m.components.export.load import load_model
from yt8m.components.inputs.shards import group_shards
from yt8m.components.records.find import find_level, find_shards
from yt8m.components.records.unchanged import while_unchanged
from yt8m.schemas.errors import DataError, UserError
from yt8m.schemas.features import FeatureConfig, SegmentScoring


def evaluate_files(
    model: str,
    places: Sequence[str],
    console: Console,
    *,
    baseline: str | None = None,
    config: EvaluatorConfig | None = None,
    log_dir: str | None = None,
) -> Evaluation:
    """The evaluation of a SavedModel on the records at `places`; DataError where it has none.

    With `log_dir` each batch is noted there, for TensorBoard.
    """
    config = config or EvaluatorConfig()
    shards = find_shards(*places)
    level = find_level(shards)
    if config.segments is not None and not level.is_sequence:
        raise UserError(
            f"segments={config.segments.value}: the records of {' '.join(places)} are of level "
            f"{level.value}, and have no segments"
        )
    plan = create_plan(
        config,
        model=model,
        baseline=baseline,
        level=level,
        features=features_of(model),
    )
    for note in check_models(plan):
        console.warn(note)
    with while_unchanged(shards, "evaluation"):
        scored = _score(plan, shards, console, log_dir)
        if scored.broken:
            raise DataError(next(iter(scored.broken.values())))
    if baseline is not None:
        require_scorable(scored, {BASELINE: f"the baseline {baseline}"})
    return evaluate(scored, config, level=plan.level)


def evaluator_config(
    *,
    top_k: int,
    intervals: bool = True,
    segments: SegmentScoring | None = None,
    context: str = "",
) -> EvaluatorConfig:
    """The Evaluator's node as a command's arguments have it; ConfigError where they are wrong."""
    return EvaluatorConfig(
        top_k=top_k,
        intervals=IntervalsConfig(enabled=intervals),
        segments=segments,
        context=context,
    )


def features_of(model: str) -> FeatureConfig:
    """The features that `model` reads; UserError where it does not tell its number of classes."""
    classes = load_model(model).num_classes
    if classes is None:
        raise UserError(f"{model}: its signature does not say how many classes it scores")
    return FeatureConfig(num_classes=classes)


def _score(
    plan: ScoringPlan, shards: list[Shard], console: Console, log_dir: str | None
) -> ScoreTable:
    scorer, log = ShardScorer(plan), BatchLog(log_dir) if log_dir else None
    parts = [empty_table(plan)]
    with (
        contextlib.closing(log) if log else contextlib.nullcontext(),
        console.progress("evaluate", total=len(shards), unit="shards") as progress,
    ):
        for group in group_shards(shards):
            parts.append(scorer.score(group, log.add) if log else scorer.score(group))
            progress.advance(len(group), note=f"{sum(len(part) for part in parts):,} examples")
    return merge_tables(parts)
