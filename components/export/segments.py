"""Segments scored by a model of whole videos: five frames are a short video.

The winners of 2019 multiplied what a model says of a segment by what it says of the whole video, or
took the mean of both.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import tensorflow as tf

from yt8m.components.artifacts.export_info import SCORES
from yt8m.components.export.load import LoadedModel, Scores, load_model
from yt8m.components.inputs.assemble import segment_windows
from yt8m.components.inputs.segment import distinct_segments_of_batch
from yt8m.components.records.decode import Record, decode_record
from yt8m.schemas.batch import NUM_FRAMES
from yt8m.schemas.errors import DataError, UserError
from yt8m.schemas.features import ID, SEGMENT_START_TIMES, Level, SegmentScoring


class SegmentScorer(LoadedModel):
    """A model of segments, made of one of whole videos, or of one of segments and its context."""

    def __init__(
        self, model: LoadedModel, score: SegmentScoring, context: LoadedModel | None
    ) -> None:
        """With `context`, the model that scores the whole videos; None where they do not count."""
        super().__init__(model.directory, model.loaded, model.role)
        self._model, self._combination, self._context = model, score, context
        self._cuts_windows = model.level is Level.FRAME
        if self._cuts_windows:
            _ = self.score_arrays  # complain before the first record

    @property
    def level(self) -> Level | None:
        return Level.SEGMENT

    @property
    def score_means(self) -> None:
        return None

    def score_records(self, records: tf.Tensor) -> Scores:
        """Scores of the segments that serialized `records` [B] name, in their order."""
        if self._cuts_windows:
            scored = self._score_windows(records)
        else:
            scored = self._model.score_records(records)
        if self._context is None:
            return scored
        videos = self._context.score_records(records)
        whole = tf.gather(videos.scores, self._videos_of(scored, videos.ids.tolist(), records))
        return replace(scored, scores=combine(scored.scores, whole, self._combination))

    def _videos_of(self, scored: Scores, names: list[bytes], records: tf.Tensor) -> list[int]:
        """The number of each segment's record, of those with the ids `names`."""
        place = {name: number for number, name in enumerate(names)}
        if len(place) == len(names):
            return [place[name] for name in scored.ids.tolist()]
        # Where several records have one id, the order tells them apart.
        spec = {SEGMENT_START_TIMES: tf.io.VarLenFeature(tf.int64)}
        starts = tf.io.parse_sequence_example(records, spec)[0][SEGMENT_START_TIMES]
        record, _, _ = distinct_segments_of_batch(starts.indices[:, 0], starts.values)
        numbers: list[int] = record.numpy().tolist()
        if [names[number] for number in numbers] != scored.ids.tolist():
            raise DataError(
                f"{self.role} {self.directory} scores segments in an order of its own, and several "
                "records have one id; give each record an id of its own"
            )
        return numbers

    def _score_windows(self, records: tf.Tensor) -> Scores:
        ids: list[bytes] = []
        parts = []
        for number, data in enumerate(records.numpy().tolist()):
            try:
                record = decode_record(data)
                starts, windows = segment_windows(record, self.info.features)
                ids += [_id_of(record)] * len(starts)
            except ValueError as error:
                raise DataError(
                    f"{self.role} {self.directory} cannot read these records (it was made for "
                    f"{Level.FRAME.value}-level records): record {number} of the batch: {error}"
                ) from error
            parts.append((starts, windows))
        columns = {
            name: np.concatenate([windows[name] for _, windows in parts])
            for name in (*self.info.features.names, NUM_FRAMES)
        }
        columns[NUM_FRAMES] = columns[NUM_FRAMES].astype(np.int32)
        arrays = {name: tf.constant(column) for name, column in columns.items()}
        return Scores(
            scores=self.score_arrays(**arrays)[SCORES],
            ids=np.array(ids, object),
            starts=np.concatenate([starts for starts, _ in parts]),
        )


def combine(window: tf.Tensor, video: tf.Tensor, score: SegmentScoring) -> tf.Tensor:
    """The score of each segment from its own and its video's, both [rows, classes]."""
    if score is SegmentScoring.WINDOW:
        return window
    if window.dtype != video.dtype:  # a model from elsewhere, in double precision
        window, video = tf.cast(window, tf.float64), tf.cast(video, tf.float64)
    return window * video if score is SegmentScoring.PRODUCT else (window + video) / 2


def load_scorer(
    directory: str,
    *,
    level: Level,
    segments: SegmentScoring | None = None,
    context: str = "",
    role: str = "the model",
) -> LoadedModel:
    """Load the model in `directory` to score rows of `level`.

    At segment level a model of whole videos scores windows, as `segments` says, by default alone;
    `context` is the model that scores the videos around them, by default the same.
    """
    model = load_model(directory, role=role)
    return model if level is not Level.SEGMENT else for_segments(model, segments, context)


def for_segments(
    model: LoadedModel, segments: SegmentScoring | None = None, context: str = ""
) -> LoadedModel:
    """`model` as one that scores segments; see `load_scorer`."""
    score = segments or SegmentScoring.WINDOW
    scores_videos = model.level is Level.FRAME
    if score is SegmentScoring.WINDOW:
        return SegmentScorer(model, score, None) if scores_videos else model
    if not (scores_videos or context):
        raise UserError(
            f"{model.role} {model.directory} scores only segments, and `{score.value}` needs the "
            "score of the whole video: name a frame-level model as the context"
        )
    return SegmentScorer(model, score, _load_context(context, model) if context else model)


def _load_context(directory: str, model: LoadedModel) -> LoadedModel:
    context = load_model(directory, role="the context")
    if context.level not in (None, Level.FRAME):
        raise UserError(
            f"the context {directory} is for {context.info.level.value}-level records; the score "
            "of a whole video comes from a frame-level model"
        )
    if None not in (context.num_classes, model.num_classes) and (
        context.num_classes != model.num_classes
    ):
        raise UserError(
            f"the context {directory} scores {context.num_classes} classes, and {model.directory} "
            f"{model.num_classes}"
        )
    return context


def _id_of(record: Record) -> bytes:
    """A record's id; empty where there is none, which those refuse who need one."""
    ids = record.features.get(ID, ())
    return ids[0] if len(ids) == 1 and isinstance(ids[0], bytes) else b""
