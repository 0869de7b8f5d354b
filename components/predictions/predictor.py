"""A model and the records it scores, batch by batch; memory does not grow with the data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from yt8m.components.artifacts.manifest import Shard
from yt8m.components.artifacts.operating_points import REMEDY, load_operating_points
from yt8m.components.export.load import LoadedModel, Scores
from yt8m.components.export.mean_frames import MEANS_AT_ONCE, score_mean_frames
from yt8m.components.export.segments import for_segments, load_scorer
from yt8m.components.inputs.shards import (
    UNREADABLE,
    read_batches,
    read_serialized,
    why_unreadable,
)
from yt8m.components.predictions.plan import Format, PredictionPlan
from yt8m.components.records.wire import encode_example, int64_feature
from yt8m.schemas.errors import DataError, UserError
from yt8m.schemas.features import (
    SEGMENT_FRAMES,
    SEGMENT_START_TIMES,
    FeatureConfig,
    Level,
    SegmentScoring,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoredRows:
    """Videos or segments, and what the model says of every class."""

    ids: list[str]
    starts: np.ndarray | None  # [R] int64, of segments
    scores: np.ndarray  # [R, C]
    thresholds: np.ndarray | None = None  # [C]: lower scores are not written; None: all are


class Predictor:
    """The model, loaded once; several threads may use it in parallel."""

    def __init__(self, plan: PredictionPlan) -> None:
        self.plan = plan
        self.model = load_scorer(
            plan.model, level=plan.level, segments=plan.segments, context=plan.context
        )
        said = self.model.level is not None
        self._features = self.model.info.features if said else FeatureConfig()
        self._thresholds = thresholds_of(plan, self.model)

    def batches(self, shards: Sequence[Shard]) -> Iterator[ScoredRows]:
        """All rows of `shards`, in the order of their records."""
        return map(self._checked, self._scores(shards))

    def _scores(self, shards: Sequence[Shard]) -> Iterator[Scores]:
        if self.plan.level is Level.FRAME and self.model.score_means is not None:
            size = self.plan.batch_size or MEANS_AT_ONCE
            yield from score_mean_frames(self.model, read_serialized(shards), size)
            return
        for records in read_batches(shards, self.plan.records_at_once):
            if self.plan.level is Level.SEGMENT:
                records = _with_windows(records, self._features)
            yield self.model.score_records(records)

    def _checked(self, result: Scores) -> ScoredRows:
        scores = tf.cast(result.scores, tf.float32).numpy()
        _require_known_classes(self.plan, self.model, scores.shape[1])
        ids = [_text(name) for name in result.ids.tolist()]
        if "" in ids:
            place = ids.index("")
            after = f"the one after video {ids[place - 1]}" if place else "the first of a batch"
            raise DataError(
                f"a record without `id` ({after}): predictions are identified by it; only model "
                "servers accept such records"
            )
        if not np.isfinite(scores.sum(axis=1, dtype=np.float64)).all():
            row = int(np.flatnonzero(~np.isfinite(scores).all(axis=1))[0])
            value = scores[row][~np.isfinite(scores[row])][0]
            raise DataError(
                f"video {ids[row]}: {self.model.role} {self.model.directory} predicts {value}, "
                "not a number that can be ranked; it is broken, or was exported from a diverged "
                "training"
            )
        return ScoredRows(ids=ids, starts=result.starts, scores=scores, thresholds=self._thresholds)


def level_to_predict(
    model: LoadedModel, data: Level, form: Format, segments: SegmentScoring | None = None
) -> Level:
    """The level of a row; UserError where the model cannot read records of level `data`.

    A model of segments cuts videos without any, and one of frames may see videos that have some.
    It scores segments where `form` is of segments, or where `segments` says how.
    """
    wanted = model.level or data
    if wanted.is_sequence != data.is_sequence:
        raise UserError(
            f"{model.role} {model.directory} is for {wanted.value}-level records, and the data are "
            f"at level {data.value}"
        )
    if segments is not None and not wanted.is_sequence:
        raise UserError(
            f"{model.role} {model.directory} is for {wanted.value}-level records, which have no "
            f"segments; segments={segments.value} is for models that look at frames"
        )
    scores_segments = form is Format.SEGMENT or segments is not None
    return Level.SEGMENT if wanted is Level.FRAME and scores_segments else wanted


def check_plan(plan: PredictionPlan, model: LoadedModel) -> None:
    """UserError unless the format, the segments and the classes suit the model."""
    rows_are_segments = plan.level is Level.SEGMENT
    for form, wants_segments in ((Format.VIDEO, False), (Format.SEGMENT, True)):
        if plan.format is form and rows_are_segments is not wants_segments:
            other = "jsonl, tfrecord or parquet" + ("" if wants_segments else ", or segment")
            raise UserError(
                f"--format {form.value}: rows of {model.role} {model.directory} are of level "
                f"{plan.level.value}, and this format is for {form.value}s; choose {other}"
            )
    if rows_are_segments:
        for_segments(model, plan.segments, plan.context)
    thresholds_of(plan, model)
    if model.num_classes is not None:
        _require_known_classes(plan, model, model.num_classes)


def _require_known_classes(plan: PredictionPlan, model: LoadedModel, known: int) -> None:
    if plan.classes and plan.classes[-1] >= known:
        raise UserError(
            f"--segment-classes: class {plan.classes[-1]} is not one of the {known} that "
            f"{model.directory} scores (0 to {known - 1})"
        )


def thresholds_of(plan: PredictionPlan, model: LoadedModel) -> np.ndarray | None:
    """[C]: the scores from which the plan's precision is reached; None where it has none."""
    if plan.precision is None:
        return None
    if plan.level is Level.SEGMENT:
        raise UserError("--precision: operating points are of whole videos, and rows are segments")
    points = load_operating_points(model.directory)
    if points is None or model.num_classes is None:
        raise UserError(
            f"--precision: {model.role} {model.directory} has no operating points; {REMEDY}"
        )
    if plan.precision > points.levels[-1]:
        raise UserError(f"--precision {plan.precision:g}: at most {points.levels[-1]:g}")
    return points.thresholds(plan.precision, model.num_classes)


def _text(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError as error:
        raise DataError(f"the video id {name!r} is not UTF-8 text") from error


def _with_windows(records: tf.Tensor, features: FeatureConfig) -> tf.Tensor:
    """`records` [B], where one without rated segments has the starts of all its windows in it.

    The last window of a video may have fewer frames. Serialized messages that follow one another
    are one message, so nothing of a record is read but its starts and its length.
    """
    smallest = min(features.size_by_name.items(), key=lambda item: item[1])[0]
    try:
        context, _, lengths = tf.io.parse_sequence_example(
            records,
            {SEGMENT_START_TIMES: tf.io.VarLenFeature(tf.int64)},
            {smallest: tf.io.FixedLenSequenceFeature([], tf.string)},
        )
    except UNREADABLE as error:
        raise DataError(f"the segments cannot be read: {why_unreadable(records, error)}") from error
    has_segments = set(context[SEGMENT_START_TIMES].indices.numpy()[:, 0].tolist())
    frames = tf.minimum(lengths[smallest], features.max_frames).numpy().tolist()
    texts = records.numpy().tolist()
    for row, count in enumerate(frames):
        if row not in has_segments:
            starts = range(0, count, SEGMENT_FRAMES)
            # A SequenceExample's context is in the field that an Example's features are in.
            texts[row] += encode_example({SEGMENT_START_TIMES: int64_feature(starts)})
    return tf.constant(texts, tf.string)
