"""All metrics of one evaluation, computed from the score table."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from yt8m.components.artifacts.estimate import Estimate, paired_difference
from yt8m.components.artifacts.evaluation import (
    ClassMetrics,
    ConfusedLabels,
    Evaluation,
    SliceMetrics,
    WrongVideo,
)
from yt8m.components.evaluator.config import EvaluatorConfig, IntervalsConfig
from yt8m.components.evaluator.score_table import BASELINE, CANDIDATE, CHAMPION, ScoreTable
from yt8m.components.evaluator.slices import MAX_VALUES, slices_of
from yt8m.components.metrics import Metric, MetricAccumulator, values_of
from yt8m.components.metrics.curves import CurvePoint, calibration, precision_recall
from yt8m.components.metrics.intervals import Interval, spread_of
from yt8m.components.metrics.mistakes import class_thresholds, confusions
from yt8m.components.metrics.operating_points import cross_check
from yt8m.components.metrics.own import with_own
from yt8m.schemas.batch import NO_VALUE
from yt8m.schemas.features import Level
from yt8m.schemas.vocabulary import Vocabulary

_WITH_THRESHOLDS = 200  # classes
_CONFUSIONS = 100


def evaluate(
    scored: ScoreTable,
    config: EvaluatorConfig,
    *,
    level: Level,
    vocabulary: Vocabulary | None = None,
    spans: tuple[int, ...] = (),
    dated: bool = False,
    notes: Sequence[str] = (),
) -> Evaluation:
    """The figures of all data and of every slice."""
    all_notes = [*notes, *scored.broken.values(), *_notes(scored, config.intervals)]
    metrics = with_own(config.metrics, "evaluator.metrics")
    evaluation = Evaluation(
        level=level,
        top_k=config.top_k,
        videos=0 if scored.broken else scored.videos,
        examples=0 if scored.broken else len(scored),
        metrics=tuple(metric.info for metric in metrics),
        overall=_undefined(scored, metrics),
        spans=spans,
        dated=dated,
        notes=tuple(all_notes),
        broken=dict(scored.broken),
    )
    if scored.broken or not len(scored):
        return evaluation
    names = _names(vocabulary)
    compared = {name: model for name, model in scored.models.items() if name != CHAMPION}
    return replace(
        evaluation,
        overall=_part(scored.models, metrics, config.intervals),
        confidence=config.intervals.level if config.intervals.enabled else None,
        slices=tuple(
            replace(
                _part(
                    {name: model.select(part.chosen) for name, model in compared.items()},
                    metrics,
                    config.intervals,
                ),
                column=part.column,
                value=part.value,
            )
            for part in slices_of(scored, config.slices, vocabulary)
        ),
        classes=_classes(scored, names),
        precision_recall={n: tuple(precision_recall(m)) for n, m in compared.items()},
        calibration={n: tuple(calibration(m)) for n, m in compared.items()},
        thresholds=_thresholds(scored.candidate),
        operating_points=cross_check(scored.candidate) if fits_points(config, level) else (),
        worst_videos=_worst_videos(scored, names),
        confusions=tuple(
            ConfusedLabels(missed=names(one.missed), instead=names(one.instead), videos=one.videos)
            for one in confusions(scored.candidate, most=_CONFUSIONS)
        ),
    )


def fits_points(config: EvaluatorConfig, level: Level) -> bool:
    """Whether operating points are fitted: not to segments, whose classes are not all rated."""
    return config.operating_points and level is not Level.SEGMENT


def with_baseline_as_champion(evaluation: Evaluation) -> Evaluation:
    """`evaluation` where the baseline's model is the champion's too: nothing is scored twice."""
    overall = evaluation.overall
    return replace(
        evaluation,
        overall=replace(overall, champion=overall.baseline, champion_difference=overall.difference),
    )


def _names(vocabulary: Vocabulary | None) -> Callable[[int], str]:
    """Name a class; its number where it has no name."""
    names = vocabulary.names if vocabulary is not None else ()
    return lambda c: names[c] if c < len(names) else str(c)


def _thresholds(metrics: MetricAccumulator) -> dict[str, tuple[CurvePoint, ...]]:
    """Of the most frequent classes: of the others too few videos tell."""
    positives = metrics.class_precision().positives
    frequent = np.argsort(-positives, kind="stable")[:_WITH_THRESHOLDS]
    curves = class_thresholds(metrics, frequent[positives[frequent] > 0])
    return {str(c): points for c, points in curves.items()}


def _worst_videos(scored: ScoreTable, names: Callable[[int], str]) -> tuple[WrongVideo, ...]:
    return tuple(
        WrongVideo(
            name=row.name,
            loss=row.loss,
            labels=tuple(map(names, row.labels)),
            predicted=tuple(map(names, row.classes)),
            scores=row.scores,
        )
        for row in scored.worst
    )


def _part(
    models: Mapping[str, MetricAccumulator], metrics: Sequence[Metric], config: IntervalsConfig
) -> SliceMetrics:
    values = {name: _estimates(model, metrics) for name, model in models.items()}
    ours = values[CANDIDATE]
    differences = {
        model: {name: paired_difference(ours[name], theirs[name]) for name in theirs}
        for model, theirs in values.items()
        if model != CANDIDATE
    }
    spread = None
    if config.enabled:
        spread = spread_of(
            list(models.values()), metrics, max_videos=config.max_videos, seed=config.seed
        )
    if spread is not None:
        for i, name in enumerate(models):
            interval = functools.partial(spread.interval, model=i, level=config.level)
            values[name] = _bounded(values[name], interval)
            if name in differences:
                interval = functools.partial(spread.difference, other=i, level=config.level)
                differences[name] = _bounded(differences[name], interval)
    return SliceMetrics(
        examples=len(models[CANDIDATE]),
        videos=len(np.unique(models[CANDIDATE].rows.keys)),
        candidate=values[CANDIDATE],
        baseline=values.get(BASELINE, {}),
        difference=differences.get(BASELINE, {}),
        champion=values.get(CHAMPION, {}),
        champion_difference=differences.get(CHAMPION, {}),
    )


def _bounded(
    estimates: Mapping[str, Estimate], interval_of: Callable[[str, float], Interval | None]
) -> dict[str, Estimate]:
    """The estimates with their intervals."""
    bounded = {}
    for name, estimate in estimates.items():
        interval = None if estimate.value is None else interval_of(name, estimate.value)
        bounded[name] = estimate
        if interval is not None:
            bounded[name] = replace(estimate, lower=interval.lower, upper=interval.upper)
    return bounded


def _estimates(metrics: MetricAccumulator, chosen: Sequence[Metric]) -> dict[str, Estimate]:
    values = values_of(metrics, chosen)
    return {name: Estimate(value=value) for name, value in values.items()}


def _undefined(scored: ScoreTable, metrics: Sequence[Metric]) -> SliceMetrics:
    nothing = {metric.name: Estimate() for metric in metrics}
    has_baseline = scored.baseline is not None
    return SliceMetrics(candidate=nothing, baseline=dict(nothing) if has_baseline else {})


def _classes(scored: ScoreTable, names: Callable[[int], str]) -> tuple[ClassMetrics, ...]:
    ours = scored.candidate.class_precision()
    theirs = scored.baseline.class_precision().ap if scored.baseline is not None else None
    return tuple(
        ClassMetrics(
            class_id=int(c),
            name=names(int(c)),
            positives=int(ours.positives[c]),
            candidate=float(ours.ap[c]),
            baseline=None if theirs is None or math.isnan(theirs[c]) else float(theirs[c]),
        )
        for c in np.flatnonzero(ours.positives)
    )


def _notes(scored: ScoreTable, intervals: IntervalsConfig) -> list[str]:
    notes = []
    lost = scored.unscorable
    if lost.rows:
        notes.append(
            f"the {lost.model} predicts no finite numbers for {lost.rows:,} of "
            f"{lost.rows + len(scored):,} examples, {lost.first} among them: the models are "
            "judged without these"
        )
    if not scored.broken and not len(scored.candidate.rows.labels):
        notes.append(
            f"no label in all {len(scored):,} examples, so that no metric tells anything; evaluate "
            "records with labels, segments with ratings"
        )
    if intervals.enabled and scored.videos > intervals.max_videos:
        notes.append(
            f"intervals come from {intervals.max_videos:,} of {scored.videos:,} videos, drawn at "
            f"random (seed {intervals.seed}) and scaled to all"
        )
    notes += [
        f"{name} has {len(column.table)} values: the {MAX_VALUES} most frequent are slices"
        for name, column in scored.values.items()
        if len(column.table) > MAX_VALUES
    ]
    notes += [
        f"no example has a value of the feature {name}, which evaluator.slices names: check its "
        "spelling"
        for name, column in scored.values.items()
        if column.table == (NO_VALUE,)
    ]
    return notes
